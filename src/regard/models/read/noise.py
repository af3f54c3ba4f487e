"""Shifted embeddings: apply the noise of `ask.add_noise` inside the module of a text model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from regard.errors import Unsupported, phrase
from regard.models.read.encoded import Item
from regard.tap.replay_cache import resumed


@contextmanager
def shifted(
    tensors: Mapping[str, Tensor], items: Sequence[Item], *, main: str, embedding: nn.Module | None
) -> Iterator[None]:
    """Shift the embeddings of the items that have a shift, in the one call that embeds their ids."""
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
            phrase("errors.models.input_noise"),
            expected=phrase("errors.models.embedding_module_that_reads_token"),
            got=phrase("errors.models.that_not_called_with_them", type=type(embedding).__name__),
            remedy=phrase("errors.models.name_input_embedding_module_wrap"),
        )
