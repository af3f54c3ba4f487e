"""`series`: time series to classes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch

from regard.networks.checkpoint import save_checkpoint
from regard.networks.series import SeriesTransformer
from regard.protocols import Dataset
from regard.records import Json
from regard.registry import method
from regard.training.batches import SequenceRows
from regard.training.inputs import array_of, column_names
from regard.training.labels import check_classes, label_names, numbered
from regard.training.learner import Learner
from regard.training.loop import Settings


@method("learner", modality="series", task="classification", network="SeriesTransformer")
def series(train: Dataset, *, size: int = 32, layers: int = 2, dropout: float = 0.1, noise: float = 0.1) -> Learner:
    """A Transformer over the time steps of series (steps, channels) of any lengths.

    noise: added to the steps in training.
    """
    names = label_names(train)
    check_classes(train, numbered(train, names), names)

    def rows(data: Dataset, learning: bool) -> SequenceRows:
        arrays = [array_of(e, "series") for e in data]
        return SequenceRows(arrays, numbered(data, names), noise if learning else 0.0)

    every_step = torch.cat(list(rows(train, False).arrays))

    def network() -> SeriesTransformer:
        made = SeriesTransformer(
            channels=every_step.shape[1], classes=len(names), size=size, layers=layers, dropout=dropout
        )
        made.standardise.learn(every_step)
        return made

    def save(out: Path, trained: SeriesTransformer, facts: Mapping[str, Json]) -> None:
        about = {"channels": column_names(train), **facts}
        save_checkpoint(out, trained, labels=names, task="classification", modality="series", facts=about)

    settings = Settings(epochs=12, batch_size=32, rate=2e-3, weight_decay=0.01, warmup=0.05, patience=8)
    return Learner("transformer over time steps", network, rows, save, settings, names)
