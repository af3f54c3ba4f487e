"""Split the answers of a batch into one per question, join them again, and cache them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from regard.errors import InputError, phrase
from regard.records import Answers, Floats

LIMIT = 1 << 28
"""Maximum bytes of cached large answers; the oldest are dropped first."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The model's answer to one question: one row of `Answers`."""

    value: float
    probability: float
    distribution: Floats | None


def split(answers: Answers) -> list[Answer]:
    """Split answers into one `Answer` per row."""
    rows = answers.distribution
    return [
        Answer(float(value), float(probability), None if rows is None else np.asarray(rows[i], np.float64))
        for i, (value, probability) in enumerate(zip(answers.value, answers.probability, strict=True))
    ]


def stacked(counts: Sequence[int], answers: Sequence[Answer]) -> Answers:
    """Stack the rows of all examples into one record; counts: rows per example."""
    rows = [answer.distribution for answer in answers]
    full = [row for row in rows if row is not None]
    return Answers(
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        np.array([answer.value for answer in answers], np.float64),
        np.array([answer.probability for answer in answers], np.float64),
        np.stack(full) if full and len(full) == len(rows) else None,
    )


def section(answers: Answers, start: int, stop: int) -> Answers:
    """Rows from start to stop, as the answers about one example."""
    rows = None if answers.distribution is None else answers.distribution[start:stop]
    return Answers(np.array([0, stop - start]), answers.value[start:stop], answers.probability[start:stop], rows)


def concatenated(parts: Sequence[Answers]) -> Answers:
    """Concatenate the answers of several examples."""
    rows = [part.distribution for part in parts if part.distribution is not None]
    nonempty = [part for part in parts if len(part.value)]
    nothing = np.zeros(0)
    return Answers(
        np.concatenate([[0], np.cumsum([len(part.value) for part in parts])]).astype(np.int64),
        np.concatenate([nothing, *(part.value for part in parts)]),
        np.concatenate([nothing, *(part.probability for part in parts)]),
        np.concatenate(rows) if rows and len(rows) == len(nonempty) else None,
    )


class AnswerCache:
    """Answers by question. Large arrays stay within LIMIT bytes; small answers are never dropped."""

    def __init__(self) -> None:
        self._answers: dict[Hashable, Any] = {}
        self._bytes: dict[Hashable, int] = {}

    def __contains__(self, key: Hashable) -> bool:
        return key in self._answers

    def __getitem__(self, key: Hashable) -> Any:
        return self._answers[key]

    def store(self, key: Hashable, answer: Any, *, large: bool = False) -> None:
        self._answers[key] = answer
        if not large:
            return
        self._bytes[key] = _size(answer)
        while len(self._bytes) > 1 and sum(self._bytes.values()) > LIMIT:
            oldest = next(iter(self._bytes))
            del self._answers[oldest], self._bytes[oldest]


def _size(answer: Any) -> int:
    """Bytes of the arrays in a record, or in a sequence of records."""
    records = [answer] if is_dataclass(answer) else answer
    arrays = (getattr(record, f.name) for record in records for f in fields(record))
    return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))


def finite(rows: Floats, name: str) -> Floats:
    """Return (examples, classes) unchanged; raise if the model returned NaN.

    The argmax over NaN is the first class whatever the input, so such a model would look robust.
    """
    bad = int((~np.isfinite(rows).all(-1)).sum())
    if bad:
        raise InputError(
            phrase("errors.common.answers_name", name=name),
            expected=phrase("errors.common.finite_numbers"),
            got=phrase("errors.desk.nan_or_infinite_ones_for_bad", bad=bad, n=len(rows)),
            remedy=phrase("errors.desk.check_weights_training_may"),
        )
    return rows
