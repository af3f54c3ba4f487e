"""Interface of a trainable kind of network."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import nn

from regard.protocols import Dataset
from regard.records import Example, Json, Text
from regard.training.batches import Rows
from regard.training.loop import Settings
from regard.training.scoring import ACCURACY, Measure

CROSS_ENTROPY = {"cross_entropy": 1.0}


@dataclass(frozen=True, slots=True)
class Learner:
    """A trainable network; each file in `learners/` builds one from training data and parameters.

    what: description. network(): build a network; the caller seeds random numbers. rows(data, learning): a split, with
    noise if for learning. save(directory, network, facts): write everything that `regard.load` needs.
    settings: default training settings. terms: default loss. names: of the classes, () without classes.
    spans(example): the character span of each word, if there is one attention over the words.
    imposes: its attention is imposed, as the last input. further(network, dev, test): additional facts.
    """

    what: Text
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
