"""Predictions of any task and the distance between two: classes, multi-label, or a number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from regard.errors import Text, Unsupported, phrase
from regard.measures.divergence import tvd
from regard.records import Answers, Bools, Floats

Kind = Literal["classes", "labels", "number"]
FAR = 0.25
"""Share of the standard deviation of the model's outputs beyond which a changed number counts as another answer."""


@dataclass(frozen=True, slots=True)
class Answered:
    """Predictions for some examples.

    kind: "classes" (one of several), "labels" (each is a yes or no), "number". rows: (examples, classes), (examples,
    labels), or (examples, 1) for numbers. spread: unit of a change, for numbers.
    """

    kind: Kind
    rows: Floats
    spread: float = 1.0

    def change(self, other: Answered) -> Floats:
        """Distance (examples,) to another prediction for the same examples.

        classes: total variation; labels: mean absolute change of the probabilities; number: absolute change, in
        deviations of the model's outputs.
        """
        if self.kind == "classes":
            return np.asarray(tvd(self.rows, other.rows), np.float64)
        return np.asarray(np.abs(self.rows - other.rows).mean(-1) / self.spread, np.float64)

    def same(self, other: Answered) -> Bools:
        """(examples,) whether the predictions agree: the class, every label, or a number within tolerance."""
        if self.kind == "classes":
            return np.asarray(self.rows.argmax(-1) == other.rows.argmax(-1), np.bool_)
        if self.kind == "labels":
            return np.asarray(((self.rows > 0.5) == (other.rows > 0.5)).all(-1), np.bool_)
        return self.change(other) <= FAR

    def like(self, answers: Answers) -> Answered:
        """Wrap further predictions of the same model with the same spread."""
        return Answered(self.kind, self.rows_of(answers), self.spread)

    def rows_of(self, answers: Answers) -> Floats:
        rows = answers.probability[:, None] if self.kind == "number" else answers.distribution
        if rows is None:
            raise Unsupported(
                phrase("errors.measures.answers"),
                expected=phrase("errors.measures.before_noun", noun=self.kind),
                got=phrase("errors.measures.neither_classes_nor_labels"),
            )
        return rows


def answered(answers: Answers, others: Answers | None, who: Text) -> Answered:
    """Wrap predictions. others: predictions for other examples, whose standard deviation is the unit of numbers.

    >>> numbers = Answers(np.array([0, 1, 2]), np.array([1.0, 3.0]), np.array([1.0, 3.0]))
    >>> said = answered(numbers, None, "a test")
    >>> said.kind, said.spread, said.same(said.like(numbers)).tolist()
    ('number', 1.0, [True, True])
    """
    rows = answers.distribution
    if rows is not None:
        classes = np.allclose(rows.sum(-1), 1, atol=1e-3) and rows.shape[-1] > 1
        return Answered("classes" if classes else "labels", rows)
    if not np.array_equal(answers.value, answers.probability):  # the likelihood of a text or a span, not an answer
        expected = phrase("errors.measures.model_that_decides_among_classes")
        problem = phrase("errors.measures.one_that_writes_or_marks")
        raise Unsupported(who, expected=expected, got=problem)
    probabilities = answers.probability if others is None or len(others.probability) < 2 else others.probability
    spread = float(np.std(probabilities)) if len(probabilities) > 1 else 0.0
    return Answered("number", answers.probability[:, None], spread if spread > 0 else 1.0)
