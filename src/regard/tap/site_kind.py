"""Kind of attention of a site, derived from its computation rather than from names."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.records import SiteKind
from regard.tap.sdpa import SdpaCall
from regard.tap.tensor_facts import Mark

_PATTERN_LIMIT = 1 << 26


def pattern_of_call(call: SdpaCall) -> Tensor | None:
    """(batch, query, key) bool of visible keys, over all heads; None if everything is visible."""
    batch, queries, keys = call.query.shape[0], call.query.shape[2], call.key.shape[2]
    if queries * keys > _PATTERN_LIMIT:
        return None
    if call.causal:
        return torch.ones(1, queries, keys, dtype=torch.bool).tril()
    if call.mask_mod is not None:
        place = [torch.arange(n) for n in (batch, call.query.shape[1], queries, keys)]
        b, h, q, k = torch.meshgrid(place[0], place[1][:1], place[2], place[3], indexing="ij")
        device = call.query.device
        allowed = call.mask_mod(b.to(device), h.to(device), q.to(device), k.to(device))
        return allowed.expand(b.shape).cpu()[:, 0]
    if call.mask is None:
        return None
    mask = call.mask
    while mask.ndim < 4:
        mask = mask[None]
    if mask.dtype != torch.bool:
        mask = mask > torch.finfo(mask.dtype).min / 2
    return mask.any(1).expand(-1, queries, keys).cpu()


def pattern_of_weights(weights: Tensor) -> Tensor | None:
    """Return (batch, query, key) bool: True if any head has weight; weights is (batch, head, query, key)."""
    if weights.shape[2] * weights.shape[3] > _PATTERN_LIMIT:
        return None
    return (weights.detach() != 0).any(1).cpu()


def shape_of_pattern(pattern: Tensor | None) -> SiteKind | None:
    """Return "causal", "windowed" or None, from the permitted keys.

    >>> shape_of_pattern(torch.ones(1, 4, 4).tril().bool())
    'causal'
    >>> shape_of_pattern(torch.ones(1, 6, 6).tril().triu(-2).bool())
    'windowed'
    """
    if pattern is None:
        return None
    # the example with most to attend to says most about the model, the others about padding
    grid = pattern[int(pattern.flatten(1).sum(1).argmax())]
    grid = grid[grid.any(1)][:, grid.any(0)]
    queries, keys = grid.shape
    if queries < 2 or keys < 2:
        return None
    distance = torch.arange(keys)[None] - torch.arange(queries)[:, None] - (keys - queries)
    causal = keys >= queries and not bool(grid[distance > 0].any())
    far = not bool(grid[-1, 0]) and not bool(grid[distance == distance.min()].any())
    if far and (causal or not bool(grid[0, -1])):
        return "windowed"
    return "causal" if causal else None


def kind_of(
    pattern: SiteKind | None,
    query: Mark | None,
    key: Mark | None,
    queries: int,
    keys: int,
    *,
    additive: bool,
    tiled: bool,
    causal_module: bool,
) -> SiteKind:
    """The kind of a site. `tiled`: the batch was cut into windows before the attention (Swin)."""
    has_roots = query is not None and bool(query.roots)
    if additive or (query is not None and query.learned and not query.data and queries == 1 and keys > 1):
        return "pooling"
    if pattern is not None and queries == keys:
        return pattern  # even if queries and keys came as two inputs
    if query is not None and has_roots and not (query.roots & (key.roots if key is not None else frozenset())):
        return "pooling" if queries == 1 and not query.data else "cross"
    if query is not None and query.learned and not query.data and key is not None and key.data:
        return "pooling" if queries == 1 else "cross"
    if pattern is not None:
        return pattern
    if tiled:
        return "windowed"
    if queries == keys:
        return "self"
    if causal_module:
        return "causal"
    if queries > 1 and query is not None and key is not None and query.roots & key.roots:
        return "self"  # some of the queries (Informer), or keys that were pooled on the way (SegFormer)
    return "pooling" if queries == 1 else "cross"
