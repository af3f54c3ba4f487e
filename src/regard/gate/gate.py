"""A run under a policy: every requirement checked, one verdict, one exit code."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from regard.errors import EnvironmentProblem, Incomplete, InputError, RegardError, UnknownName
from regard.gate.baseline import Against
from regard.gate.check import Check, compared
from regard.gate.policy import AGAINST_BASELINE, Drift, Gate, Policy
from regard.gate.run_numbers import Series, Stored, setting
from regard.records import Json
from regard.store.run import Run

VERDICTS: Final = {
    0: "PASSED", 1: "FAILED", 2: "BAD POLICY OR INPUT", 3: "INCONCLUSIVE", 4: "ENVIRONMENT PROBLEM"
}  # fmt: skip
"""Exit code -> the word that says the same."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """All checks of one run, and what follows from them. problem: why nothing could be checked."""

    run: str
    policy: str
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()
    open_ones: str = "report"
    baseline: str = ""
    problem: RegardError | None = None

    @property
    def exit_code(self) -> int:
        """1 where a check that blocks failed, else 3 where one is open, else 0; 2 and 4 where nothing was checked."""
        if self.problem is not None:
            return self.problem.exit_code
        results = {c.result for c in self.checks if c.level == "block"}
        if "fail" in results or ("inconclusive" in results and self.open_ones == "fail"):
            return 1
        return 3 if "inconclusive" in results and self.open_ones == "report" else 0

    @property
    def verdict(self) -> str:
        """The one line; its exit code is the exit code.

        >>> Outcome("run", "policy.toml", ()).verdict
        'PASSED (exit 0): 0 checks passed'
        """
        word = f"{VERDICTS[self.exit_code]} (exit {self.exit_code})"
        if self.problem is not None:
            return f"{word}: {' '.join(str(self.problem).split())}"
        counts = []
        for result, said in (("fail", "failed"), ("inconclusive", "inconclusive"), ("pass", "passed")):
            for level, how in (("block", ""), ("warn", " (warning only)")):
                n = sum(c.result == result and (c.level == level or result == "pass") for c in self.checks)
                if n and not (result == "pass" and level == "warn"):
                    counts.append(f"{n} {said}{how}")
        return f"{word}: {', '.join(counts)}" if counts else f"{word}: 0 checks passed"

    def to_json(self) -> dict[str, Json]:
        return {
            "verdict": VERDICTS[self.exit_code].lower(), "exit_code": self.exit_code, "line": self.verdict,
            "run": self.run, "baseline": self.baseline or None, "policy": self.policy, "notes": list(self.notes),
            "problem": str(self.problem) if self.problem else None, "checks": [c.to_json() for c in self.checks],
        }  # fmt: skip


def gate(
    run: str | Path | Run,
    policy: Policy,
    *,
    baseline: str | Path | Run | None = None,
    allow_fail: Collection[str] = (),
    inconclusive: str | None = None,
) -> Outcome:
    """Check everything that the policy asks for.

    baseline: the run to compare with; that of the policy by default. allow_fail: names of gates that only warn.
    Raises where the policy asks for what the run does not have.
    """
    opened = run if isinstance(run, Run) else Run(run)
    stored = Stored(opened)
    against = _against(stored, policy, baseline)
    for checked in (stored, *(() if against is None else (against.old,))):
        _refuse_broken(checked)
    named = {g.name for g in policy.gates} | {d.name for d in policy.drifts}
    for name in allow_fail:
        if name not in named or not name:
            raise UnknownName("gate of this policy", name, named - {""})
    asked: list[Callable[[float], list[Check]]] = [
        *(partial(_gated, stored, against, g, policy, allow_fail) for g in policy.gates),
        *(partial(_drifted, against, d, policy, allow_fail) for d in policy.drifts),
    ]
    checks = [check for ask in asked for check in ask(policy.confidence)]
    how = _how(policy.confidence)
    if policy.correction == "holm" and len(checks) > 1:
        checks = _stepped_down(asked, len(checks), policy.confidence)
        how += f", each at a level of its own by Holm's correction over {len(checks)} checks"
    return Outcome(
        str(opened.path), policy.path, tuple(checks), (how, *_notes(stored, against)),
        inconclusive or policy.inconclusive, str(against.old.run.path) if against else "",
    )  # fmt: skip


def _refuse_broken(stored: Stored) -> None:
    """An error where the model of a run does not repeat its answers: no number of it decides anything."""
    if stored.broken:
        raise Incomplete(
            f"model of run {stored.run.path}",
            expected="the same answer to the same input",
            got=stored.broken.rstrip("."),
            remedy="fix the model (evaluation mode, fixed seeds, no state) and audit it anew",
        )


def _stepped_down(asked: Sequence[Callable[[float], list[Check]]], count: int, level: float) -> list[Check]:
    """Holm's procedure with intervals: what is decided with the error shared by all checks is decided; those that are
    left share the whole error again, until none of them is decided any more."""
    decided: dict[tuple[int, int], Check] = {}
    while True:
        each = 1 - (1 - level) / max(1, count - len(decided))
        now = {(i, j): check for i, ask in enumerate(asked) for j, check in enumerate(ask(each))}
        more = {key: check for key, check in now.items() if key not in decided and check.result != "inconclusive"}
        decided |= more
        if not more or len(decided) == count:
            return [decided.get(key, check) for key, check in now.items()]


def _against(stored: Stored, policy: Policy, baseline: str | Path | Run | None) -> Against | None:
    given = baseline if baseline is not None else policy.baseline
    if given is None:
        if policy.needs_baseline:
            raise InputError(
                f"policy {policy.path}".strip(), expected="a run to compare with", got="no baseline",
                remedy="--baseline RUN, or baseline = ... in the policy",
            )  # fmt: skip
        return None
    if not isinstance(given, Run) and not Path(given).exists():
        raise EnvironmentProblem(
            f"baseline {given}", expected="the run to compare with", got="nothing there",
            remedy="fetch it (a CI cache or artifact), or make one with regard audit",
        )  # fmt: skip
    return Against(stored, Stored(given if isinstance(given, Run) else Run(given)))


def _notes(stored: Stored, against: Against | None) -> list[str]:
    notes = list[str]()
    if not stored.complete:
        done, total = stored.run.progress
        status = stored.run.manifest.get("status")
        notes.append(f"the run is {status}, {done} of {total} examples: nothing passes")
    asked = {p["id"] for p in stored.run.problems() if p["id"]}
    if asked:
        notes.append(f"{len(asked)} examples had problems and are missing from some numbers")
    if against is None:
        return notes
    shared, new, old = len(against.shared), len(stored.examples), len(against.old.examples)
    if shared < max(new, old):
        notes.append(f"compared over {shared} shared examples of {new} (this run) and {old} (baseline)")
    same = sum(against.unchanged.values())
    notes.append(f"predictions unchanged since the baseline: {same} of {shared} ({same / shared:.1%})")
    if stored.seed != against.old.seed:
        notes.append(f"other seeds: {stored.seed} and {against.old.seed} (baseline)")
    prints = [s.run.manifest.get("model", {}).get("fingerprint") for s in (stored, against.old)]
    if prints[0] is not None and prints[0] == prints[1]:
        notes.append("both runs are about the very same weights")
    return notes


def _how(level: float) -> str:
    return f"intervals at {level:.4g}: Wilson's for shares, bootstrap over independent examples otherwise"


def _gated(
    stored: Stored, against: Against | None, asked: Gate, policy: Policy, allowed: Collection[str], level: float
) -> list[Check]:
    found = []
    for column in stored.select(asked):
        for kind, value in asked.bounds:
            p = None
            if kind in AGAINST_BASELINE and against is not None:
                interval, p, n, clusters = against.difference(column, level)
            else:
                interval, n, clusters = stored.interval(column, level)
            low, high, required = _range(kind, value, column, asked)
            result, reason = compared(
                interval, low, high, clusters=clusters, fewest=policy.fewest, complete=stored.complete
            )
            named = _name(asked, column, stored, kind)
            soft = "warn" if asked.name in allowed and asked.name else asked.level
            found.append(Check(named, result, soft, required, interval, n, clusters, reason, p, dict(column.where)))
    return found


def _range(kind: str, value: float, column: Series, asked: Gate) -> tuple[float, float, str]:
    """Where the interval has to lie, and the same in words."""
    if kind == "min":
        return value, np.inf, f"lower end >= {value:g}"
    if kind == "max":
        return -np.inf, value, f"upper end <= {value:g}"
    if kind == "change":
        return -value, value, f"difference: both ends within +-{value:g}"
    better = asked.better or column.better
    if better == "higher":
        return -value, np.inf, f"difference: lower end >= -{value:g}"
    if better == "lower":
        return -np.inf, value, f"difference: upper end <= {value:g}"
    raise InputError(
        f"gate on {column.metric}, drop", expected="a metric that is better one way", got="one that is not",
        remedy='better = "higher" or "lower", or change instead of drop',
    )  # fmt: skip


def _name(asked: Gate, column: Series, stored: Stored, kind: str) -> str:
    about = f"{column.metric} of {column.method}"
    told = setting(column, stored.series[column.metric], asked.where)
    versus = " against the baseline" if kind in AGAINST_BASELINE else ""
    said = f"{about}{f' ({told})' if told else ''}{versus}"
    return f"{asked.name}: {said}" if asked.name else said


def _drifted(
    against: Against | None, asked: Drift, policy: Policy, allowed: Collection[str], level: float
) -> list[Check]:
    if against is None:  # refused before
        return []
    soft = "warn" if asked.name in allowed and asked.name else asked.level
    prefix = f"{asked.name}: " if asked.name else ""
    required = f"lower end >= {asked.min:g}"
    columns: list[tuple[str, tuple[str, ...], np.ndarray, str]]
    if asked.measure == "predictions":
        same = np.array([*against.unchanged.values()], np.float64)
        columns = [("predictions unchanged", against.shared, same, "")]
    else:
        kept = sum(against.unchanged.values())
        scope = "all predictions" if asked.all_examples else f"prediction unchanged: {kept} of {len(against.shared)}"
        how = f"{asked.measure} {asked.k}" if asked.measure == "top_k" else asked.measure
        columns = [
            (
                f"drift of {d.method} ({how}, {scope})", d.ids, d.values,
                f"{d.other_units} examples are read as other units" if d.other_units else "",
            )
            for d in against.drifted(asked)
        ]  # fmt: skip
    found = []
    for name, ids, values, note in columns:
        interval, n, clusters = against.interval(ids, values, level, share=asked.measure == "predictions")
        result, reason = compared(
            interval, asked.min, np.inf, clusters=clusters, fewest=policy.fewest, complete=against.new.complete
        )
        said = "; ".join(filter(None, (reason, note)))
        found.append(Check(prefix + name, result, soft, required, interval, n, clusters, said))
    return found


def refused(problem: RegardError, run: str, policy: str) -> Outcome:
    """The outcome where nothing could be checked."""
    return Outcome(run, policy, (), problem=problem)
