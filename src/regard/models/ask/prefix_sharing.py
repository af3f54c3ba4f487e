"""Exact sharing of the common beginning of variants, for causal models.

In a causal model the keys and values of a prefix do not depend on what follows. Variants of one text that differ
from position p on therefore need positions 0..p-1 only once: leave-one-out costs half.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from regard.models.weight_versions import weight_versions
from regard.tap.pass_history import forgettable

SHORTEST = 8
"""Minimum length of a prefix that is worth a second call."""


class PrefixCache:
    """Keys and values of the last prefix. Verifies itself on first use, or retires.

    It follows the text as it grows: the variants of leave-one-out, requested in order, extend it bit by bit.
    """

    def __init__(self) -> None:
        self.clear()
        forgettable(self)

    def clear(self) -> None:
        """Forget the prefix and the verification."""
        self.works = True
        self._proved = False
        self._ids: list[int] = []
        self._layers: list[tuple[Tensor, Tensor]] = []
        self._stamp: tuple[int, ...] = ()

    def logits(self, module: nn.Module, tensors: Mapping[str, Tensor], lengths: Sequence[int]) -> Tensor | None:
        """Return (batch, vocabulary) logits at the last position of each row; None if sharing does not pay."""
        ids, mask = tensors["input_ids"], tensors["attention_mask"]
        shared = min(_common(ids, mask), min(lengths) - 1)
        saved = (len(lengths) - 1) * shared
        if not self.works or shared < SHORTEST or saved < 0.1 * ids.numel():
            return None
        logits = self._with_prefix(module, ids, mask, lengths, shared)
        if logits is not None and not self._proved:
            plain = _last(call_accepted(module, {"input_ids": ids, "attention_mask": mask}).logits, lengths)
            tolerance = 2e-2 if plain.dtype in (torch.float16, torch.bfloat16) else 1e-4
            self._proved = bool(
                torch.allclose(logits, plain, rtol=tolerance, atol=tolerance * float(plain.abs().max()))
            )
            self.works = self._proved
        if not self.works:
            self._ids, self._layers = [], []
            return None
        return logits

    def _with_prefix(
        self, module: nn.Module, ids: Tensor, mask: Tensor, lengths: Sequence[int], shared: int
    ) -> Tensor | None:
        self._grow(module, ids[:1, :shared])
        if not self.works:
            return None
        rows, width = ids.shape
        past = cache_of([(k[:, :, :shared], v[:, :, :shared]) for k, v in self._layers], rows)
        positions = torch.arange(shared, width, device=ids.device).expand(rows, -1)
        ends = [n - 1 - shared for n in lengths]
        columns = sorted(set(ends))
        out = call_accepted(
            module,
            {
                "input_ids": ids[:, shared:],
                "attention_mask": mask,
                "position_ids": positions,
                "past_key_values": past,
                "use_cache": True,
                "logits_to_keep": torch.tensor(columns, device=ids.device),
            },
        )
        logits: Tensor = out.logits
        at = [columns.index(e) for e in ends] if logits.shape[1] == len(columns) else ends
        return logits[torch.arange(rows, device=ids.device), torch.tensor(at, device=ids.device)]

    def _grow(self, module: nn.Module, prefix: Tensor) -> None:
        """Extend the stored prefix to `prefix`, computing only the missing positions."""
        stamp = weight_versions(module)
        prefix_ids = prefix[0].tolist()
        cached = 0
        if stamp == self._stamp:  # weights that were trained or loaded since make the cache worthless
            limit = min(len(prefix_ids), len(self._ids))
            cached = next((i for i in range(limit) if prefix_ids[i] != self._ids[i]), limit)
        if cached == len(prefix_ids):
            return
        past = cache_of([(k[:, :, :cached], v[:, :, :cached]) for k, v in self._layers], 1) if cached else None
        positions = torch.arange(cached, len(prefix_ids), device=prefix.device)[None]
        out = call_accepted(
            module,
            {
                "input_ids": prefix[:, cached:],
                "attention_mask": torch.ones_like(prefix),
                "position_ids": positions,
                "past_key_values": past,
                "use_cache": True,
                "logits_to_keep": 1,
            },
        )
        layers = cache_layers(getattr(out, "past_key_values", None))
        self.works = layers is not None and all(k.shape[2] == len(prefix_ids) for k, _ in layers)
        self._ids, self._layers, self._stamp = (prefix_ids, layers, stamp) if layers and self.works else ([], [], ())


def _common(ids: Tensor, mask: Tensor) -> int:
    """Count the leading positions that are equal and unmasked in every row."""
    same = ((ids == ids[:1]) & (mask == 1)).all(0)
    return int(same.long().cumprod(0).sum())


def _last(logits: Tensor, lengths: Sequence[int]) -> Tensor:
    rows = torch.arange(len(lengths), device=logits.device)
    return logits[rows, torch.tensor([n - 1 for n in lengths], device=logits.device)]


def call_accepted(module: nn.Module, given: Mapping[str, Any]) -> Any:
    """Call the module with the arguments that its signature accepts."""
    accepted = inspect.signature(module.forward).parameters
    return module(**{name: value for name, value in given.items() if name in accepted and value is not None})


def cache_layers(cache: Any) -> list[tuple[Tensor, Tensor]] | None:
    """Keys and values of every layer; None for caches that forget or compress (sliding windows, state spaces)."""
    from transformers.cache_utils import DynamicCache, DynamicLayer

    if type(cache) is not DynamicCache or any(type(layer) is not DynamicLayer for layer in cache.layers):
        return None
    layers: list[Any] = cache.layers
    return [(layer.keys, layer.values) for layer in layers]


def cache_of(layers: Sequence[tuple[Tensor, Tensor]], rows: int) -> Any:
    from transformers.cache_utils import DynamicCache

    return DynamicCache([(k.expand(rows, -1, -1, -1), v.expand(rows, -1, -1, -1)) for k, v in layers])
