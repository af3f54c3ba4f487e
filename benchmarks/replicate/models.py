"""Trainings of the protocol, each in its own directory, which later calls reuse."""

from __future__ import annotations

from pathlib import Path

from regard.records import Json, Spec
from regard.training.train import train
from regard.training.train_one import Splits

SIZE, SPREAD = 300, 0.1
"""Word vectors: as long as the published ones; standard deviation of those that start at random."""
HIDDEN = {"bilstm": 128, "average": 64, "cnn": 64}
"""States of 256 numbers for the BiLSTM, 128 for the others."""
SCORES = {"additive": "additive", "dot": "scaled_dot", "uniform": "uniform", "frozen": "frozen"}
"""Our name of each score: their `dot` is scaled by the root of the width."""
SETTINGS: dict[str, Json] = {
    "epochs": 8, "batch_size": 32, "rate": 1e-3, "last": 1.0, "clip": 1e9, "weight_decay": 1e-5, "patience": 3,
    "earliest": 2,
}  # fmt: skip
"""As published, but for the patience; the first epoch is never kept, as published."""
ADVERSARY: dict[str, Json] = {**SETTINGS, "epochs": 16, "earliest": 16}
"""The last epoch is kept, whose training loss is the lowest, which is what the paper chose by; it had up to 80."""


def spec(encoder: str, attention: str, vectors: Path | None = None) -> Spec:
    return Spec(
        "learner", "classifier",
        {
            "encoder": encoder, "attention": SCORES[attention], "size": SIZE, "hidden": HIDDEN[encoder], "dropout": 0.0,
            "noise": 0.0, "min_count": 1, "spread": SPREAD, "chosen_by": "roc_area", "decision": "sigmoid",
            **({} if vectors is None else {"vectors": str(vectors)}),
        },
    )  # fmt: skip


def plain(
    splits: Splits, home: Path, encoder: str, attention: str, seed: int, *, vectors: Path | None,
    like: Path | None = None,
) -> Path:  # fmt: skip
    """Train a model on the labels; with attention "frozen", under the weights of the model in `like`.

    vectors: the file that word vectors start from; None: at random.
    """
    name = f"{encoder}-{attention}-{seed}" + ("" if like is None else f"-like-{like.name}")
    name += "-random" if vectors is None else ""
    return train(
        spec(encoder, attention, vectors), splits, out=home / name, seed=seed, settings=SETTINGS, reference=like
    ).directory


def adversary(splits: Splits, home: Path, base: Path, weight: float, seed: int, vectors: Path) -> Path:
    """Train a BiLSTM with the predictions of `base` and other attention: TVD - weight x KL. It never sees a label.

    weight: as published. Their TVD is half of ours, so that theirs - weight x KL is half of ours - 2 x weight x KL.
    """
    terms = {"prediction_distance": 1.0, "attention_distance": -2 * weight}
    name = f"adversary-{weight:g}-{seed}"
    return train(
        spec("bilstm", "additive", vectors), splits, out=home / name, seed=seed, settings=ADVERSARY, terms=terms,
        reference=base, class_weights="none",
    ).directory  # fmt: skip
