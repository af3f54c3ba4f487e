"""`cancer`: an attention classifier for a medical table, trained on the spot."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from regard.records import Json
from regard.registry import method
from regard.training.cache import built_once


@method("source", data="cancer", task="classification", modality="tabular", licence="BSD-3-Clause (data)", seconds=10)
def cancer(*, epochs: int = 12, n: int | None = None, seed: int = 0) -> str:
    """A Transformer over the 30 columns of the breast-cancer table, one token each, trained in some seconds.

    Path of its checkpoint; `n` limits the rows it learns from.
    """

    def build(out: Path, state: Path) -> Mapping[str, Json]:
        from regard.datasets.builtin.cancer import cancer as data
        from regard.training.array_classifiers import train_table_classifier
        from regard.training.loop import Settings

        train = data(split="train", n=n)
        return train_table_classifier(
            train,
            data(split="dev"),
            data(split="test"),
            out,
            Settings(epochs=epochs, batch_size=32, rate=1e-3, weight_decay=0.01, warmup=0.05, patience=8, seed=seed),
            columns=train.columns,
            state=state,
        )

    recipe = {"version": 1, "epochs": epochs, "n": n, "seed": seed}
    return str(built_once("cancer", recipe, ("torch", "scikit-learn"), build))
