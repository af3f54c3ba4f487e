"""`series`: time series to classes, or to the values that follow."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch

from regard.errors import InputError, phrase
from regard.networks.checkpoint import save_checkpoint
from regard.networks.series import SeriesTransformer
from regard.protocols import Dataset
from regard.records import Floats, Json, Message
from regard.registry import method
from regard.training.batches import Accompanied, Rows, SequenceRows
from regard.training.inputs import array_of, column_names
from regard.training.labels import check_classes, label_names, numbered
from regard.training.learner import CROSS_ENTROPY, Learner
from regard.training.loop import Settings
from regard.training.scoring import ABSOLUTE_ERROR, ACCURACY


@method("learner", modality="series", task="classification or forecasting", network="SeriesTransformer")
def series(train: Dataset, *, size: int = 32, layers: int = 2, dropout: float = 0.1, noise: float = 0.1) -> Learner:
    """A Transformer over the time steps of series (steps, channels) of any lengths.

    Where labels are lists of numbers, the values after a series, the network learns to forecast them; other labels are
    classes. noise: added to the steps in training, in spreads of each channel.
    """
    horizon = _horizon(train)
    names = () if horizon else label_names(train)
    if not horizon:
        check_classes(train, numbered(train, names), names)
    every_step = torch.cat([array_of(e, "series") for e in train])
    spread = every_step.std(dim=0, unbiased=False)

    def rows(data: Dataset, learning: bool) -> Rows:
        labels = _values(data, horizon) if horizon else numbered(data, names)
        steps = SequenceRows([array_of(e, "series") for e in data], labels, noise * spread if learning else None)
        return Accompanied(steps, {"scale": [spread[:1]] * len(labels)}) if horizon else steps

    def network() -> SeriesTransformer:
        model = SeriesTransformer(
            channels=every_step.shape[1], classes=len(names), horizon=horizon, size=size, layers=layers, dropout=dropout
        )
        model.standardise.learn(every_step)
        return model

    def save(out: Path, trained: SeriesTransformer, facts: Mapping[str, Json]) -> None:
        about = {"channels": column_names(train), **facts}
        task = "forecasting" if horizon else "classification"
        save_checkpoint(out, trained, labels=names, task=task, modality="series", facts=about)

    settings = Settings(epochs=12, batch_size=32, rate=2e-3, weight_decay=0.01, warmup=0.05, patience=8)
    return Learner(
        Message("learner.forecast" if horizon else "learner.series"),
        network,
        rows,
        save,
        settings,
        names=names,
        measure=ABSOLUTE_ERROR if horizon else ACCURACY,
        terms={"squared_error": 1.0} if horizon else CROSS_ENTROPY,
    )


def _horizon(data: Dataset) -> int:
    """Number of values to forecast; 0 if labels are classes."""
    first = next((e.label for e in data), None)
    return len(first) if isinstance(first, list) else 0


def _values(data: Dataset, horizon: int) -> Floats:
    for example in data:
        label = example.label
        if not isinstance(label, list) or len(label) != horizon or not np.isfinite(np.asarray(label, float)).all():
            subject = phrase("errors.training.label_example_in_data", example=repr(example.id), data=data.name)
            raise InputError(
                subject, expected=phrase("errors.training.finite_numbers", horizon=horizon), got=repr(label)
            )
    return np.array([e.label for e in data], np.float64)
