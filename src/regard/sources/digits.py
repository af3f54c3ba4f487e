"""`digits`: a small Vision Transformer, trained on the spot."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from regard.records import Json
from regard.registry import method
from regard.training.cache import built_once


@method("source", data="digits", task="classification", modality="image", licence="BSD-3-Clause (data)", seconds=20)
def digits(*, epochs: int = 15, n: int | None = None, seed: int = 0) -> str:
    """A small Vision Transformer for handwritten digits (8 x 8, patches of 2 x 2), trained in some seconds.

    Path of its checkpoint; `n` limits the images it learns from.
    """

    def build(out: Path, state: Path) -> Mapping[str, Json]:
        from regard.datasets.builtin.digits import digits as data
        from regard.training.array_classifiers import train_image_classifier
        from regard.training.loop import Settings

        return train_image_classifier(
            data(split="train", n=n),
            data(split="dev"),
            data(split="test"),
            out,
            Settings(epochs=epochs, batch_size=32, rate=2e-3, weight_decay=0.01, warmup=0.05, patience=8, seed=seed),
            state=state,
        )

    recipe = {"version": 1, "epochs": epochs, "n": n, "seed": seed}
    return str(built_once("digits", recipe, ("torch", "scikit-learn"), build))
