"""`digits`: a small Vision Transformer, trained on the spot."""

from __future__ import annotations

from typing import Literal

from regard.records import Json, Spec
from regard.registry import method
from regard.training.train_named import trained_once


@method("source", data="digits", task="classification", modality="image", licence="BSD-3-Clause (data)", seconds=20)
def digits(
    *, epochs: int = 15, n: int | None = None, seed: int = 0, labels: Literal["true", "shuffled"] = "true"
) -> str:
    """A small Vision Transformer for handwritten digits (8 x 8, patches of 2 x 2), trained in some seconds.

    Path of its checkpoint; `n` limits the images it learns from.
    labels="shuffled": its twin that learned nothing true, for the metric label_randomisation.
    """
    recipe: dict[str, Json] = {"version": 1, "epochs": epochs, "n": n, "seed": seed}
    return trained_once(
        "digits",
        recipe,
        learner=Spec("learner", "vision"),
        data="digits",
        packages=("torch", "scikit-learn"),
        settings={"epochs": epochs},
        n=n,
        seed=seed,
        labels=labels,
    )
