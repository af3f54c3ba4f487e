"""`power`: a series classifier, trained on the spot."""

from __future__ import annotations

from regard.records import Json, Spec
from regard.registry import method
from regard.training.train_named import trained_once


@method("source", data="power", task="classification", modality="series", licence="BSD-3-Clause (data)", seconds=10)
def power(*, epochs: int = 12, n: int | None = None, seed: int = 0) -> str:
    """A Transformer over the 24 hours of a day of power demand, winter or summer, trained in some seconds.

    Path of its checkpoint; `n` limits the days it learns from.
    """
    recipe: dict[str, Json] = {"version": 1, "epochs": epochs, "n": n, "seed": seed}
    return trained_once(
        "power",
        recipe,
        learner=Spec("learner", "series"),
        data="power",
        packages=("torch", "sktime"),
        settings={"epochs": epochs},
        n=n,
        seed=seed,
    )
