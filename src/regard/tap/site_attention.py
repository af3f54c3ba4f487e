"""The attention of one site for one batch: lazy (queries and keys) or dense (weights). Both are `SiteAttention`s."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.errors import CaptureError, InputError, phrase
from regard.records import UNCHECKED, Attention, Site, Text
from regard.tap.dense_weights import fill_weights, fills
from regard.tap.reused_memory import reused_array
from regard.tap.sdpa import CHUNK, SdpaCall, log_sum_exp, scores_of, weights_of

DENSE_BYTES = 4 << 30
"""Maximum bytes of weights of one input to compute at once: 4 GiB."""


@dataclass(slots=True, eq=False)
class Real:
    """Positions that are not padding: (batch, query) and (batch, key) on the CPU; None means all."""

    queries: Tensor | None = None
    keys: Tensor | None = None

    def of_example(self, example: int) -> Real:
        """Return the positions of one example of the batch."""
        here = slice(example, example + 1)
        return Real(*(None if mask is None else mask[here] for mask in (self.queries, self.keys)))

    def hides(self) -> bool:
        """Return whether some position is padding."""
        return any(mask is not None and not bool(mask.all()) for mask in (self.queries, self.keys))


def as_array(weights: Tensor) -> NDArray[np.float32]:
    return np.ascontiguousarray(weights.detach().to("cpu", torch.float32).numpy())


def chosen_rows(example: int, queries: Sequence[int], shape: tuple[int, int, int, int], site: Site) -> list[int]:
    rows = [int(q) for q in queries]
    if not 0 <= example < shape[0] or any(not -shape[2] <= q < shape[2] for q in rows):
        raise InputError(
            phrase("errors.common.rows_live", live=site.key),
            expected=phrase("errors.tap.example_below_and_queries_below", shape=shape[0], shape_2=shape[2]),
            got=phrase("errors.tap.example_queries", example=example, rows=rows[:8]),
        )
    return [q % shape[2] for q in rows]


def blank(weights: NDArray[np.float32], real: Real, example: int | slice, rows: Sequence[int] | slice) -> None:
    """Zero padding in place: weights is (head, row, key) or (batch, head, row, key)."""
    if real.keys is not None:
        keys = ~real.keys[example].numpy()
        np.copyto(weights, np.float32(0.0), where=keys[..., None, None, :])
    if real.queries is not None:
        queries = ~real.queries[example].numpy()[..., rows]
        np.copyto(weights, np.float32(0.0), where=queries[..., None, :, None])


class Shaped(Protocol):
    """Object with a site and a shape."""

    @property
    def site(self) -> Site: ...
    @property
    def shape(self) -> tuple[int, int, int, int]: ...


def attention_text(held: Shaped) -> str:
    """The attention of a site in one line, without its weights."""
    batch, heads, queries, keys = held.shape
    kind = f"{held.site.kind} attention, layer {held.site.layer}"
    return f"{type(held).__name__}({held.site.key!r}: {kind}, {heads} heads, {queries} x {keys}, batch of {batch})"


class _Computed(Shaped, Protocol):
    """Attention whose weights are computed row by row."""

    real: Real

    def weights(self, example: int, rows: Tensor, heads: Tensor | None = None) -> Tensor: ...


def rows_of(
    attention: _Computed, example: int, queries: Sequence[int], heads: Sequence[int] | None
) -> NDArray[np.float32]:
    """(head, query, key) weights of some queries of an example, with padding zeroed."""
    rows = chosen_rows(example, queries, attention.shape, attention.site)
    head_index = None if heads is None else torch.as_tensor(list(heads), dtype=torch.long)
    weights = as_array(attention.weights(example, torch.as_tensor(rows, dtype=torch.long), head_index))
    blank(weights, attention.real, example, rows)
    return weights


@dataclass(slots=True, eq=False)
class LazyAttention:
    """Queries and keys; computes any row, tile or statistic of the weights exactly, on request."""

    site: Site
    call: SdpaCall
    real: Real
    lse: Tensor | None = None
    checked: Text = UNCHECKED

    def __repr__(self) -> str:
        return attention_text(self)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        q = self.call.query.shape
        return q[0], q[1], q[2], self.call.key.shape[2]

    @torch.no_grad()
    def weights(self, example: int, rows: Tensor, heads: Tensor | None = None) -> Tensor:
        """(head, row, key) in float32 or wider, on the device of the queries; padding not zeroed."""
        scores = scores_of(self.call, batch=slice(example, example + 1), heads=heads, rows=rows)
        return weights_of(self.call, scores, heads)[0]

    def rows(self, example: int, queries: Sequence[int], heads: Sequence[int] | None = None) -> NDArray[np.float32]:
        return rows_of(self, example, queries, heads)

    @torch.no_grad()
    def row_maxima(self, example: int, edges: Sequence[int]) -> NDArray[np.float32]:
        """(head, band, key) the largest weight of every key over the rows of each band, edges[i] to edges[i + 1].

        Keys after the rows of causal attention are not computed.
        """
        _, heads, _, keys = self.shape
        out = np.zeros((heads, len(edges) - 1, keys), np.float32)
        last_key = min(keys, edges[-1]) if self.call.causal else keys
        scores = scores_of(
            self.call,
            batch=slice(example, example + 1),
            rows=torch.arange(edges[0], edges[-1]),
            columns=slice(0, last_key),
        )
        weights = weights_of(self.call, scores)[0]
        if self.real.queries is not None:
            hidden = ~self.real.queries[example, edges[0] : edges[-1]].to(weights.device)
            weights = weights.masked_fill(hidden[:, None], 0.0)
        for band, (start, stop) in enumerate(pairwise(edges)):
            out[:, band, :last_key] = as_array(weights[:, start - edges[0] : stop - edges[0]].amax(1))
        if self.real.keys is not None:
            out[..., ~self.real.keys[example].numpy()] = 0.0
        return out

    @torch.no_grad()
    def row_log_sum_exp(self) -> Tensor:
        """(batch, head, query): from the fused kernel if available, else recomputed in chunks of rows."""
        if self.lse is None:
            batch, heads, queries, keys = self.shape
            step = max(1, CHUNK // max(1, heads * keys))
            parts = [
                torch.cat(
                    [
                        log_sum_exp(self.call, scores_of(self.call, batch=slice(b, b + 1), rows=rows))
                        for rows in torch.split(torch.arange(queries), step)
                    ],
                    dim=2,
                )
                for b in range(batch)
            ]
            self.lse = torch.cat(parts)
        return self.lse

    @torch.no_grad()
    def tile(self, example: int, head: int, queries: slice, keys: slice) -> NDArray[np.float32]:
        """(query, key) weights of a rectangle, without computing anything outside it but the row log-sum-exp."""
        rows = torch.arange(self.shape[2])[queries]
        index = torch.tensor([head])
        scores = scores_of(self.call, batch=slice(example, example + 1), heads=index, rows=rows, columns=keys)
        lse = self.row_log_sum_exp()[example, head, queries, None]
        weights = torch.where(torch.isneginf(lse), 0.0, torch.exp(scores[0, 0] - lse))  # a row that sees nothing
        array = as_array(weights)
        if self.real.keys is not None:
            array[:, ~self.real.keys[example, keys].numpy()] = 0.0
        if self.real.queries is not None:
            array[~self.real.queries[example, queries].numpy()] = 0.0
        return array

    def dense(self) -> Attention:
        return self._dense(self.call, range(self.shape[0]), self.real)

    def dense_of(self, example: int) -> Attention:
        """All weights of one example, a batch of one; those of the others are not computed."""
        return self._dense(self.call.of_example(example), range(example, example + 1), self.real.of_example(example))

    def _dense(self, call: SdpaCall, examples: range, real: Real) -> Attention:
        """The weights of these examples; `call` and `real` hold these examples only."""
        _, heads, queries, keys = self.shape
        size = heads * queries * keys * 4
        if size > DENSE_BYTES:
            raise InputError(
                phrase("errors.tap.all_site", site=self.site.key),
                expected=phrase("errors.tap.at_most_gib_weights_for_input", dense_bytes=DENSE_BYTES / 2**30),
                got=f"{size / 2**30:,.1f} GiB",
                remedy=phrase("errors.tap.rows_example_positions_tile"),
            )
        if fills(call):
            whole, weights = reused_array((len(examples), heads, queries, keys))
            unknown = fill_weights(call, whole)
            return record(self.site, weights, None, real, self.checked, unknown=unknown)
        out = np.zeros((len(examples), heads, queries, keys), np.float32)
        step = max(1, CHUNK // max(1, heads * keys))
        for place, b in enumerate(examples):
            for rows in torch.split(torch.arange(queries), step):
                out[place, :, int(rows[0]) : int(rows[-1]) + 1] = as_array(self.weights(b, rows))
        sink = None
        if self.call.sinks is not None:
            sink = np.maximum(0.0, 1.0 - out.sum(-1))
        return record(self.site, out, sink, real, self.checked)


@dataclass(slots=True, eq=False)
class DenseAttention:
    """Weights that the model itself computed, stored by reference: (batch, head, query, key)."""

    site: Site
    held: Tensor
    real: Real
    sink: Tensor | None = None
    checked: Text = UNCHECKED

    def __repr__(self) -> str:
        return attention_text(self)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        b, h, q, k = self.held.shape
        return b, h, q, k

    @torch.no_grad()
    def weights(self, example: int, rows: Tensor, heads: Tensor | None = None) -> Tensor:
        weights = self.held[example][:, rows.to(self.held.device)]
        weights = weights if heads is None else weights[heads.to(weights.device)]
        return weights.float() if weights.dtype in (torch.float16, torch.bfloat16) else weights

    def rows(self, example: int, queries: Sequence[int], heads: Sequence[int] | None = None) -> NDArray[np.float32]:
        return rows_of(self, example, queries, heads)

    def dense(self) -> Attention:
        return self._dense(slice(None), self.real)

    def dense_of(self, example: int) -> Attention:
        """All weights of one example, a batch of one."""
        return self._dense(slice(example, example + 1), self.real.of_example(example))

    def _dense(self, examples: slice, real: Real) -> Attention:
        sink = None if self.sink is None else as_array(self.sink[examples])
        return record(self.site, as_array(self.held[examples]), sink, real, self.checked, shared=True)


def record(
    site: Site,
    weights: NDArray[np.float32],
    sink: NDArray[np.float32] | None,
    real: Real,
    checked: Text,
    *,
    shared: bool = False,
    unknown: bool | None = None,
) -> Attention:
    """Weights as a record: padding and rows in which nothing is visible are 0, NaN is an error.

    `shared`: the array may be the model's own tensor, so that a change needs a copy. `unknown`: whether some weight is
    NaN, if the caller knows.
    """
    if unknown is None:
        unknown = bool(torch.from_numpy(weights).sum(-1).isnan().any())  # sums of rows: no second matrix
    if unknown:
        empty = np.isnan(weights).all(-1, keepdims=True)
        weights, shared = np.where(empty, np.float32(0.0), weights), False
    if shared and real.hides():
        weights = weights.copy()
    blank(weights, real, slice(None), slice(None))
    if sink is not None:
        blank(sink[..., None], Real(real.queries), slice(None), slice(None))
    if unknown and np.isnan(weights).any():
        raise CaptureError(
            phrase("errors.common.attention_site", site=site.key),
            expected=phrase("errors.tap.weights_that_numbers"),
            got=phrase("errors.tap.nan_weights", weights=int(np.isnan(weights).sum())),
            remedy=phrase("errors.tap.look_for_nan_in_model"),
        )
    return Attention(site, weights, sink, checked)
