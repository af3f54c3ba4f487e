"""Contribution of each key to each position, from the decomposition of a site."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.errors import InputError, Unsupported, phrase
from regard.measures.contributions import part_distances, part_norms, shares, through_norm
from regard.protocols import Norm, Parts
from regard.records import Floats

Array = NDArray[np.floating]


class _Seen(NamedTuple):
    """Contributions after some normalizations, each query divided by their spread."""

    weights: Array
    values: Array
    own: Array
    whole: Array


def _behind(parts: Parts, norms: Sequence[Norm]) -> _Seen:
    values, own, whole = parts.values, parts.own, np.asarray(parts.whole, np.float64)
    spread = np.ones(len(own))
    for norm in norms:
        values, own = (through_norm(v, norm.scale, centred=norm.centred) for v in (values, own))
        whole = through_norm(whole, norm.scale, centred=norm.centred) / norm.spread[:, None] + norm.shift
        spread = spread * norm.spread
    narrow = spread.astype(np.float32)
    return _Seen(parts.weights / narrow[:, None], values, own / narrow[:, None], whole)


def one_head(parts: Parts, heads: str | int) -> tuple[Array, Array]:
    """Return (weights, values) of all heads, or of one."""
    if heads == "all":
        return parts.weights, parts.values
    if not isinstance(heads, int) or not 0 <= heads < len(parts.weights):
        raise InputError(
            "heads", expected=phrase("errors.explainers.all_or", n=len(parts.weights) - 1), got=repr(heads)
        )
    return parts.weights[heads : heads + 1], parts.values[heads : heads + 1]


def norm_matrix(parts: Parts, method: str, *, norms: int | None = 1) -> Floats:
    """Return (query, key) norms of contributions with the residual, after `norms` normalizations (None: all)."""
    normed = _behind(parts, parts.norms[:norms])
    return part_norms(normed.weights, normed.values, _kept(parts, normed, method))


def alti_matrix(parts: Parts, method: str) -> Floats:
    """Return (query, key) shares: how much closer in L1 each contribution brings the position to its output."""
    normed = _behind(parts, parts.norms[:1])
    distance = part_distances(normed.weights, normed.values, normed.whole, _kept(parts, normed, method))
    return shares(np.maximum(0.0, np.abs(normed.whole).sum(-1, keepdims=True) - distance))


def mixing_ratio(parts: Parts, method: str, rows: Sequence[int]) -> float:
    """Return the mixing ratio ||others|| / (||others|| + ||own part||), mean over rows.

    NaN where queries are not keys. (Kobayashi et al. 2021.)
    """
    normed = _behind(parts, parts.norms[:1])
    own = _kept(parts, normed, method)
    if own is None:
        return float("nan")
    place = np.asarray(rows)
    a = np.moveaxis(normed.weights[:, place], 0, -1)  # (row, key, head)
    own_attention = (a[np.arange(len(place)), place][:, None] @ normed.values[:, place].swapaxes(0, 1))[:, 0]
    mixed = np.einsum("hrk,hkd->rd", normed.weights[:, place], normed.values) - own_attention
    others, preserved = np.linalg.norm(mixed, axis=-1), np.linalg.norm(own_attention + own[place], axis=-1)
    return float(np.mean(others / np.maximum(others + preserved, 1e-12)))


def _kept(parts: Parts, seen: _Seen, method: str) -> Array | None:
    """Return each position's contribution to itself; None if queries are not keys (cross-attention, pooling)."""
    if parts.site.kind in ("cross", "pooling"):
        return None
    if not parts.own.any():
        raise Unsupported(
            phrase("errors.common.at_method", method=method, site=parts.site.key),
            expected=phrase("errors.explainers.residual_stream_that_attention"),
            got=phrase("errors.explainers.no_residual_stream_before"),
            remedy="value_norms",
        )
    return seen.own
