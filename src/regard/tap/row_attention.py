"""Some rows of a site's attention: their queries, their mask, and the keys; weights on demand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.errors import InputError, Unsupported, phrase
from regard.records import UNCHECKED, Attention, Site, Text
from regard.tap.sdpa import SdpaCall, chunked, scores_of, weights_of
from regard.tap.site_attention import as_array, attention_text


@dataclass(slots=True, eq=False)
class Keys:
    """The keys of a site, by position.

    A cache that keeps every position returns all of them at each step, so only its newest tensor is referenced. A
    sliding window drops positions, so the keys that selected rows see are copied in time.
    """

    pieces: list[tuple[int, Tensor]] = field(default_factory=list)

    @property
    def stop(self) -> int:
        """The position after the last key."""
        return self.pieces[-1][0] + self.pieces[-1][1].shape[2] if self.pieces else 0

    def refer(self, keys: Tensor) -> None:
        """Reference a tensor that holds every key from position 0 on."""
        self.pieces = [(0, keys)]

    def copy(self, start: int, keys: Tensor) -> None:
        """Copy the keys of positions from `start` on that are not stored yet."""
        known = max(self.stop, start) if self.pieces else start
        if known < start + keys.shape[2]:
            self.pieces.append((known, keys[:, :, known - start :].clone()))

    def own(self, columns: int) -> None:
        """Copy the first columns of borrowed keys, because their owner will overwrite them."""
        self.pieces = [(start, keys[:, :, : columns - start].clone()) for start, keys in self.pieces]

    def between(self, start: int, stop: int) -> Tensor:
        """Return the keys of positions start to stop: (batch, key head, position, feature)."""
        parts = [
            keys[:, :, max(0, start - first) : stop - first]
            for first, keys in self.pieces
            if first < stop and start < first + keys.shape[2]
        ]
        return parts[0] if len(parts) == 1 else torch.cat(parts, 2)

    @property
    def bytes(self) -> int:
        """Memory of all pieces, copied or referenced."""
        return sum(keys.numel() * keys.element_size() for _, keys in self.pieces)


@dataclass(slots=True, eq=False)
class RowPart:
    """Rows that one call computed.

    rows: their positions. stored: their queries (batch, head, row, feature), or a block of many, with this part `at` a
    place of it. start, stop: the positions of the columns that they could see. mask (batch or 1, head or 1, row,
    column): bool (True may be attended to) or additive; None: everything.
    """

    rows: list[int]
    stored: Tensor
    start: int
    stop: int
    mask: Tensor | None = None
    at: int | None = None

    @property
    def query(self) -> Tensor:
        """(batch, head, row, feature)."""
        return self.stored if self.at is None else self.stored[self.at]


@dataclass(slots=True, eq=False)
class QueryBlocks:
    """Queries of single rows, side by side in blocks.

    A growing cache frees and allocates a large tensor at every step. Small tensors between them would fragment the
    memory, which would grow by the size of the cache in a long generation.
    """

    size: int
    _block: Tensor | None = None
    _used: int = 0

    def store(self, query: Tensor) -> tuple[Tensor, int]:
        """Copy a query (batch, head, 1, feature); return the block and its place."""
        block = self._block
        if block is None or self._used == self.size or block.shape[1:] != query.shape or block.dtype != query.dtype:
            block = self._block = query.new_empty((self.size, *query.shape))
            self._used = 0
        block[self._used].copy_(query)
        self._used += 1
        return block, self._used - 1


@dataclass(slots=True, eq=False)
class RowAttention:
    """Some rows of one site, as a `SiteAttention`: `positions` lists them; any other row raises an error.

    queries: how many rows the site computed. Rows are numbered by position, negative ones from the end.
    """

    site: Site
    keys: Keys
    queries: int = 0
    columns: int = 0
    scale: float | None = None
    softcap: float | None = None
    sinks: Tensor | None = None
    parts: list[RowPart] = field(default_factory=list)
    checked: Text = UNCHECKED

    def __repr__(self) -> str:
        return attention_text(self)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        query = self.parts[0].query
        return query.shape[0], query.shape[1], self.queries, self.columns

    @property
    def positions(self) -> list[int]:
        """Captured rows, in order."""
        return sorted(row for part in self.parts for row in part.rows)

    @property
    def held_bytes(self) -> int:
        """Memory of queries and masks; the keys belong to the cache."""
        return sum(
            tensor.numel() * tensor.element_size()
            for part in self.parts
            for tensor in (part.query, part.mask)
            if tensor is not None
        )

    @torch.no_grad()
    def weights(self, example: int, rows: Tensor, heads: Tensor | None = None) -> Tensor:
        """(head, row, key) in float32 or wider, on the device of the queries."""
        place = {row: (number, at) for number, part in enumerate(self.parts) for at, row in enumerate(part.rows)}
        wanted = [place[int(row)] for row in rows]
        n_heads = self.shape[1] if heads is None else len(heads)
        dtype = self.parts[0].query.dtype
        wide = torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype
        out = torch.zeros((n_heads, len(wanted), self.columns), dtype=wide, device=self.parts[0].query.device)
        for number in dict.fromkeys(number for number, _ in wanted):
            part = self.parts[number]
            to = [i for i, (own_part, _) in enumerate(wanted) if own_part == number]
            call = self._call(part)
            scores = scores_of(
                call, batch=slice(example, example + 1), heads=heads, rows=torch.tensor([wanted[i][1] for i in to])
            )
            out[:, to, part.start : part.stop] = weights_of(call, scores, heads)[0].to(wide)
        return out

    def rows(self, example: int, queries: Sequence[int], heads: Sequence[int] | None = None) -> NDArray[np.float32]:
        """(head, row, key) weights of some of the captured rows."""
        known = set(self.positions)
        wanted = [int(q) + (self.queries if int(q) < 0 else 0) for q in queries]
        if not 0 <= example < self.shape[0] or not known.issuperset(wanted):
            raise InputError(
                phrase("errors.common.rows_live", live=self.site.key),
                expected=phrase(
                    "errors.tap.example_below_and_captured_rows", shape=self.shape[0], known=_ranges(sorted(known))
                ),
                got=phrase(
                    "errors.tap.example_rows",
                    example=example,
                    wanted=_ranges(sorted(set(wanted) - known)) or "captured",
                ),
                remedy=phrase("errors.tap.name_these_rows_in_rows"),
            )
        index = None if heads is None else torch.as_tensor(list(heads), dtype=torch.long)
        return as_array(self.weights(example, torch.as_tensor(wanted, dtype=torch.long), index))

    def dense(self) -> Attention:
        """Refuse, unless every row was captured."""
        if self.positions != list(range(self.queries)):
            raise Unsupported(
                phrase("errors.tap.all_site", site=self.site.key),
                expected=phrase("errors.tap.capture_every_row"),
                got=phrase("errors.tap.capture_rows", n=len(self.positions), queries=self.queries),
                remedy="rows(example, positions)",
            )
        batch = self.shape[0]
        weights = np.stack([self.rows(b, range(self.queries)) for b in range(batch)])
        sink = None if self.sinks is None else np.maximum(0.0, 1.0 - weights.sum(-1))
        return Attention(self.site, weights, sink, self.checked)

    def _call(self, part: RowPart) -> SdpaCall:
        keys = self.keys.between(part.start, part.stop)
        return SdpaCall(
            function=chunked,
            args=(),
            keywords={},
            query=part.query,
            key=keys,
            value=keys,
            mask=part.mask,
            scale=self.scale,
            softcap=self.softcap,
            sinks=self.sinks,
        )


def _ranges(rows: Sequence[int]) -> str:
    """Write numbers in order as ranges.

    >>> _ranges([1, 2, 3, 7])
    '1-3, 7'
    """
    spans: list[list[int]] = []
    for row in rows:
        if spans and row == spans[-1][1] + 1:
            spans[-1][1] = row
        else:
            spans.append([row, row])
    shown = [str(a) if a == b else f"{a}-{b}" for a, b in spans[:6]]
    return ", ".join(shown) + (" ..." if len(spans) > 6 else "")
