"""Axes of a softmax output: from any layout to (batch, head, query, key) and back."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

Step = tuple[Callable[..., Any], tuple[Any, ...], Mapping[str, Any], int | None]
"""One rearrangement: function, its arguments after the tensor, keywords, and the index of the output."""

_PROBE_LIMIT = 1 << 24


@dataclass(frozen=True, slots=True)
class Layout:
    """Roles of the axes of a weights tensor: "b" batch, "h" head, "q" query, "k" key, "x" a stray axis of size 1.

    `first`, `last`: key columns at either end that are not part of the weighted sum (sinks). `heads`: number of heads
    folded into the batch axis.

    >>> w = torch.rand(2, 5, 1)
    >>> Layout(("b", "k", "x")).canonical(w).shape
    torch.Size([2, 1, 1, 5])
    >>> Layout(("b", "q", "k"), heads=3).canonical(torch.rand(6, 4, 5)).shape
    torch.Size([2, 3, 4, 5])
    """

    roles: tuple[str, ...]
    heads: int = 1
    first: int = 0
    last: int = 0

    def _order(self) -> list[int]:
        return sorted(range(len(self.roles)), key=lambda i: ("bhxqk".index(self.roles[i]), i))

    def _sizes(self, shape: Sequence[int]) -> tuple[int, int, int, int]:
        def total(role: str) -> int:
            return math.prod(s for s, r in zip(shape, self.roles, strict=True) if r == role)

        batch, heads = total("b"), total("h") * total("x")
        if "h" not in self.roles and self.heads > 1:
            batch, heads = batch // self.heads, self.heads * heads
        return batch, heads, total("q"), total("k")

    def full(self, weights: Tensor) -> Tensor:
        """(batch, head, query, key) with all key columns, sinks too."""
        return weights.permute(self._order()).reshape(self._sizes(weights.shape))

    def canonical(self, weights: Tensor) -> Tensor:
        """(batch, head, query, key), a view where that is possible."""
        full = self.full(weights)
        return full[..., self.first : full.shape[-1] - self.last] if self.first or self.last else full

    def restore(self, full: Tensor, like: Tensor) -> Tensor:
        """The inverse of `full`."""
        order = self._order()
        ordered = full.reshape([like.shape[i] for i in order])
        back = [order.index(i) for i in range(len(order))]
        return ordered.permute(back)


def replay(tensor: Tensor, steps: Sequence[Step]) -> Tensor:
    """Apply the same rearrangements to another tensor."""
    for function, args, keywords, pick in steps:
        out = function(tensor, *args, **keywords)
        tensor = out if pick is None else out[pick]
    return tensor


def covered(shape: Sequence[int], steps: Sequence[Step], axis: int) -> dict[int, tuple[int, int]] | None:
    """Along `axis` of the rearrangement of a tensor of `shape`: the range of its index on each original axis.

    None if unknown (too big to follow, and rearranged).
    """
    if not steps:
        return {i: (0, size - 1 if i == axis % len(shape) else 0) for i, size in enumerate(shape)}
    count = math.prod(shape)
    if count > _PROBE_LIMIT or count == 0:
        return None
    index = replay(torch.arange(count).reshape(tuple(shape)), steps)
    if any(is_padding(step) for step in steps):
        return _covered_in_band(index, shape, axis)
    line = index.movedim(axis, -1).reshape(-1, index.shape[axis])[0]
    places = torch.unravel_index(line, tuple(shape))
    return {i: (int(place.min()), int(place.max())) for i, place in enumerate(places)}


def is_padding(step: Step) -> bool:
    return getattr(step[0], "__name__", "") == "pad"


def _covered_in_band(index: Tensor, shape: Sequence[int], axis: int) -> dict[int, tuple[int, int]]:
    """The same where padding shears a band of weights into blocks: 0 is padding, and every line may start elsewhere."""
    lines = index.movedim(axis, -1).reshape(-1, index.shape[axis])
    covered = {}
    for i, place in enumerate(torch.unravel_index(lines, tuple(shape))):
        low = place.masked_fill(lines == 0, shape[i]).amin(-1)
        high = place.masked_fill(lines == 0, -1).amax(-1)
        width = int((high - low).clamp(min=0).max())
        covered[i] = (0, shape[i] - 1) if width else (0, 0)
    return covered


def find_layout(
    shape: Sequence[int], softmax_axis: int, steps: Sequence[Step], roles: Mapping[int, str], ndim: int
) -> Layout | None:
    """Find the layout of a softmax output from the use of its rearrangement.

    roles: axis of the consumed tensor -> "k" (summed over), "q" (only in the weights), "b" (shared with the values).
    None if the sum does not run over the axis the softmax ran over.
    """
    softmax_axis %= len(shape)
    own: list[str | None] = [None] * len(shape)
    first = last = 0
    banded = any(is_padding(step) for step in steps)
    for axis in sorted(range(ndim), key=lambda a: roles.get(a) == "q"):
        role = roles.get(axis)
        if role is None:
            continue
        ranges = covered(shape, steps, axis)
        if ranges is None:
            return _standard(shape, softmax_axis)
        varying = {i for i, (low, high) in ranges.items() if high > low}
        if role == "k":
            if varying - {softmax_axis} or (not varying and shape[softmax_axis] > 2):
                return None
            low, high = ranges[softmax_axis]
            first, last = low, shape[softmax_axis] - 1 - high
        else:
            for i in varying - ({softmax_axis} if banded else set()):
                own[i] = role
    if own[softmax_axis] is not None:
        return None
    own[softmax_axis] = "k"
    return Layout(_filled(own, softmax_axis, shape), 1, first, last)


def _standard(shape: Sequence[int], softmax_axis: int) -> Layout | None:
    bare: list[str | None] = [None] * len(shape)
    bare[softmax_axis] = "k"
    return Layout(_filled(bare, softmax_axis, shape))


def _filled(own: list[str | None], key: int, shape: Sequence[int]) -> tuple[str, ...]:
    """Name axes of size 1 by their position."""
    shared = [i for i, r in enumerate(own) if r == "b"]
    for i in shared[1:]:
        own[i] = "h"
    if shared and shared[0] > 0 and own[0] is None:
        own[shared[0]], own[0] = "h", "b"
    if key > 1 and own[key - 1] is None and "q" not in own:
        own[key - 1] = "q"
    if "b" not in own and None in own and own.index(None) < key:
        own[own.index(None)] = "b"
    if "b" not in own and "q" in own and len(own) > 2 and own.count("q") > 1:
        own[own.index("q")] = "b"
    for i in _heads_of_one_value(own, key, shape):
        own[i] = "h"
    return tuple(r or ("x" if i > key else "h") for i, r in enumerate(own))


def _heads_of_one_value(own: Sequence[str | None], key: int, shape: Sequence[int]) -> list[int]:
    """Multi-query attention: heads share one set of values, so their axis looks like a second query axis.

    Queries on a grid (rows and columns of an image over all its places) remain queries.
    """
    asking = [i for i, r in enumerate(own) if r == "q"]
    if len(asking) < 2 or math.prod(shape[i] for i in asking) == shape[key]:
        return []
    query = max(asking, key=lambda i: (shape[i] == shape[key], -abs(i - key)))
    return [i for i in asking if i != query]
