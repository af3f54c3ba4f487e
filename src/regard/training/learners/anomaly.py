"""`anomaly`: an autoencoder of normal windows; its reconstruction error scores a window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from regard.errors import InputError, phrase
from regard.models.anomaly_score import LABELS, TASK, anomaly_scores, level_of
from regard.networks.checkpoint import save_checkpoint
from regard.networks.series import SeriesTransformer
from regard.protocols import Dataset
from regard.records import Example, Json, Message
from regard.registry import method
from regard.training.batches import Accompanied, Rows, SequenceRows
from regard.training.inputs import array_of, column_names
from regard.training.learner import Learner
from regard.training.loop import Settings
from regard.training.scoring import ABSOLUTE_ERROR

CALIBRATION = 5
"""The last fifth of the normal windows sets the threshold and is not learned from."""


@method("learner", modality="series", task=TASK, network="SeriesTransformer")
def anomaly(train: Dataset, *, size: int = 16, layers: int = 2, dropout: float = 0.0, noise: float = 0.1) -> Learner:
    """A Transformer that reconstructs the first channel of a window through one vector of `size` numbers.

    Learns from windows that are not marked as anomalies. The score is the root of the mean squared residual; its
    threshold is the 95 % quantile of normal windows that were not learned from. noise: added to the steps in training,
    in spreads of each channel.
    """
    normal = [example for example in train if is_normal(example)]
    learned = normal[: len(normal) - len(normal) // CALIBRATION]
    held_out = normal[len(learned) :]
    steps = _steps([*train])
    every_step = torch.cat([array_of(e, "series") for e in learned]) if learned else torch.zeros(0, 1)
    spread = every_step.std(dim=0, unbiased=False)

    def rows(data: Dataset, learning: bool) -> Rows:
        arrays = [array_of(e, "series") for e in (learned if learning else data)]
        values = np.stack([_first_channel(array).numpy() for array in arrays]).astype(np.float64)
        inputs = SequenceRows(arrays, values, noise * spread if learning else None)
        return Accompanied(inputs, {"scale": [spread[:1]] * len(arrays)})

    def network() -> SeriesTransformer:
        model = SeriesTransformer(
            channels=every_step.shape[1], horizon=steps, size=size, layers=layers, dropout=dropout
        )
        model.standardise.learn(every_step)
        return model

    def save(out: Path, trained: SeriesTransformer, facts: Mapping[str, Json]) -> None:
        windows = torch.stack([array_of(e, "series") for e in held_out]) if held_out else torch.zeros(0, steps, 1)
        with torch.inference_mode():
            scores = anomaly_scores(trained.eval()(windows), windows) if len(windows) else torch.zeros(0)
        level = level_of(scores.double().numpy())
        about: dict[str, Json] = {"threshold": level.threshold, "spread": level.spread, "windows": len(held_out)}
        facts = {"channels": column_names(train), TASK: about, **facts}
        save_checkpoint(out, trained, labels=LABELS, task=TASK, modality="series", facts=facts)

    return Learner(
        Message("learner.anomaly"),
        network,
        rows,
        save,
        Settings(epochs=30, batch_size=32, rate=3e-3, weight_decay=0.0, warmup=0.05, patience=10),
        measure=ABSOLUTE_ERROR,
        terms={"squared_error": 1.0},
    )


def is_normal(example: Example) -> bool:
    """Return whether a window is not marked; values that follow it are not a mark."""
    return example.label in (None, 0, LABELS[0]) or isinstance(example.label, list)


def _first_channel(window: Tensor) -> Tensor:
    return window[:, 0]


def _steps(examples: Sequence[Example]) -> int:
    lengths = sorted({len(array_of(example, "series")) for example in examples})
    if len(lengths) != 1:
        raise InputError(
            "anomaly", expected=phrase("errors.training.windows_of_one_length"), got=", ".join(map(str, lengths))
        )
    return lengths[0]
