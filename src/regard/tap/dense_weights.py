"""All weights of one attention, written once: no second matrix in memory, nothing to the right of a causal diagonal."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from regard.tap.sdpa import Masks, SdpaCall

SCRATCH = 1 << 18
"""Scores computed at once: 1 MB in float32, which stays in the cache between product, mask and softmax."""


BAND = 64
"""Rows of causal attention computed at once: keys after the last of them are skipped."""


def fills(call: SdpaCall) -> bool:
    """Return whether `fill_weights` supports this call: plain attention in float32 on the CPU."""
    plain = call.softcap is None and call.sinks is None and call.score_mod is None and call.mask_mod is None
    mask = call.mask
    whole = mask is None or (mask.ndim == 4 and mask.shape[-2:] == (call.query.shape[2], call.key.shape[2]))
    return plain and whole and call.query.dtype == torch.float32 and call.query.device.type == "cpu"


@torch.no_grad()
def fill_weights(call: SdpaCall, out: Tensor) -> bool:
    """Write the weights of a call that `fills` accepts into `out` (batch, head, query, key), whatever it held before.

    Heads that share keys are one matrix product. Returns whether some weight is NaN: a softmax makes the whole row NaN,
    so that its first key tells.
    """
    query, key = call.query * call.factor, call.key
    batch, heads, queries, keys = out.shape
    shared = heads // key.shape[1]
    unknown = False
    added, blank = (None, None) if call.mask is None else Masks().additive(call.mask, query.dtype)
    together = max(shared, SCRATCH // max(1, queries * keys) // shared * shared)
    step = min(queries, max(16, SCRATCH // max(1, together * keys)))
    if call.causal:
        step = min(step, BAND) if queries > BAND else queries
    late = torch.ones(step, step, dtype=torch.bool).triu_(1) if call.causal else None
    for b in range(batch):
        for first in range(0, heads, together):
            group = slice(first, min(heads, first + together))
            turned = key[b, first // shared : group.stop // shared].transpose(1, 2)
            for start in range(0, queries, step):
                rows = slice(start, min(start + step, queries))
                columns = slice(0, min(keys, rows.stop) if call.causal else keys)
                # (key head, heads that share it x row, feature)
                asking = query[b, group, rows].reshape(len(turned), -1, query.shape[-1])
                scores = torch.bmm(asking, turned[:, :, columns]).view(-1, rows.stop - start, columns.stop)
                if added is not None:
                    scores += _part(added, b, group, rows)[..., columns]
                if late is not None and start < columns.stop:  # the block on the diagonal; what is left of it is seen
                    scores[:, :, start:].masked_fill_(late[: rows.stop - start, : columns.stop - start], -math.inf)
                torch.softmax(scores, -1, out=scores)
                if blank is not None:
                    scores.masked_fill_(_part(blank, b, group, rows), 0.0)
                unknown = unknown or bool(scores[..., 0].isnan().any())
                out[b, group, rows, columns] = scores
                out[b, group, rows, columns.stop :] = 0.0
    return unknown


def _part(mask: Tensor, example: int, heads: slice, rows: slice) -> Tensor:
    """The part of a (batch, head, query, key) mask for these heads and rows of one example; sizes of 1 stay."""
    one = mask[example if mask.shape[0] > 1 else 0]
    return one[heads if one.shape[0] > 1 else slice(None), rows if one.shape[1] > 1 else slice(None)]
