"""Policy: the requirements on a run, from a small TOML file. Unknown names are refused.

confidence = 0.95                 # of every interval
fewest = 10                       # independent examples below which nothing is decided
inconclusive = "report"           # an open check: "report" (exit 3), "fail" (exit 1) or "warn" (exit 0)

[[gate]]
metric = "accuracy"
where = { noise = "keyboard", severity = 3 }
min = 0.80                        # the lower end of the interval has to reach it

[[drift]]
method = "attention"
min = 0.80                        # rank agreement with the baseline run's explanations

[[require]]
share = 0.70                      # of the best method's effect, that attention finds surely (its interval)

[[require]]
question = "points"               # an answer of the judge
answer = ["yes", "partly"]

[[require]]
verdict = "read as evidence"      # the overall reading
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal, get_args

from regard.errors import InputError, Text, UnknownName, phrase
from regard.files import parse_toml, read_text
from regard.records import Json, Reading
from regard.store.judgements import ANSWER_IDS, OTHER_ANSWERS

Level = Literal["block", "warn"]
Open = Literal["report", "fail", "warn"]
Correction = Literal["none", "holm"]
DriftMeasure = Literal["kendall", "spearman", "weighted_kendall", "top_k", "rbo", "predictions"]
BOUNDS: Final = ("min", "max", "drop", "change")
AGAINST_BASELINE: Final = ("drop", "change")
ANSWERS: Final = (*ANSWER_IDS.values(), *OTHER_ANSWERS)


@dataclass(frozen=True, slots=True)
class Gate:
    """Requirement of a stored metric.

    method, where: select its numbers; a name with * matches many, a list any of them, "any" all that have the setting.
    Each selected number must pass. min, max: bounds of the interval's near end. drop: maximum loss against the baseline
    run (paired over the same examples). change: maximum difference from it in either direction. better: good direction,
    if the metric does not declare one.
    """

    metric: str
    name: str = ""
    method: str | tuple[str, ...] | None = None
    where: Mapping[str, Json] = field(default_factory=dict)
    min: float | None = None
    max: float | None = None
    drop: float | None = None
    change: float | None = None
    better: Literal["higher", "lower"] | None = None
    level: Level = "block"

    @property
    def bounds(self) -> list[tuple[str, float]]:
        return [(kind, value) for kind in BOUNDS if (value := getattr(self, kind)) is not None]


@dataclass(frozen=True, slots=True)
class Drift:
    """Required agreement of explanations with those of the baseline run on the same examples.

    measure: agreement of the rankings, or "predictions" for the share that is unchanged. k: for top_k. all_examples:
    include those whose prediction changed, for which a different explanation is legitimate.
    """

    min: float
    name: str = ""
    method: str | tuple[str, ...] | None = None
    measure: DriftMeasure = "kendall"
    k: int = 5
    all_examples: bool = False
    level: Level = "block"


@dataclass(frozen=True, slots=True)
class Requirement:
    """Requirement on the judge's answer about a run's attention: one of share, question with answer, and verdict.

    share: minimum share of the best method's effect, by the lower end of its interval. question, answer: a question of
    the judge and the answers that pass. verdict: the readings that pass.
    """

    share: float | None = None
    question: str = ""
    answer: tuple[str, ...] = ()
    verdict: tuple[str, ...] = ()
    name: str = ""
    level: Level = "block"


@dataclass(frozen=True, slots=True)
class Policy:
    gates: tuple[Gate, ...] = ()
    drifts: tuple[Drift, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    confidence: float = 0.95
    fewest: int = 10
    inconclusive: Open = "report"
    correction: Correction = "none"
    run: str | None = None
    baseline: str | None = None
    path: str = ""

    @property
    def needs_baseline(self) -> bool:
        return bool(self.drifts) or any(kind in AGAINST_BASELINE for g in self.gates for kind, _ in g.bounds)


def read_policy(path: Path | str) -> Policy:
    """Read a policy from a TOML file; its `run` and `baseline` paths are relative to the file."""
    place = Path(path)
    return parse_policy(read_text(place, phrase("errors.common.policy_name", name=place)), place)


def parse_policy(text: str, place: Path | None = None) -> Policy:
    """
    >>> policy = parse_policy('[[gate]]\\nmetric = "accuracy"\\nmin = 0.8\\n')
    >>> policy.gates[0].bounds, policy.confidence
    ([('min', 0.8)], 0.95)
    """
    subject = phrase("errors.common.policy_name", name=place) if place else phrase("errors.gate.policy")
    table = parse_toml(text, subject)
    keys = {f.name for f in fields(Policy)} - {"gates", "drifts", "requirements", "path"} | {"gate", "drift", "require"}
    _refuse_unknown(table, keys, phrase("errors.gate.key_subject", subject=subject))
    for kind in ("gate", "drift", "require"):
        if not isinstance(table.get(kind, []), list) or not all(isinstance(g, dict) for g in table.get(kind, [])):
            raise InputError(
                subject,
                expected=phrase("errors.gate.tables_kind", kind=kind),
                got=f"{kind} = ...",
                remedy=f"[[{kind}]]",
            )
    gates = tuple(
        _gate(g, phrase("errors.gate.gate_subject", subject=subject, i=i))
        for i, g in enumerate(table.get("gate", []), 1)
    )
    drifts = tuple(
        _drift(d, phrase("errors.gate.drift_subject", subject=subject, i=i))
        for i, d in enumerate(table.get("drift", []), 1)
    )
    requirements = tuple(
        _requirement(r, phrase("errors.gate.require_subject", subject=subject, i=i))
        for i, r in enumerate(table.get("require", []), 1)
    )
    if not gates and not drifts and not requirements:
        raise InputError(
            subject,
            expected=phrase("errors.gate.at_least_one_gate_drift"),
            got=phrase("errors.gate.none_would_pass_anything"),
        )
    folder = place.parent if place else Path()
    return Policy(
        gates,
        drifts,
        requirements,
        confidence=_number(
            table.get("confidence", 0.95), phrase("errors.gate.confidence_subject", subject=subject), 0.5, 0.9999
        ),
        fewest=int(_number(table.get("fewest", 10), phrase("errors.gate.fewest_subject", subject=subject), 2, 10**6)),
        inconclusive=_choice(
            table.get("inconclusive", "report"), Open, phrase("errors.gate.inconclusive_subject", subject=subject)
        ),
        correction=_choice(
            table.get("correction", "none"), Correction, phrase("errors.gate.correction_subject", subject=subject)
        ),
        run=_place(table.get("run"), folder, phrase("errors.gate.run_subject", subject=subject)),
        baseline=_place(table.get("baseline"), folder, phrase("errors.gate.baseline_subject", subject=subject)),
        path=str(place or ""),
    )


def _gate(given: Mapping[str, Any], subject: Text) -> Gate:
    _refuse_unknown(given, {f.name for f in fields(Gate)}, phrase("errors.gate.key_subject", subject=subject))
    if not isinstance(given.get("metric"), str):
        got = repr(given["metric"]) if "metric" in given else phrase("errors.common.none")
        raise InputError(subject, expected="metric = NAME", got=got)
    where = given.get("where", {})
    if not isinstance(where, dict):
        raise InputError(
            phrase("errors.gate.where_subject", subject=subject), expected="{ setting = value }", got=repr(where)
        )
    bounds = {
        k: _number(given[k], phrase("errors.common.part_in_whole", whole=subject, part=k)) for k in BOUNDS if k in given
    }
    if not bounds:
        raise InputError(
            subject,
            expected=phrase("errors.common.one_allowed", allowed=", ".join(BOUNDS)),
            got=phrase("errors.gate.no_requirement"),
        )
    for kind in AGAINST_BASELINE:
        if bounds.get(kind, 0.0) < 0:
            raise InputError(
                phrase("errors.common.part_in_whole", whole=subject, part=kind),
                expected=phrase("errors.gate.or_more"),
                got=str(bounds[kind]),
            )
    if bounds.get("min", -1e308) > bounds.get("max", 1e308):
        raise InputError(
            subject,
            expected=phrase("errors.gate.min_below_max"),
            got=phrase("errors.gate.min_max", min=bounds["min"], max=bounds["max"]),
        )
    better = given.get("better")
    return Gate(
        metric=given["metric"],
        name=str(given.get("name", "")),
        method=_methods(given.get("method"), subject),
        where=where,
        better=None
        if better is None
        else _choice(better, Literal["higher", "lower"], phrase("errors.gate.better_subject", subject=subject)),
        level=_choice(given.get("level", "block"), Level, phrase("errors.gate.level_subject", subject=subject)),
        **bounds,
    )


def _drift(given: Mapping[str, Any], subject: Text) -> Drift:
    _refuse_unknown(given, {f.name for f in fields(Drift)}, phrase("errors.gate.key_subject", subject=subject))
    if "min" not in given:
        raise InputError(subject, expected="min = NUMBER", got=phrase("errors.gate.no_requirement"))
    wide = given.get("all_examples", False)
    if not isinstance(wide, bool):
        raise InputError(
            phrase("errors.gate.all_examples_subject", subject=subject),
            expected=phrase("errors.common.true_or_false"),
            got=repr(wide),
        )
    return Drift(
        min=_number(given["min"], phrase("errors.gate.min_subject", subject=subject), -1.0, 1.0),
        name=str(given.get("name", "")),
        method=_methods(given.get("method"), subject),
        measure=_choice(
            given.get("measure", "kendall"), DriftMeasure, phrase("errors.gate.measure_subject", subject=subject)
        ),
        k=int(_number(given.get("k", 5), phrase("errors.common.part_in_whole", whole=subject, part="k"), 1, 10**6)),
        all_examples=wide,
        level=_choice(given.get("level", "block"), Level, phrase("errors.gate.level_subject", subject=subject)),
    )


def _requirement(table: Mapping[str, Any], subject: Text) -> Requirement:
    _refuse_unknown(table, {f.name for f in fields(Requirement)}, phrase("errors.gate.key_subject", subject=subject))
    kinds = [kind for kind in ("share", "question", "verdict") if kind in table]
    if len(kinds) != 1:
        raise InputError(
            subject,
            expected=phrase("errors.gate.one_share_question_and_verdict"),
            got=", ".join(kinds) or phrase("errors.common.none"),
        )
    if ("answer" in table) != ("question" in table):
        raise InputError(subject, expected=phrase("errors.gate.question_and_answer_together"), got=", ".join(table))
    return Requirement(
        share=_number(table["share"], phrase("errors.gate.share_subject", subject=subject), 0.0, 1.0)
        if "share" in table
        else None,
        question=str(table.get("question", "")),
        answer=_words(table.get("answer", []), ANSWERS, phrase("errors.gate.answer_subject", subject=subject)),
        verdict=_words(
            table.get("verdict", []), get_args(Reading), phrase("errors.gate.verdict_subject", subject=subject)
        ),
        name=str(table.get("name", "")),
        level=_choice(table.get("level", "block"), Level, phrase("errors.gate.level_subject", subject=subject)),
    )


def parse_requirement(text: str) -> Requirement:
    """
    >>> parse_requirement("share>=0.7").share, parse_requirement("points=yes,partly").answer
    (0.7, ('yes', 'partly'))
    >>> parse_requirement("verdict=read as evidence").verdict
    ('read as evidence',)
    """
    subject = f"--require {text}"
    if text.replace(" ", "").startswith("share>="):
        number = text.partition(">=")[2].strip().removesuffix("%")
        try:
            share = float(number) / (100 if text.strip().endswith("%") else 1)
        except ValueError:
            raise InputError(subject, expected=phrase("errors.gate.share_or_share"), got=text) from None
        return _requirement({"share": share}, subject)
    key, sign, words = text.partition("=")
    if not sign or not key.strip():
        raise InputError(subject, expected=phrase("errors.gate.share_question_answer_or_verdict"), got=text)
    values = [word.strip() for word in words.split(",")]
    if key.strip() == "verdict":
        return _requirement({"verdict": values}, subject)
    return _requirement({"question": key.strip(), "answer": values}, subject)


def _words(value: Any, known: Collection[str], subject: Text) -> tuple[str, ...]:
    words = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list) else None
    if words is None:
        raise InputError(subject, expected=phrase("errors.gate.text_or_list_texts"), got=repr(value))
    for word in words:
        if word not in known:
            raise _not_one_of(subject, word, known)
    return words


def _refuse_unknown(given: Mapping[str, Any], known: set[str], kind: Text) -> None:
    for key in given:
        if key not in known:
            raise UnknownName(kind, key, known)


def _methods(given: Any, subject: Text) -> str | tuple[str, ...] | None:
    if given is None or isinstance(given, str):
        return given
    if isinstance(given, list) and given and all(isinstance(m, str) for m in given):
        return tuple(given)
    raise InputError(
        phrase("errors.gate.method_subject", subject=subject),
        expected=phrase("errors.gate.name_or_list_names"),
        got=repr(given),
    )


def _number(given: Any, subject: Text, low: float = -1e308, high: float = 1e308) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not low <= given <= high:
        expected = (
            phrase("errors.common.number")
            if high > 1e300
            else phrase("errors.gate.number_in_range", low=low, high=high)
        )
        raise InputError(subject, expected=expected, got=repr(given))
    return float(given)


def _choice(given: Any, choices: Any, subject: Text) -> Any:
    if given not in get_args(choices):
        raise _not_one_of(subject, given, get_args(choices))
    return given


def _not_one_of(subject: Text, value: Any, known: Collection[str]) -> InputError:
    near = difflib.get_close_matches(str(value), known, n=1)
    names = phrase("error.one_of", names=", ".join(sorted(known)))
    return InputError(subject, expected=names, got=repr(value), remedy=near[0] if near else "")


def _place(given: Any, folder: Path, subject: Text) -> str | None:
    if given is None:
        return None
    if not isinstance(given, str):
        raise InputError(subject, expected=phrase("errors.gate.directory_run"), got=repr(given))
    return str(folder / given)
