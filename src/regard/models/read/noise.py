"""Noise in the continuous inputs of an example: embeddings for text, the array itself for anything else.

The noise belongs to the units: one that is deleted or replaced takes its noise with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from regard.errors import Unsupported
from regard.models.read.encoded import Item, Reader
from regard.tap.replay_cache import resumed


def noisy(
    item: Item, noise: float, rng: np.random.Generator, *, reader: Reader, embedding: nn.Module | None, name: str
) -> tuple[Item, float]:
    """The item with Gaussian noise on its free units, and the norm of the change over the norm of the inputs."""
    main = item.arrays[reader.main]
    free = np.append(item.units.free, False)[item.owner]  # owner -1 reads the appended False
    if reader.modality == "text":
        if embedding is None:
            raise Unsupported(
                f"noise in the inputs of {name}", expected="an input-embedding module", got="none",
                remedy="name it: wrap(..., embedding='path.of.the.module')",
            )  # fmt: skip
        with torch.no_grad():
            device = next((p.device for p in embedding.parameters()), torch.device("cpu"))
            x = embedding(torch.from_numpy(main)[None].to(device))[0].float().cpu().numpy()
        free = np.broadcast_to(free[:, None], x.shape)
    else:
        x = np.asarray(main, np.float32)
    inside = x[free]
    if not inside.size or not noise:
        return item, 0.0
    # not the range, as for SmoothGrad: embeddings have outliers, and 5 % of the range may be as large as the whole
    change = np.where(free, noise * float(np.sqrt(np.mean(inside**2))) * rng.standard_normal(x.shape), 0.0).astype(
        np.float32
    )
    size = float(np.linalg.norm(inside))
    moved = float(np.linalg.norm(change)) / size if size else 0.0
    if reader.modality == "text":
        return replace(item, shift=change), moved
    return replace(item, arrays={**item.arrays, reader.main: (x + change).astype(main.dtype)}), moved


@contextmanager
def shifted(
    tensors: Mapping[str, Tensor], items: Sequence[Item], *, main: str, embedding: nn.Module | None
) -> Iterator[None]:
    """Inside, the embeddings of the items that have a shift are moved by it, in the one call that reads their ids."""
    if embedding is None or all(item.shift is None for item in items):
        yield
        return
    ids, waiting = tensors[main], [True]

    def move(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], out: Tensor) -> Tensor | None:
        read = args[0] if args else next(iter(kwargs.values()))
        # a shared embedding also serves the decoder: only the call that reads the ids is changed, and only once
        if not waiting or read.shape != ids.shape or not bool((read == ids).all()):
            return None
        waiting.pop()
        change = torch.zeros(out.shape, dtype=out.dtype, device=out.device)
        for row, item in enumerate(items):
            if item.shift is not None:
                change[row, : len(item.shift)] = torch.from_numpy(item.shift).to(change)
        return out + change

    handle = embedding.register_forward_hook(move, with_kwargs=True)
    try:
        yield
    finally:
        handle.remove()
    if waiting and not resumed():  # what an earlier pass gave was moved there
        raise Unsupported(
            "noise in the inputs", expected="an embedding module that reads the token ids",
            got=f"{type(embedding).__name__} that was not called with them",
            remedy="name the input-embedding module: wrap(..., embedding='path.of.the.module')",
        )  # fmt: skip
