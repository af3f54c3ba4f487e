"""All rows of one causal attention, in chunks of rows: block sums and maxima, and exact tiles."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from regard.errors import InputError, phrase
from regard.records import Site
from regard.tap.site_attention import as_array

ROWS = 128
"""Rows of one chunk."""


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """Weights of every head pooled over blocks: sums and maxima (head, block row, block column).

    every: only each `every`-th row was computed. deviation: standard error of each sum (zeros if all rows were
    computed); maxima cover the computed rows only.
    """

    block: int
    positions: int
    sums: NDArray[np.float32]
    maxima: NDArray[np.float32]
    every: int = 1
    deviation: NDArray[np.float32] | None = None


@dataclass(slots=True, eq=False)
class WholeAttention:
    """Queries and keys of one site for one input: query (head, position, feature), key (key head, position, feature).

    window: number of positions that a row sees, itself included; None: all before it.
    """

    site: Site
    query: Tensor
    key: Tensor
    scale: float
    softcap: float | None = None
    sinks: Tensor | None = None
    window: int | None = None

    @property
    def positions(self) -> int:
        return int(self.query.shape[1])

    @property
    def heads(self) -> int:
        return int(self.query.shape[0])

    @torch.no_grad()
    def weights(self, rows: Tensor, first: int, stop: int, group: int) -> Tensor:
        """Weights of some rows for the heads of one key head: (head, row, column from `first` to `stop`).

        first, stop must hold every column that these rows see.
        """
        size = self.query.shape[0] // self.key.shape[0]
        query = self.query[group * size : (group + 1) * size, rows].float()
        key = self.key[group, first:stop].float()
        scores = torch.matmul((query * self.scale).reshape(-1, query.shape[-1]), key.T).view(size, len(rows), -1)
        if self.softcap:
            scores = torch.tanh(scores / self.softcap) * self.softcap
        columns = torch.arange(first, stop, device=rows.device)
        later = max(0, int(rows[0]) + 1 - first)
        hidden = columns[later:] > rows[:, None]
        scores[..., later:].masked_fill_(hidden, -math.inf)
        if self.window is not None:
            early = max(0, int(rows[-1]) - self.window + 1 - first)
            scores[..., :early].masked_fill_(columns[:early] <= rows[:, None] - self.window, -math.inf)
        if self.sinks is None:
            return torch.softmax(scores, -1, out=scores)
        sinks = self.sinks.float()[group * size : (group + 1) * size, None, None].expand(-1, len(rows), 1)
        return torch.softmax(torch.cat([scores, sinks], -1), -1)[..., :-1]

    def _first(self, row: int) -> int:
        return 0 if self.window is None else max(0, row - self.window + 1)

    def rows(self, positions: list[int]) -> NDArray[np.float32]:
        """(head, row, key) of some rows."""
        out = np.zeros((self.heads, len(positions), self.positions), np.float32)
        size = self.heads // self.key.shape[0]
        for at, row in enumerate(positions):
            first = self._first(row)
            index = torch.tensor([row], device=self.query.device)
            for group in range(self.key.shape[0]):
                weights = self.weights(index, first, row + 1, group)
                out[group * size : (group + 1) * size, at, first : row + 1] = as_array(weights[:, 0])
        return out

    def tile(self, head: int, rows: slice, columns: slice) -> NDArray[np.float32]:
        """(row, column) exact weights of a rectangle of one head."""
        if not 0 <= head < self.heads:
            raise InputError(
                phrase("errors.common.head_heads", heads=head),
                expected=phrase("errors.tap.head_in_range", heads=self.heads - 1),
                got=str(head),
            )
        wanted = range(self.positions)[rows]
        left, right, _ = columns.indices(self.positions)
        size = self.heads // self.key.shape[0]
        group, own = divmod(head, size)
        out = np.zeros((len(wanted), max(0, right - left)), np.float32)
        for start in range(0, len(wanted), ROWS):
            index = torch.tensor(list(wanted[start : start + ROWS]), device=self.query.device)
            first, stop = self._first(int(index[0])), int(index[-1]) + 1
            weights = as_array(self.weights(index, first, stop, group)[own])
            low, high = max(left, first), min(right, stop)
            if low < high:
                out[start : start + len(index), low - left : high - left] = weights[:, low - first : high - first]
        return out

    @torch.no_grad()
    def blocks(self, block: int, *, every: int = 1) -> Blocks:
        """Pool the weights over blocks of `block` x `block` positions; columns after a row are not computed.

        block: a power of two. every: compute only each `every`-th row, and scale the sums.
        """
        if block < 1 or block & (block - 1) or every < 1 or every & (every - 1) or every > block:
            raise InputError(
                "blocks",
                expected=phrase("errors.tap.powers_two_every_at_most"),
                got=phrase("errors.tap.block_every", block=block, every=every),
            )
        n, count = self.positions, -(-self.positions // block)
        sums, maxima, squares = (torch.zeros(self.heads, count, count, device=self.query.device) for _ in range(3))
        size = self.heads // self.key.shape[0]
        for start in range(0, n, ROWS * every):
            stop = min(n, start + ROWS * every)
            sampled = list(range(start + every // 2, stop, every))
            if not sampled or sampled[-1] // block < (stop - 1) // block:  # a last block of fewer rows than a step
                sampled.append(stop - 1)
            rows = torch.tensor(sampled, device=self.query.device)
            first = self._first(start) // block * block
            end = min(n, -(-stop // block) * block)
            columns = slice(first // block, -(-end // block))
            owner = rows // block
            for group in range(self.key.shape[0]):
                heads = slice(group * size, (group + 1) * size)
                weights = self.weights(rows, first, end, group)
                if weights.shape[-1] % block:
                    weights = F.pad(weights, (0, -weights.shape[-1] % block))
                self._pool(weights, block, owner, (sums, maxima, squares), (heads, columns), every)
        return self._pooled(block, every, sums, maxima, squares)

    def _pool(
        self,
        weights: Tensor,
        block: int,
        owner: Tensor,
        pools: tuple[Tensor, Tensor, Tensor],
        place: tuple[slice, slice],
        every: int,
    ) -> None:
        """Add one chunk of rows to its blocks."""
        sums, maxima, squares = pools
        heads, columns = place
        per_block = min(block // every, len(owner))
        for begin in range(0, len(owner), per_block):
            row = int(owner[begin])
            part = weights[:, begin : begin + per_block]
            if every > 1:
                each = _cut(part, block).sum(-1)
                squares[heads, row, columns] += each.square().sum(1)
                sums[heads, row, columns] += each.sum(1)
            else:
                sums[heads, row, columns] += _cut(part.sum(1), block).sum(-1)
            largest = _cut(part.amax(1), block).amax(-1)
            maxima[heads, row, columns] = torch.maximum(maxima[heads, row, columns], largest)

    def _pooled(self, block: int, every: int, sums: Tensor, maxima: Tensor, squares: Tensor) -> Blocks:
        if every == 1:
            return Blocks(block, self.positions, as_array(sums), as_array(maxima))
        count = sums.shape[1]
        rows = torch.full((count,), float(block), device=sums.device)
        rows[-1] = self.positions - (count - 1) * block
        taken = torch.div(rows + every // 2 - 1, every, rounding_mode="floor").clamp(min=1.0)
        shape = (1, -1, 1)
        factor = (rows / taken).view(shape)
        mean = sums / taken.view(shape)
        variance = (squares / taken.view(shape) - mean.square()).clamp(min=0) * (taken / (taken - 1).clamp(min=1)).view(
            shape
        )
        error = rows.view(shape) * torch.sqrt(variance / taken.view(shape) * (1 - taken / rows).view(shape))
        return Blocks(block, self.positions, as_array(sums * factor), as_array(maxima), every, as_array(error))


def _cut(values: Tensor, block: int) -> Tensor:
    """(..., column) -> (..., block, column in it)."""
    return values.reshape(*values.shape[:-1], -1, block)
