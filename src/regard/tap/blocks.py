"""Attention computed in pieces: the position of each piece among all the positions of its example.

Swin cuts a picture into (shifted) windows, PatchTST a series into channels, LongT5 a text into blocks; Longformer keeps
a band around the diagonal.
Their weights are sound, but rows and columns of a piece are not positions. One row of `PIECES` for each way of cutting
says which they are; from there on such a site is like any other: (batch, head, query, key).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from regard.records import SiteKind


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """Places of the weights of all pieces, example after example; -1 is outside.

    query_at: (piece, query), key_at: (piece, query, key), or (piece, 1, key) where all queries of a piece see the same.
    real: (batch, position), True where a position is not padding. leaks: weight may fall outside (a padded picture).

    >>> halves = Pieces(1, 4, torch.tensor([[0, 1], [2, 3]]), torch.tensor([[[0, 1]], [[2, 3]]]))
    >>> halves.spread(torch.full((2, 1, 2, 2), 0.5))[0, 0]
    tensor([[0.5000, 0.5000, 0.0000, 0.0000],
            [0.5000, 0.5000, 0.0000, 0.0000],
            [0.0000, 0.0000, 0.5000, 0.5000],
            [0.0000, 0.0000, 0.5000, 0.5000]])
    """

    batch: int
    positions: int
    query_at: Tensor
    key_at: Tensor
    kind: SiteKind = "windowed"
    real: Tensor | None = None
    leaks: bool = False

    def _index(self) -> Tensor:
        """(piece, query, key) places in a flat (query, key) matrix; the last place of all is outside."""
        outside = self.positions * self.positions
        index = self.query_at[..., None] * self.positions + self.key_at
        return index.masked_fill((self.query_at[..., None] < 0) | (self.key_at < 0), outside)

    def _flat(self, pieces: Tensor) -> tuple[Tensor, Tensor]:
        """Index and weights, both (batch, head, all places of an example)."""
        heads = pieces.shape[1]
        index = self._index().reshape(self.batch, 1, -1).expand(-1, heads, -1).to(pieces.device)
        parts = pieces.reshape(self.batch, -1, *pieces.shape[1:]).transpose(1, 2)
        return index, parts.reshape(self.batch, heads, -1)

    def spread(self, pieces: Tensor, fill: float = 0.0) -> Tensor:
        """(piece, head, query, key) -> (batch, head, position, position)."""
        index, flat = self._flat(pieces)
        size = self.positions * self.positions
        out = flat.new_full((self.batch, flat.shape[1], size + 1), fill).scatter(-1, index, flat)
        return out[..., :size].reshape(*out.shape[:2], self.positions, self.positions)

    def cut(self, whole: Tensor, like: Tensor) -> Tensor:
        """The inverse of `spread`; places outside keep what `like` has there."""
        index, flat = self._flat(like)
        size = self.positions * self.positions
        inside = index < size
        values = torch.where(inside, whole.flatten(2).gather(-1, index.clamp(max=size - 1)), flat)
        per = like.shape[0] // self.batch
        parts = values.reshape(self.batch, like.shape[1], per, *like.shape[2:]).transpose(1, 2)
        return parts.reshape(like.shape)

    def found(self) -> tuple[Tensor, Tensor]:
        """(batch, position): the piece that has a position as a query, and its row there; -1 for none."""
        per = self.query_at.shape[0] // self.batch
        piece = torch.full((self.batch, self.positions + 1), -1)
        row = torch.full((self.batch, self.positions + 1), -1)
        at = self.query_at.masked_fill(self.query_at < 0, self.positions).reshape(self.batch, -1)
        rows = self.query_at.shape[1]
        every = torch.arange(per * rows).expand(self.batch, -1)
        piece.scatter_(1, at, every // rows + torch.arange(self.batch)[:, None] * per)
        row.scatter_(1, at, every % rows)
        return piece[:, :-1], row[:, :-1]


Cutting = Callable[[nn.Module, Mapping[str, Any], int], Pieces | None]
"""(module, arguments of its call, number of earlier attentions of this call) -> places of its pieces."""


def _number(module: nn.Module, name: str) -> int:
    value: Any = getattr(module, name)
    return int(value)


def _windows(module: nn.Module, given: Mapping[str, Any], nth: int) -> Pieces:
    """Windows of a picture, rolled by `shift_size` in every second block; the picture is padded to whole windows."""
    (height, width), batch = given["input_dimensions"], given["hidden_states"].shape[0]
    size, shift = _number(module, "window_size"), _number(module, "shift_size")
    right, below = -width % size, -height % size
    grid = torch.arange(height * width).reshape(height, width)
    grid = nn.functional.pad(grid, (0, right, 0, below), value=-1)
    if shift > 0:
        grid = grid.roll((-shift, -shift), (0, 1))
    down, across = grid.shape[0] // size, grid.shape[1] // size
    tiles = grid.reshape(down, size, across, size).transpose(1, 2).reshape(-1, size * size)
    tiles = tiles.repeat(batch, 1)
    return Pieces(batch, height * width, tiles, tiles[:, None], leaks=bool(right or below))


def _blocks(module: nn.Module, given: Mapping[str, Any], nth: int) -> Pieces:
    """Blocks of a text: the queries of a block see their own block and the one on either side."""
    batch, n = given["hidden_states"].shape[:2]
    size = _number(module, "block_len")
    start = torch.arange(0, n, size)[:, None]
    queries, keys = start + torch.arange(size), start + torch.arange(-size, 2 * size)
    queries = queries.masked_fill(queries >= n, -1).repeat(batch, 1)
    keys = keys.masked_fill((keys < 0) | (keys >= n), -1).repeat(batch, 1)
    return Pieces(batch, n, queries, keys[:, None])


def _band(module: nn.Module, given: Mapping[str, Any], nth: int) -> Pieces:
    """A band around the diagonal after the columns of the global tokens; then the rows of the global tokens."""
    batch, n = given["hidden_states"].shape[:2]
    masked, global_index = given.get("is_index_masked"), given.get("is_index_global_attn")
    real = None if masked is None else ~masked.cpu()
    far = torch.zeros(batch, n, dtype=torch.bool) if global_index is None else global_index.cpu()
    most = int(far.sum(1).max())
    place = torch.arange(n).expand(batch, n)
    # the places of the global tokens of each example in order, -1 where it has fewer than another
    everywhere = torch.where(far, place, n).sort(1).values[:, :most]
    everywhere = everywhere.masked_fill(everywhere == n, -1)
    if nth:
        return Pieces(batch=batch, positions=n, query_at=everywhere, key_at=place[:, None], kind="self", real=real)
    side = _number(module, "one_sided_attn_window_size")
    near = torch.arange(n)[:, None] + torch.arange(-side, side + 1)
    near = near.masked_fill((near < 0) | (near >= n), -1).expand(batch, -1, -1)
    hidden = far.gather(1, near.clamp(min=0).flatten(1)).reshape(near.shape)
    keys = torch.cat([everywhere[:, None].expand(-1, n, -1), near.masked_fill(hidden, -1)], -1)
    return Pieces(
        batch=batch, positions=n, query_at=place.masked_fill(far, -1), key_at=keys, kind="windowed", real=real
    )


def _channels(module: nn.Module, given: Mapping[str, Any], nth: int) -> Pieces:
    """Patches of several channels, channel after channel: first along time, then (where asked for) across channels."""
    batch, channels, patches = given["hidden_state"].shape[:3]
    grid = torch.arange(channels * patches).reshape(channels, patches)
    lines = (grid.T if nth else grid).repeat(batch, 1)
    return Pieces(batch, channels * patches, lines, lines[:, None])


PIECES: Mapping[str, Cutting] = {
    "SwinLayer": _windows,
    "Swinv2Layer": _windows,
    "Swin2SRLayer": _windows,
    "DonutSwinLayer": _windows,
    "MaskFormerSwinLayer": _windows,
    "ClapAudioLayer": _windows,
    "PatchTSTEncoderLayer": _channels,
    "LongT5LocalAttention": _blocks,
    "LongformerSelfAttention": _band,
    "LEDEncoderSelfAttention": _band,
}
"""Class of the module that cuts -> its cutting function."""


def pieces_of(module: nn.Module, args: tuple[Any, ...], keywords: Mapping[str, Any], nth: int) -> Pieces | None:
    """Return the places of the pieces of the current attention inside `module`; None if it cuts nothing."""
    cutting = PIECES.get(type(module).__name__)
    if cutting is None:
        return None
    # the class's own signature: an instance may carry a wrapped forward
    arguments = inspect.signature(type(module).forward).bind(module, *args, **keywords).arguments
    return cutting(module, arguments, nth)
