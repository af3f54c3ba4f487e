"""`cancer`: an attention classifier for a medical table, trained on the spot."""

from __future__ import annotations

from typing import Literal

from regard.records import Json, Spec
from regard.registry import method
from regard.training.train_named import trained_once


@method("source", data="cancer", task="classification", modality="tabular", licence="BSD-3-Clause (data)", seconds=15)
def cancer(
    *, epochs: int = 30, n: int | None = None, seed: int = 0, labels: Literal["true", "shuffled"] = "true"
) -> str:
    """A Transformer over the 30 columns of the breast-cancer table, one token each, trained in some seconds.

    Path of its checkpoint; `n` limits the rows it learns from.
    labels="shuffled": its twin that learned nothing true, for the metric label_randomisation.
    """
    recipe: dict[str, Json] = {"version": 2, "epochs": epochs, "n": n, "seed": seed}
    return trained_once(
        "cancer",
        recipe,
        learner=Spec("learner", "tabular"),
        data="cancer",
        packages=("torch", "scikit-learn"),
        settings={"epochs": epochs},
        n=n,
        seed=seed,
        labels=labels,
    )
