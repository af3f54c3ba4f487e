"""`power`: a series classifier, trained on the spot."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from regard.records import Json
from regard.registry import method
from regard.training.cache import built_once


@method("source", data="power", task="classification", modality="series", licence="BSD-3-Clause (data)", seconds=10)
def power(*, epochs: int = 12, n: int | None = None, seed: int = 0) -> str:
    """A Transformer over the 24 hours of a day of power demand, winter or summer, trained in some seconds.

    Path of its checkpoint; `n` limits the days it learns from.
    """

    def build(out: Path, state: Path) -> Mapping[str, Json]:
        from regard.datasets.builtin.power import power as data
        from regard.training.array_classifiers import train_series_classifier
        from regard.training.loop import Settings

        train = data(split="train", n=n)
        return train_series_classifier(
            train,
            data(split="dev"),
            data(split="test"),
            out,
            Settings(epochs=epochs, batch_size=32, rate=2e-3, weight_decay=0.01, warmup=0.05, patience=8, seed=seed),
            channels=train.columns,
            state=state,
        )

    recipe = {"version": 1, "epochs": epochs, "n": n, "seed": seed}
    return str(built_once("power", recipe, ("torch", "sktime"), build))
