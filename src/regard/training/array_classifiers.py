"""Recipes: small Transformers for images, series and tables, from arrays to checkpoint."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from regard.errors import InputError
from regard.networks.checkpoint import save_checkpoint
from regard.networks.series import SeriesTransformer
from regard.networks.tabular import TabularTransformer
from regard.networks.vision import VisionTransformer
from regard.protocols import Dataset
from regard.records import Json
from regard.training.batches import ArrayRows, SequenceRows
from regard.training.labels import label_names, numbered
from regard.training.loop import Settings, evaluate, fit, seeded
from regard.training.terms import balanced, cross_entropy
from regard.training.text_classifier import training_facts

BACKGROUND = 100
"""Rows of the training table that go with the network: a column is taken away by giving it another row's value."""


def train_image_classifier(
    train: Dataset,
    dev: Dataset,
    test: Dataset,
    out: Path,
    settings: Settings,
    *,
    patch: int = 2,
    size: int = 64,
    layers: int = 2,
    noise: float = 0.3,
    state: Path | None = None,
) -> dict[str, Json]:
    """A Vision Transformer on {"image": (height, width) or (channels, height, width)}, saved into `out`."""
    names = label_names(train)

    def rows(data: Dataset, disturb: float = 0.0) -> ArrayRows:
        stacked = _stacked(data, "image")
        images = stacked.unsqueeze(1) if stacked.dim() == 3 else stacked
        return ArrayRows(images, numbered(data, names), disturb)

    learned, held_out = rows(train, noise), rows(dev)
    channels, height, width = learned.array.shape[1:]
    with seeded(settings.seed, "weights"):
        network = VisionTransformer(
            height=height, width=width, patch=patch, classes=len(names), channels=channels, size=size, layers=layers
        )
    network.standardise.learn(learned.array)
    terms = [cross_entropy(class_weights=balanced(learned.labels, len(names)))]
    fitted = fit(network, learned, held_out, terms, settings, what=f"vision transformer on {train.name}", state=state)
    facts = training_facts(train, settings, fitted, evaluate(network, rows(test))[1])
    save_checkpoint(out, network, labels=names, task="classification", modality="image", facts={"training": facts})
    return facts


def train_table_classifier(
    train: Dataset,
    dev: Dataset,
    test: Dataset,
    out: Path,
    settings: Settings,
    *,
    columns: tuple[str, ...] = (),
    size: int = 32,
    layers: int = 2,
    noise: float = 0.3,
    state: Path | None = None,
) -> dict[str, Json]:
    """A Transformer over the columns of {"row": (columns,)}, saved into `out` with their names."""
    names = label_names(train)

    def rows(data: Dataset, disturb: float = 0.0) -> ArrayRows:
        return ArrayRows(_stacked(data, "row"), numbered(data, names), disturb)

    learned, held_out = rows(train, noise), rows(dev)
    with seeded(settings.seed, "weights"):
        network = TabularTransformer(columns=learned.array.shape[1], classes=len(names), size=size, layers=layers)
    network.standardise.learn(learned.array)
    terms = [cross_entropy(class_weights=balanced(learned.labels, len(names)))]
    fitted = fit(network, learned, held_out, terms, settings, what=f"transformer on {train.name}", state=state)
    facts = training_facts(train, settings, fitted, evaluate(network, rows(test))[1])
    save_checkpoint(
        out,
        network,
        labels=names,
        task="classification",
        modality="tabular",
        facts={"columns": list(columns), "background": learned.array[:BACKGROUND].tolist(), "training": facts},
    )
    return facts


def train_series_classifier(
    train: Dataset,
    dev: Dataset,
    test: Dataset,
    out: Path,
    settings: Settings,
    *,
    channels: tuple[str, ...] = (),
    size: int = 32,
    layers: int = 2,
    noise: float = 0.1,
    state: Path | None = None,
) -> dict[str, Json]:
    """A Transformer over the time steps of {"series": (steps, channels)}, of any lengths, saved into `out`."""
    names = label_names(train)

    def rows(data: Dataset, disturb: float = 0.0) -> SequenceRows:
        arrays = [torch.from_numpy(np.array(e.inputs["series"], np.float32)) for e in data]
        return SequenceRows(arrays, numbered(data, names), disturb)

    learned, held_out = rows(train, noise), rows(dev)
    every_step = torch.cat(list(learned.arrays)) if learned.arrays else torch.zeros(1, 1)
    with seeded(settings.seed, "weights"):
        network = SeriesTransformer(channels=every_step.shape[1], classes=len(names), size=size, layers=layers)
    network.standardise.learn(every_step)
    terms = [cross_entropy(class_weights=balanced(learned.labels, len(names)))]
    fitted = fit(network, learned, held_out, terms, settings, what=f"transformer on {train.name}", state=state)
    facts = training_facts(train, settings, fitted, evaluate(network, rows(test))[1])
    save_checkpoint(
        out,
        network,
        labels=names,
        task="classification",
        modality="series",
        facts={"channels": list(channels), "training": facts},
    )
    return facts


def _stacked(data: Dataset, key: str) -> Tensor:
    """All arrays of a split as one, (examples, ...)."""
    arrays = [np.asarray(e.inputs[key], np.float32) for e in data]
    shapes = {a.shape for a in arrays}
    if len(shapes) != 1:
        got = " and ".join(map(str, sorted(shapes)[:2])) or "no examples"
        raise InputError(f"{key} arrays of {data.name}", expected="one shape for all", got=got)
    return torch.from_numpy(np.stack(arrays))
