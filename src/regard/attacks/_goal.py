"""The goal of an attack: a score to increase and a success test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regard.errors import InputError, UnknownName, Unsupported, phrase
from regard.protocols import Case
from regard.records import Answers, Bools, Floats, Threat

TIE = 1e-6
"""Classes nearer than this tie, and a tie keeps the original prediction."""


@dataclass(frozen=True, slots=True)
class Goal:
    """Goal per example. before: the predicted class. target_class: of a targeted attack, or None.

    why: for each example "" or the id of the reason to skip it.
    """

    before: tuple[int, ...]
    target_class: int | None
    why: tuple[str, ...]
    distributions: Floats

    def score(self, i: int, value: Floats, rows: Floats) -> Floats:
        """Return how close each answer for example i is to the goal; -inf if undefined."""
        if self.target_class is None:
            return np.where(np.isnan(value), -np.inf, -value)
        p = np.clip(rows[:, self.target_class], 1e-12, 1 - 1e-12)
        return np.where(np.isnan(p), -np.inf, np.log(p) - np.log1p(-p))

    def reached(self, i: int, rows: Floats) -> Bools:
        """Return which answers for example i reach the goal: the prediction flips by more than a tie."""
        unknown = np.isnan(rows).any(1)  # of a row that cannot be read, or is not known: never a success
        column = self.before[i] if self.target_class is None else self.target_class
        rest = np.delete(rows, column, axis=1).max(1)
        own = rows[:, column]
        flipped: Bools = own > rest + TIE if self.target_class is not None else rest > own + TIE
        return flipped & ~unknown

    def predicted(self, i: int, row: Floats) -> int:
        """Return the predicted class; the original one for ties and undefined answers."""
        if np.isnan(row).any():
            return self.before[i]
        return self.before[i] if row[self.before[i]] >= row.max() - TIE else int(row.argmax())


def goal_of(case: Case, threat: Threat) -> Goal:
    """Build the goal per example; misclassified examples and those already at the target are skipped."""
    answers: Answers = case.base()
    if answers.distribution is None:
        raise Unsupported(
            phrase("errors.attacks.attack"),
            expected=phrase("errors.common.classifier"),
            got=phrase("errors.common.another_task"),
        )
    before, why = [], list[str]()
    goal_class = _class(threat.target, case.labels, answers.distribution.shape[1])
    for example, target in zip(case.examples, case.targets, strict=True):
        if not isinstance(target, int):
            raise Unsupported(
                phrase("errors.attacks.attack"),
                expected=phrase("errors.attacks.class_that_predicted"),
                got=repr(target),
            )
        before.append(target)
        target_name = case.labels[target] if target < len(case.labels) else str(target)
        wrong = example.label is not None and str(example.label) not in (target_name, str(target))
        why.append("misclassified" if wrong else "already_target" if target == goal_class else "")
    return Goal(tuple(before), goal_class, tuple(why), answers.distribution)


def _class(target: str | int | None, labels: tuple[str, ...], classes: int) -> int | None:
    if target is None:
        return None
    if isinstance(target, str) and not target.isdigit():
        if target not in labels:
            raise UnknownName("class", target, labels)
        return labels.index(target)
    if not 0 <= int(target) < classes:
        raise InputError(
            phrase("errors.attacks.class_target", target=target),
            expected=phrase("errors.attacks.index_in_range", classes=classes - 1),
            got=str(target),
        )
    return int(target)
