"""Check a run against a policy: every requirement, one verdict, one exit code."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from regard.errors import EnvironmentProblem, Incomplete, InputError, RegardError, UnknownName, in_words, phrase
from regard.gate.baseline import BaselineComparison
from regard.gate.check import Check, judge_interval, named
from regard.gate.policy import AGAINST_BASELINE, Drift, Gate, Policy
from regard.gate.requirements import required_check
from regard.gate.run_numbers import RunNumbers, Series, setting
from regard.records import Json, Message, Text, encoded
from regard.store.run import Run

VERDICTS: Final = {0: "passed", 1: "failed", 2: "bad policy or input", 3: "inconclusive", 4: "environment problem"}
"""Exit code -> the id of the verdict in JSON, the same in every language."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """All checks of one run and their verdict. problem: the reason if nothing could be checked."""

    run: str
    policy: str
    checks: tuple[Check, ...]
    notes: tuple[Text, ...] = ()
    open_ones: str = "report"
    baseline: str = ""
    problem: RegardError | None = None

    @property
    def exit_code(self) -> int:
        """1 if a blocking check failed, else 3 if one is inconclusive, else 0; 2 or 4 if nothing was checked."""
        if self.problem is not None:
            return self.problem.exit_code
        results = {c.result for c in self.checks if c.level == "block"}
        if "fail" in results or ("inconclusive" in results and self.open_ones == "fail"):
            return 1
        return 3 if "inconclusive" in results and self.open_ones == "report" else 0

    @property
    def verdict(self) -> Message:
        """The one-line summary with the exit code. Scripts read `exit_code`, or the id of the verdict in JSON.

        >>> str(Outcome("run", "policy.toml", ()).verdict)
        'PASSED (exit 0): no checks'
        """
        word = Message(f"gate.verdict.{VERDICTS[self.exit_code].replace(' ', '_')}")
        counts = [
            Message.of(f"gate.count.{result}{'_warning' if level == 'warn' else ''}", n=n)
            for result in ("fail", "inconclusive", "pass")
            for level in (("block", "warn") if result != "pass" else ("",))
            if (n := sum(c.result == result and (not level or c.level == level) for c in self.checks))
        ]
        reason: Text | list[Message] = counts or Message("gate.no_checks")
        if self.problem is not None:
            reason = self.problem.message
        return Message.of("gate.line", verdict=word, code=self.exit_code, reason=reason)

    def to_json(self) -> dict[str, Json]:
        return {
            "verdict": VERDICTS[self.exit_code],
            "exit_code": self.exit_code,
            "line": in_words(self.verdict),
            "run": self.run,
            "baseline": self.baseline or None,
            "policy": self.policy,
            "notes": encoded(self.notes),
            "problem": str(self.problem) if self.problem else None,
            "checks": [c.to_json() for c in self.checks],
        }


def gate(
    run: str | Path | Run,
    policy: Policy,
    *,
    baseline: str | Path | Run | None = None,
    allow_fail: Collection[str] = (),
    inconclusive: str | None = None,
) -> Outcome:
    """Check every requirement of a policy.

    baseline: the run to compare with (default: the policy's). allow_fail: names of gates that only warn.
    Raises if the policy requires a number that the run does not have.
    """
    stored_run = run if isinstance(run, Run) else Run(run)
    stored = RunNumbers(stored_run)
    against = _against(stored, policy, baseline)
    for checked in (stored, *(() if against is None else (against.old,))):
        _refuse_broken(checked)
    gate_names = {g.name for g in policy.gates} | {d.name for d in policy.drifts}
    gate_names |= {r.name for r in policy.requirements}
    for name in allow_fail:
        if name not in gate_names or not name:
            raise UnknownName(phrase("errors.gate.gate_this_policy"), name, gate_names - {""})
    requirements: list[Callable[[float], list[Check]]] = [
        *(partial(_gated, stored, against, g, policy, allow_fail) for g in policy.gates),
        *(partial(_drifted, against, d, policy, allow_fail) for d in policy.drifts),
    ]
    checks = [check for ask in requirements for check in ask(policy.confidence)]
    how: Text = Message.of("gate.intervals", level=policy.confidence)
    if policy.correction == "holm" and len(checks) > 1:
        checks = _holm(requirements, len(checks), policy.confidence)
        how = Message.of("gate.holm", intervals=how, n=len(checks))
    checks += [required_check(stored, requirement, policy, allow_fail) for requirement in policy.requirements]
    return Outcome(
        run=str(stored_run.path),
        policy=policy.path,
        checks=tuple(checks),
        notes=(how, *_notes(stored, against)),
        open_ones=inconclusive or policy.inconclusive,
        baseline=str(against.old.run.path) if against else "",
    )


def _refuse_broken(stored: RunNumbers) -> None:
    """Raise if the model of a run is not deterministic, so that none of its numbers is reliable."""
    if stored.broken:
        raise Incomplete(
            phrase("errors.common.model_run", run=stored.run.path),
            expected=phrase("errors.common.same_answer_same_input"),
            got=phrase("errors.gate.model_that_does_not_repeat"),
            remedy=phrase("errors.gate.fix_model_evaluation_mode_fixed"),
        )


def _holm(asked: Sequence[Callable[[float], list[Check]]], count: int, level: float) -> list[Check]:
    """Apply Holm's procedure with intervals.

    Decides checks with the error shared by all; the remaining ones share the whole error again, until none of them can
    be decided.
    """
    decided: dict[tuple[int, int], Check] = {}
    while True:
        each = 1 - (1 - level) / max(1, count - len(decided))
        now = {(i, j): check for i, ask in enumerate(asked) for j, check in enumerate(ask(each))}
        more = {key: check for key, check in now.items() if key not in decided and check.result != "inconclusive"}
        decided |= more
        if not more or len(decided) == count:
            return [decided.get(key, check) for key, check in now.items()]


def _against(stored: RunNumbers, policy: Policy, baseline: str | Path | Run | None) -> BaselineComparison | None:
    baseline_run = baseline if baseline is not None else policy.baseline
    if baseline_run is None:
        if policy.needs_baseline:
            raise InputError(
                phrase("errors.gate.policy_path", path=policy.path),
                expected=phrase("errors.gate.run_to_compare"),
                got=phrase("errors.gate.no_baseline"),
                remedy=phrase("errors.gate.baseline_run_or_baseline_in_policy"),
            )
        return None
    if not isinstance(baseline_run, Run) and not Path(baseline_run).exists():
        raise EnvironmentProblem(
            phrase("errors.gate.baseline_run", run=baseline_run),
            expected=phrase("errors.gate.the_run_to_compare"),
            got=phrase("errors.common.nothing_there"),
            remedy=phrase("errors.gate.fetch_ci_cache_or_artifact"),
        )
    return BaselineComparison(stored, RunNumbers(baseline_run if isinstance(baseline_run, Run) else Run(baseline_run)))


def _notes(stored: RunNumbers, against: BaselineComparison | None) -> list[Text]:
    notes = list[Text]()
    if not stored.complete:
        finished, total = stored.run.progress
        status = str(stored.run.manifest.get("status"))
        notes.append(Message.of("gate.unfinished", status=status, finished=finished, total=total))
    problem_ids = {p["id"] for p in stored.run.problems() if p["id"]}
    if problem_ids:
        notes.append(Message.of("gate.problems", n=len(problem_ids)))
    if against is None:
        return notes
    shared, new, old = len(against.shared), len(stored.examples), len(against.old.examples)
    if shared < max(new, old):
        notes.append(Message.of("gate.shared", shared=shared, new=new, old=old))
    same = sum(against.unchanged.values())
    notes.append(Message.of("gate.unchanged", same=same, shared=shared, share=same / shared))
    if stored.seed != against.old.seed:
        notes.append(Message.of("gate.seeds", new=stored.seed, old=against.old.seed))
    prints = [s.run.manifest.get("model", {}).get("fingerprint") for s in (stored, against.old)]
    if prints[0] is not None and prints[0] == prints[1]:
        notes.append(Message("gate.same_weights"))
    return notes


def _gated(
    stored: RunNumbers,
    against: BaselineComparison | None,
    asked: Gate,
    policy: Policy,
    allowed: Collection[str],
    level: float,
) -> list[Check]:
    checks = []
    for column in stored.select(asked):
        for kind, value in asked.bounds:
            p = None
            if kind in AGAINST_BASELINE and against is not None:
                interval, p, n, clusters = against.difference(column, level)
            else:
                interval, n, clusters = stored.interval(column, level)
            low, high, required = _range(kind, value, column, asked)
            result, reason = judge_interval(
                interval, low, high, clusters=clusters, fewest=policy.fewest, complete=stored.complete
            )
            name, title = _name(asked, column, stored, kind)
            soft = "warn" if asked.name in allowed and asked.name else asked.level
            checks.append(
                Check(
                    name=name,
                    title=title,
                    result=result,
                    level=soft,
                    required=required,
                    found=interval,
                    n=n,
                    clusters=clusters,
                    reason=reason,
                    p=p,
                    where=dict(column.where),
                )
            )
    return checks


def _range(kind: str, value: float, column: Series, asked: Gate) -> tuple[float, float, Text]:
    """Return the required range of the interval, and its wording."""
    if kind == "min":
        return value, np.inf, Message.of("gate.min", x=value)
    if kind == "max":
        return -np.inf, value, Message.of("gate.max", x=value)
    if kind == "change":
        return -value, value, Message.of("gate.change", x=value)
    better = asked.better or column.better
    if better == "higher":
        return -value, np.inf, Message.of("gate.drop", x=value)
    if better == "lower":
        return -np.inf, value, Message.of("gate.rise", x=value)
    raise InputError(
        phrase("errors.gate.gate_on_drop", metric=column.metric),
        expected=phrase("errors.gate.metric_that_better_one_way"),
        got=phrase("errors.gate.one_without_it"),
        remedy=phrase("errors.gate.better_higher_or_lower"),
    )


def _name(asked: Gate, column: Series, stored: RunNumbers, kind: str) -> tuple[str, Text]:
    """Return the name of a check for programs, and for people."""
    settings = setting(column, stored.series[column.metric], asked.where)
    details = f" ({settings})" if settings else ""
    versus = kind in AGAINST_BASELINE
    name = f"{column.metric} of {column.method}{details}{' against the baseline' if versus else ''}"
    key = "gate.title.against" if versus else "gate.title.metric"
    title = Message.of(key, metric=column.metric, method=column.method, details=details)
    return named(asked.name, name, title)


def _drifted(
    against: BaselineComparison | None, asked: Drift, policy: Policy, allowed: Collection[str], level: float
) -> list[Check]:
    if against is None:  # refused before
        return []
    soft = "warn" if asked.name in allowed and asked.name else asked.level
    required = Message.of("gate.min", x=asked.min)
    columns: list[tuple[tuple[str, Text], tuple[str, ...], np.ndarray, list[Text]]]
    if asked.measure == "predictions":
        same = np.array([*against.unchanged.values()], np.float64)
        columns = [(("predictions unchanged", Message("gate.title.predictions")), against.shared, same, [])]
    else:
        unchanged, shared = sum(against.unchanged.values()), len(against.shared)
        how = f"{asked.measure} {asked.k}" if asked.measure == "top_k" else asked.measure
        scope = "all predictions" if asked.all_examples else f"prediction unchanged: {unchanged} of {shared}"
        key = "gate.title.drift_all" if asked.all_examples else "gate.title.drift"
        columns = [
            (
                (
                    f"drift of {d.method} ({how}, {scope})",
                    Message.of(key, method=d.method, how=how, same=unchanged, shared=shared),
                ),
                d.ids,
                d.values,
                [Message.of("gate.other_units", n=d.other_units)] if d.other_units else [],
            )
            for d in against.drifted(asked)
        ]
    checks = []
    for about, ids, values, remarks in columns:
        name, title = named(asked.name, *about)
        interval, n, clusters = against.interval(ids, values, level, share=asked.measure == "predictions")
        result, reason = judge_interval(
            interval, asked.min, np.inf, clusters=clusters, fewest=policy.fewest, complete=against.new.complete
        )
        checks.append(
            Check(
                name=name,
                title=title,
                result=result,
                level=soft,
                required=required,
                found=interval,
                n=n,
                clusters=clusters,
                reason=_reasons([reason, *remarks] if reason else remarks),
            )
        )
    return checks


def _reasons(reasons: Sequence[Text]) -> Text:
    if len(reasons) > 1:
        return Message.of("gate.reasons", first=reasons[0], second=reasons[1])
    return reasons[0] if reasons else ""


def refused(problem: RegardError, run: str, policy: str) -> Outcome:
    """Return the outcome of a gate that could not be checked."""
    return Outcome(run, policy, (), problem=problem)
