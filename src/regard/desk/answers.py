"""What a model said: answers of a batch taken apart, and put together again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.errors import InputError
from regard.records import Answers, Floats


@dataclass(frozen=True, slots=True)
class Said:
    """The model's answer to one question."""

    value: float
    probability: float
    distribution: Floats | None


def one_by_one(answers: Answers) -> list[Said]:
    """The answer to each question."""
    rows = answers.distribution
    return [
        Said(float(value), float(probability), None if rows is None else np.asarray(rows[i], np.float64))
        for i, (value, probability) in enumerate(zip(answers.value, answers.probability, strict=True))
    ]


def some_of(answers: Answers, start: int, stop: int) -> Answers:
    """Some of them, as the answers about one example."""
    rows = None if answers.distribution is None else answers.distribution[start:stop]
    return Answers(np.array([0, stop - start]), answers.value[start:stop], answers.probability[start:stop], rows)


def joined(counts: Sequence[int], parts: Sequence[Answers]) -> Answers:
    """The answers of all examples that were asked something, one after the other."""
    rows = [part.distribution for part in parts if part.distribution is not None]
    nothing = np.zeros(0)
    return Answers(
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        np.concatenate([nothing, *(part.value for part in parts)]),
        np.concatenate([nothing, *(part.probability for part in parts)]),
        np.concatenate(rows) if rows and len(rows) == len(parts) else None,
    )


def finite(rows: Floats, name: str) -> Floats:
    """(examples, classes) as they are, or an error where a model gives no numbers.

    The largest of several NaN is the first class, whatever is done to the input: such a model would look steadfast.
    """
    bad = int((~np.isfinite(rows).all(-1)).sum())
    if bad:
        raise InputError(
            f"answers of {name}", expected="finite numbers", got=f"NaN or infinite ones for {bad} of {len(rows)}",
            remedy="look at its weights: a training that diverged, or a damaged file",
        )  # fmt: skip
    return rows
