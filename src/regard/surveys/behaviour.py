"""Behavioural tests of a model: the share of fillings that pass, with an interval, and the failures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from regard.desk.answers import finite
from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.errors import InputError, Unsupported, phrase
from regard.measures.intervals import wilson
from regard.perturbations.apply import perturbed
from regard.perturbations.templates import BehaviourTest
from regard.protocols import Model
from regard.records import Example, Floats, Spec

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Failure:
    """Failed filling: the input, the prediction (class and its probability), before and after."""

    text: str
    changed: str | None
    said: str
    said_after: str | None
    probability: float
    probability_after: float | None


@dataclass(frozen=True, slots=True)
class BehaviourResult:
    """Result of one test: passed of n, with Wilson's interval for the share; possible: all fillings of the template."""

    test: BehaviourTest
    passed: int
    n: int
    low: float
    high: float
    failures: tuple[Failure, ...]

    @property
    def status(self) -> Literal["met", "failed", "open", "-"]:
        """Result by the bound of the interval, not by the point: whether the required share is met."""
        required = self.test.require
        if required is None:
            return "-"
        return "met" if self.low >= required else "failed" if self.high < required else "open"

    def to_json(self) -> dict[str, Any]:
        test = self.test
        return {
            "test": test.name,
            "kind": test.kind,
            "passed": self.passed,
            "n": self.n,
            "possible": test.possible,
            "share": self.passed / self.n if self.n else None,
            "low": self.low,
            "high": self.high,
            "require": test.require,
            "status": self.status,
            "label": test.label,
            "failures": [asdict(failure) for failure in self.failures],
        }


def behaviour(
    model: Model, tests: Sequence[BehaviourTest], *, seed: int = 0, progress: Progress | None = None
) -> list[BehaviourResult]:
    """Run every test on a model that predicts classes."""
    for test in tests:
        if test.label is not None and test.label not in model.labels:
            raise InputError(
                phrase("errors.common.test_name", name=repr(test.name)),
                expected=phrase("errors.surveys.label_one", labels=", ".join(model.labels)),
                got=test.label,
            )
    results = []
    for i, test in enumerate(tests):
        if progress is not None:
            progress(test.name, i, len(tests))
        results.append(_result(model, test, seed))
    return results


def _result(model: Model, test: BehaviourTest, seed: int) -> BehaviourResult:
    firsts = [Example(f"{test.name} {i}", {"text": text}) for i, (text, _) in enumerate(test.pairs)]
    seconds: list[Example] = []
    if test.noise is not None:
        spec = Spec.parse("perturbation", test.noise)
        seconds = [perturbed(e, spec, test.severity, seed, model).example for e in firsts]
    elif any(second_text is not None for _, second_text in test.pairs):
        seconds = [
            Example(e.id, {"text": second_text or ""}) for e, (_, second_text) in zip(firsts, test.pairs, strict=True)
        ]
    before, after = _said(model, firsts, seed), _said(model, seconds, seed) if seconds else None
    failures = []
    for i, first in enumerate(firsts):
        old, new = before[i], None if after is None else after[i]
        if not _passes(test, model.labels, old, new):
            name, probability = _best(model.labels, old)
            second_text = None if after is None else str(seconds[i].inputs["text"])
            later = (None, None) if new is None else _best(model.labels, new)
            failures.append(
                Failure(
                    text=str(first.inputs["text"]),
                    changed=second_text,
                    said=name,
                    said_after=later[0],
                    probability=probability,
                    probability_after=later[1],
                )
            )
    n = len(firsts)
    low, high = wilson(n - len(failures), n)
    return BehaviourResult(
        test=test, passed=n - len(failures), n=n, low=float(low), high=float(high), failures=tuple(failures)
    )


def _said(model: Model, examples: Sequence[Example], seed: int) -> Floats:
    rows = DeskCase(Desk(model, seed=seed), examples).base().distribution
    if rows is None:
        raise Unsupported(
            phrase("errors.surveys.tests_behaviour"),
            expected=phrase("errors.common.model_that_decides_among_classes"),
            got=model.task,
        )
    return finite(rows, model.name)


def _best(labels: Sequence[str], row: Floats) -> tuple[str, float]:
    at = int(row.argmax())
    return labels[at] if at < len(labels) else str(at), float(row[at])


def _passes(test: BehaviourTest, labels: Sequence[str], old: Floats, new: Floats | None) -> bool:
    if test.kind == "minimum functionality" or new is None:
        return _best(labels, old)[0] == test.label
    if test.kind == "invariance":
        at = int(old.argmax())
        return int(new.argmax()) == at and (not test.tolerance or abs(float(new[at] - old[at])) <= test.tolerance)
    at = list(labels).index(str(test.label))
    rise = float(new[at] - old[at])
    return (rise if test.direction == "up" else -rise) >= -test.tolerance
