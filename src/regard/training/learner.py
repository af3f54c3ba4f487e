"""What a kind of network brings to the one path from data to checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import nn

from regard.protocols import Dataset
from regard.records import Example, Json
from regard.training.batches import Rows
from regard.training.loop import Settings
from regard.training.scoring import ACCURACY, Measure

CROSS_ENTROPY = {"cross_entropy": 1.0}


@dataclass(frozen=True, slots=True)
class Learner:
    """A network that can be trained; a file in `learners/` makes one from its training data and its own parameters.

    what: in words. network(): a new one; random numbers are seeded outside. rows(data, learning): a split, disturbed
    if it is to be learned from. save(directory, network, facts): everything that `regard.load` needs.
    settings: how it is trained well. terms: its loss unless another is asked for. names: of the classes, () where there
    are none. spans(example): the character span of each word, where there is one attention over the words.
    imposes: its attention comes from elsewhere, as the last input. further(network, dev, test): more to say about it.
    """

    what: str
    network: Callable[[], nn.Module]
    rows: Callable[[Dataset, bool], Rows]
    save: Callable[[Path, Any, Mapping[str, Json]], None]
    settings: Settings
    names: tuple[str, ...] = ()
    measure: Measure = ACCURACY
    terms: Mapping[str, float] = field(default_factory=CROSS_ENTROPY.copy)
    spans: Callable[[Example], Sequence[tuple[int, int]]] | None = None
    imposes: bool = False
    further: Callable[[Any, Dataset, Dataset], Mapping[str, Json]] | None = None
