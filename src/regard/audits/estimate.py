"""Cost estimate of an audit from a pilot: the shard of medium length runs first, and its cost is scaled to the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from regard.errors import Unsupported, in_words
from regard.protocols import Encoded, Model
from regard.records import UNCHECKED, Json, Message, Text
from regard.store.shard_result import ShardResult

Forecast = Callable[["Estimate"], None]
"""Called once, when the pilot is done."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimated cost of the open examples. `skipped`: methods that this model does not support."""

    examples: int
    forwards: int
    backwards: int
    seconds: float
    skipped: Mapping[str, Text]

    def to_json(self) -> dict[str, Json]:
        return {
            "examples": self.examples,
            "forwards": self.forwards,
            "backwards": self.backwards,
            "seconds": round(self.seconds, 2),
            "skipped": {name: in_words(reason) for name, reason in self.skipped.items()},
        }

    def sentence(self, workers: int) -> Message:
        minutes, seconds = divmod(round(self.seconds / max(1, workers)), 60)
        passes = {"n": self.examples, "forwards": self.forwards, "backwards": self.backwards}
        if minutes:
            return Message.of("estimate.minutes", **passes, minutes=minutes, seconds=seconds)
        return Message.of("estimate.seconds", **passes, seconds=seconds)


def middle_first(shards: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """Move the middle shard to the front as the pilot; shards are sorted by length.

    >>> middle_first([["a"], ["b"], ["c"]])
    [['b'], ['a'], ['c']]
    """
    middle = len(shards) // 2
    return [*shards[middle : middle + 1], *shards[:middle], *shards[middle + 1 :]]


def estimate(
    pilot: ShardResult, names: Sequence[str], lengths: Mapping[str, int], still_open: Sequence[str]
) -> Estimate:
    """Estimate the cost of the open examples from the pilot (`names`).

    The number of passes grows with the length of an example, as its leave-one-outs do, and their time with its square.
    """
    passes = _weight(still_open, lengths, 1) / _weight(names, lengths, 1)
    time = _weight(still_open, lengths, 2) / _weight(names, lengths, 2)
    return Estimate(
        examples=len(still_open),
        forwards=round(passes * sum(c.forwards for c in pilot.costs)),
        backwards=round(passes * sum(c.backwards for c in pilot.costs)),
        seconds=time * sum(c.seconds for c in pilot.costs),
        skipped=pilot.skipped,
    )


def _weight(names: Sequence[str], lengths: Mapping[str, int], power: int) -> float:
    return float(sum(max(1, lengths[name]) ** power for name in names))


@dataclass(frozen=True, slots=True)
class CaptureCheck:
    """Result of the capture check, and the softmaxes that are not attention, with the reason."""

    checked: Text = UNCHECKED
    rejected: tuple[tuple[str, Text], ...] = ()


def check_capture(model: Model, encoded: Encoded, rng: np.random.Generator) -> CaptureCheck:
    """Capture half of an example before the audit, so that an uncapturable attention stops it at once."""
    free = np.flatnonzero(encoded.units.free)
    drop = np.zeros(len(encoded.units), np.bool_)
    drop[free[: max(1, len(free) // 2)]] = True
    half = model.remove(encoded, drop, model.operators[0], rng)
    _, targets = model.predict([half])
    try:
        capture = model.capture([half], targets)
    except Unsupported:  # the methods that need attention report it
        return CaptureCheck()
    return CaptureCheck(capture.checked, tuple(capture.rejected))
