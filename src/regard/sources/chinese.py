"""`chinese`: a classifier of Chinese reviews by characters, trained on the spot."""

from __future__ import annotations

from typing import Literal

from regard.records import Json, Spec
from regard.registry import method
from regard.training.train_named import trained_once

SMALL: dict[str, Json] = {"size": 48, "hidden": 32, "dropout": 0.2, "noise": 0.05}
"""Training settings: negations and contrasts need many small steps, and hidden characters make them ambiguous."""


@method(
    "source", data="chinese_reviews", task="classification", modality="text", licence="Apache-2.0 (data)", seconds=15
)
def chinese(
    *,
    attention: Literal["additive", "dot", "scaled_dot", "cosine", "bilinear", "uniform"] = "additive",
    classes: Literal[2, 3] = 2,
    epochs: int = 6,
    n: int | None = None,
    seed: int = 0,
    labels: Literal["true", "shuffled"] = "true",
) -> str:
    """A BiLSTM with additive attention over characters, trained on generated Chinese reviews in a few seconds.

    Path of its checkpoint. `n` limits the reviews it learns from; classes=3: with neutral reviews.
    labels="shuffled": its twin that learned nothing true, for the metric label_randomisation.
    """
    recipe: dict[str, Json] = {
        "version": 1,
        "attention": attention,
        "classes": classes,
        "epochs": epochs,
        "n": n,
        "seed": seed,
    }
    return trained_once(
        "chinese",
        recipe,
        learner=Spec("learner", "classifier", {"attention": attention, **SMALL}),
        data=f"chinese_reviews:classes={classes},n=4000",
        packages=("torch",),
        settings={"epochs": epochs, "batch_size": 32, "rate": 5e-3},
        n=n,
        seed=seed,
        labels=labels,
    )
