"""`tabular`: rows of a table to classes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from regard.networks.checkpoint import save_checkpoint
from regard.networks.tabular import TabularTransformer
from regard.protocols import Dataset
from regard.records import Json, Message
from regard.registry import method
from regard.training.batches import ArrayRows
from regard.training.inputs import column_names, stacked
from regard.training.labels import check_classes, label_names, numbered
from regard.training.learner import Learner
from regard.training.loop import Settings

BACKGROUND = 100
"""Rows of the training table stored with the network: a removed column gets another row's value."""


@method("learner", modality="tabular", task="classification", network="TabularTransformer")
def tabular(train: Dataset, *, size: int = 32, layers: int = 2, dropout: float = 0.1, noise: float = 0.3) -> Learner:
    """A Transformer over the columns of a table, one token each.

    noise: added to the columns in training, in spreads of each.
    """
    names = label_names(train)
    check_classes(train, numbered(train, names), names)

    def rows(data: Dataset, learning: bool) -> ArrayRows:
        return ArrayRows(stacked(data, "row"), numbered(data, names), noise if learning else 0.0)

    table = rows(train, False).array

    def network() -> TabularTransformer:
        model = TabularTransformer(
            columns=table.shape[1], classes=len(names), size=size, layers=layers, dropout=dropout
        )
        model.standardise.learn(table)
        return model

    def save(out: Path, trained: TabularTransformer, facts: Mapping[str, Json]) -> None:
        about = {"columns": column_names(train), "background": table[:BACKGROUND].tolist(), **facts}
        save_checkpoint(out, trained, labels=names, task="classification", modality="tabular", facts=about)

    settings = Settings(epochs=30, batch_size=32, rate=1e-3, weight_decay=0.01, warmup=0.05, patience=30)
    return Learner(Message("learner.tabular"), network, rows, save, settings, names=names)
