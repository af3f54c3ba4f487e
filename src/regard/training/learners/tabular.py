"""`tabular`: rows of a table to classes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch

from regard.errors import InputError, phrase
from regard.networks.categories import Categories
from regard.networks.checkpoint import save_checkpoint
from regard.networks.tabular import TabularTransformer
from regard.protocols import Dataset
from regard.records import Json, Message
from regard.registry import method
from regard.training.batches import ArrayRows
from regard.training.inputs import categories_of, column_names, stacked
from regard.training.labels import check_classes, label_names, numbered
from regard.training.learner import Learner
from regard.training.loop import Settings

BACKGROUND = 100
"""Rows of the training table stored with the network: a removed column gets another row's value."""
MOST_CATEGORIES = 100
"""Categories of one column; more are names rather than kinds."""


@method("learner", modality="tabular", task="classification", network="TabularTransformer")
def tabular(train: Dataset, *, size: int = 32, layers: int = 2, dropout: float = 0.1, noise: float = 0.3) -> Learner:
    """A Transformer over the columns of a table, one token each.

    Every category column has one learned vector for each category of the training rows. noise: added to the columns in
    training, in spreads of each.
    """
    names = label_names(train)
    check_classes(train, numbered(train, names), names)
    known = Categories.of([categories_of(example) for example in train])
    for count, column in zip(known.sizes, column_names(train)[-len(known.sizes) :], strict=False):
        if count > MOST_CATEGORIES:
            raise InputError(
                phrase("errors.datasets.column_column", column=repr(column)),
                expected=phrase("errors.training.at_most_categories", n=MOST_CATEGORIES),
                got=str(count),
            )

    def rows(data: Dataset, learning: bool) -> ArrayRows:
        array = stacked(data, "row")
        if known.names:
            groups = np.stack([known.encode(categories_of(example)) for example in data])
            array = torch.cat([array, torch.from_numpy(groups).to(array.dtype)], 1)
        return ArrayRows(array, numbered(data, names), noise if learning else 0.0)

    table = rows(train, False).array
    numbers = table.shape[1] - sum(known.sizes)

    def network() -> TabularTransformer:
        model = TabularTransformer(
            columns=numbers,
            classes=len(names),
            size=size,
            layers=layers,
            dropout=dropout,
            categories=known.sizes,
        )
        model.standardise.learn(table[:, :numbers])
        return model

    def save(out: Path, trained: TabularTransformer, facts: Mapping[str, Json]) -> None:
        about: dict[str, Json] = {"columns": column_names(train), "background": table[:BACKGROUND].tolist(), **facts}
        if known.names:
            about["categories"] = [list(column) for column in known.names]
        save_checkpoint(out, trained, labels=names, task="classification", modality="tabular", facts=about)

    settings = Settings(epochs=30, batch_size=32, rate=1e-3, weight_decay=0.01, warmup=0.05, patience=30)
    return Learner(Message("learner.tabular"), network, rows, save, settings, names=names)
