"""Imposed attention weights by example id, stored in one safetensors file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from regard.errors import InputError, phrase

FILE: Final = "imposed.safetensors"

Weights = NDArray[np.float32]


def save_imposed(directory: str | Path, weights: Mapping[str, ArrayLike]) -> None:
    """Write the weights (n,) of every example by id, atomically, into the directory of a network."""
    rows = {ident: np.asarray(row, np.float32).ravel() for ident, row in weights.items()}
    for ident, row in rows.items():
        if not np.isfinite(row).all() or (row < 0).any():
            subject = phrase("errors.networks.imposed_attention", ident=repr(ident))
            raise InputError(
                subject,
                expected=phrase("errors.networks.finite_weights_at_least"),
                got=phrase("errors.networks.another_number"),
            )
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows.values()])]).astype(np.int64)
    joined = np.concatenate(list(rows.values())) if rows else np.zeros(0, np.float32)
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    fresh = directory / f".{FILE}.new"
    save_file({"weights": joined, "offsets": offsets}, fresh, metadata={"ids": json.dumps(list(rows))})
    os.replace(fresh, directory / FILE)


def load_imposed(directory: str | Path) -> dict[str, Weights]:
    """Read the weights (n,) of every example by id that `save_imposed` wrote."""
    path = Path(directory) / FILE
    try:
        with safe_open(path, framework="numpy") as file:
            ids = json.loads(file.metadata()["ids"])
            weights, offsets = file.get_tensor("weights"), file.get_tensor("offsets")
        return {str(ident): weights[a:b] for ident, a, b in zip(ids, offsets[:-1], offsets[1:], strict=True)}
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        reason, remedy = f"{type(error).__name__}: {error}", phrase("errors.networks.train_network_with_frozen")
        raise InputError(
            str(path), expected=phrase("errors.networks.attention_weights_by_example_id"), got=reason, remedy=remedy
        ) from error
