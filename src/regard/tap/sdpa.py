"""Fused attention call in a common form, and its arithmetic: scores, weights, log-sum-exp, output."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

CHUNK = 1 << 24
"""Maximum scores computed at once in chunks of rows: 64 MB in float32."""

ScoreMod = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]
MaskMod = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


@dataclass(slots=True, eq=False)
class SdpaCall:
    """softmax(softcap(q k^T scale) + mask [, sink column]) v, with grouped keys and values.

    query (batch, head, query, feature), key and value (batch, key head, key, feature).
    mask: bool (True may be attended to) or additive, broadcastable to (batch, head, query, key).
    finish: brings an output into the form that the model expects. kernel: `function` is SDPA itself.
    flexible: it is flex_attention.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    keywords: Mapping[str, Any]
    query: Tensor
    key: Tensor
    value: Tensor
    mask: Tensor | None = None
    causal: bool = False
    scale: float | None = None
    dropout: float = 0.0
    softcap: float | None = None
    sinks: Tensor | None = None
    score_mod: ScoreMod | None = None
    mask_mod: MaskMod | None = None
    finish: Callable[[Tensor, Tensor | None], Any] | None = None
    kernel: bool = False
    flexible: bool = False

    @property
    def factor(self) -> float:
        return 1.0 / math.sqrt(self.query.shape[-1]) if self.scale is None else float(self.scale)

    def run(self) -> Any:
        """Run the call unchanged."""
        if self.flexible:
            # uncompiled, flex_attention would make the whole matrix of scores
            return self.returned(chunked(self), log_sum_exp(self, scores_of(self)))
        return self.function(*self.args, **self.keywords)

    def returned(self, out: Tensor, lse: Tensor | None = None) -> Any:
        """Convert `out` to the form that the model expects from the call."""
        return out if self.finish is None else self.finish(out, lse)

    def emptied(self) -> SdpaCall:
        """Return a copy with shapes, types and mask but without tensors, which would occupy memory."""

        nothing = self.query.new_empty(())
        query, key, value = (nothing.expand(t.shape) for t in (self.query, self.key, self.value))
        return replace(self, args=(), keywords={}, query=query, key=key, value=value)

    def of_example(self, example: int) -> SdpaCall:
        """Return the call of one example of the batch, in four axes; it cannot run."""
        here = slice(example, example + 1)
        mask = self.mask
        if mask is not None and mask.ndim == 4 and mask.shape[0] > 1:
            mask = mask[here]
        query, key, value = (t[here] for t in (self.query, self.key, self.value))
        return replace(self, args=(), keywords={}, query=query, key=key, value=value, mask=mask)

    def folded(self, heads: int) -> SdpaCall:
        """The same call with everything in four axes; `heads` are folded into the batch axis of a three-axis call."""
        if self.query.ndim == 4:
            return self
        lead = math.prod(self.query.shape[:-2])
        heads = heads if heads and lead % heads == 0 else 1
        if self.query.ndim > 4:
            heads = math.prod(self.query.shape[1:-2])

        def four(tensor: Tensor) -> Tensor:
            return tensor.reshape(lead // heads, heads, *tensor.shape[-2:])

        mask = self.mask
        if mask is not None and mask.ndim > 2:
            mask = four(mask.expand(*self.query.shape[:-2], *mask.shape[-2:]))
        return replace(self, query=four(self.query), key=four(self.key), value=four(self.value), mask=mask)


def _named(names: tuple[str, ...], args: tuple[Any, ...], keywords: Mapping[str, Any]) -> dict[str, Any]:
    return {**dict(zip(names, args, strict=False)), **keywords}


_SDPA = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale", "enable_gqa")


def bind_sdpa(function: Callable[..., Any], args: tuple[Any, ...], keywords: Mapping[str, Any]) -> SdpaCall:
    """Bind F.scaled_dot_product_attention, or its OpOverload."""
    return replace(_bound(function, args, keywords, _SDPA), kernel=True)


def bind_flash(function: Callable[..., Any], args: tuple[Any, ...], keywords: Mapping[str, Any]) -> SdpaCall:
    """Bind the fused CPU kernel, as exported graphs call it: it returns (output, row log-sum-exp)."""
    call = _bound(function, args, keywords, ("query", "key", "value", "dropout_p", "is_causal"))
    return replace(call, finish=lambda out, lse: (out, lse))


def _bound(
    function: Callable[..., Any], args: tuple[Any, ...], keywords: Mapping[str, Any], names: tuple[str, ...]
) -> SdpaCall:
    """Bind a call whose positional arguments have these names."""
    arguments = _named(names, args, keywords)
    return SdpaCall(
        function=function,
        args=args,
        keywords=keywords,
        query=arguments["query"],
        key=arguments["key"],
        value=arguments["value"],
        mask=arguments.get("attn_mask"),
        causal=bool(arguments.get("is_causal", False)),
        scale=arguments.get("scale"),
        dropout=float(arguments.get("dropout_p", 0.0)),
    )


def bind_flex(function: Callable[..., Any], args: tuple[Any, ...], keywords: Mapping[str, Any]) -> SdpaCall:
    """The operator behind flex_attention, any function of the score and any mask of positions.

    It returns (output, log-sum-exp to the base 2, row maximum); the last is read only on request.
    """
    names = ("query", "key", "value", "score_mod", "block_mask", "scale")
    arguments = _named(names, args, keywords)
    return replace(
        _bound(function, args, keywords, names),
        score_mod=arguments.get("score_mod"),
        mask_mod=arguments["block_mask"][-1] if arguments.get("block_mask") is not None else None,
        finish=lambda out, lse: (out, lse / math.log(2) if lse is not None else out[..., 0], out[..., 0]),
        flexible=True,
    )


def scores_of(
    call: SdpaCall,
    *,
    batch: slice = slice(None),
    heads: Tensor | None = None,
    rows: Tensor | None = None,
    columns: slice = slice(None),
    wide: bool = True,
) -> Tensor:
    """Scores after scale, softcap, bias and mask: (batch, head, row, column), without the sink column.

    `wide`: in float32 at least, whatever the model computes in.
    """
    query, key = call.query[batch], call.key[batch]
    n_heads, n_queries, n_keys = query.shape[1], query.shape[2], key.shape[2]
    group = n_heads // key.shape[1]
    head_index = torch.arange(n_heads, device=query.device) if heads is None else heads.to(query.device)
    row_index = torch.arange(n_queries, device=query.device) if rows is None else rows.to(query.device)
    if heads is not None:
        query = query[:, head_index]
    if rows is not None:
        query = query[:, :, row_index]
    key = key[:, :, columns]
    if group > 1 or heads is not None:
        key = key[:, head_index // group]
    if wide and query.dtype in (torch.float16, torch.bfloat16):
        query, key = query.float(), key.float()
    scores = torch.matmul(query * call.factor, key.transpose(-1, -2))
    if call.softcap:
        scores = torch.tanh(scores / call.softcap) * call.softcap
    column_index = torch.arange(n_keys, device=query.device)[columns]
    if call.score_mod is not None or call.mask_mod is not None:
        b = torch.arange(call.query.shape[0], device=query.device)[batch][:, None, None, None]
        h, q, k = head_index[:, None, None], row_index[:, None], column_index
        if call.score_mod is not None:
            scores = call.score_mod(scores, b, h, q, k)
        if call.mask_mod is not None:
            scores = scores.masked_fill(~call.mask_mod(b, h, q, k), -math.inf)
    if call.mask is not None:
        mask = call.mask
        while mask.ndim < 4:
            mask = mask[None]
        mask = mask[batch if mask.shape[0] > 1 else slice(None)]
        mask = mask[:, head_index] if heads is not None and mask.shape[1] > 1 else mask
        mask = mask[:, :, row_index] if rows is not None and mask.shape[2] > 1 else mask
        mask = mask[..., columns] if mask.shape[3] > 1 else mask
        scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask.to(scores.dtype)
    if call.causal:
        scores = scores.masked_fill(column_index > row_index[:, None], -math.inf)
    return scores


def log_sum_exp(call: SdpaCall, scores: Tensor, heads: Tensor | None = None) -> Tensor:
    """(batch, head, row), the sink included."""
    lse = torch.logsumexp(scores, -1)
    if call.sinks is not None:
        sinks = call.sinks.to(lse.dtype).reshape(1, -1, 1)
        lse = torch.logaddexp(lse, sinks if heads is None else sinks[:, heads.to(sinks.device)])
    return lse


def weights_of(call: SdpaCall, scores: Tensor, heads: Tensor | None = None) -> Tensor:
    """Rows that sum to 1, or to 1 minus the sink; a row with nothing to attend to is 0."""
    if call.mask is not None or call.mask_mod is not None:
        blank = scores.detach().amax(-1, keepdim=True) == -math.inf
        if bool(blank.any()):
            # softmax of nothing is NaN, and so are its gradients
            return weights_of(
                replace(call, mask=None, mask_mod=None), scores.masked_fill(blank, 0.0), heads
            ).masked_fill(blank, 0.0)
    if call.sinks is None:
        weights = torch.softmax(scores, -1)
    else:
        sinks = call.sinks.to(scores.dtype).reshape(1, -1, 1, 1)
        sinks = sinks if heads is None else sinks[:, heads.to(sinks.device)]
        column = sinks.expand(scores.shape[0], -1, scores.shape[2], 1)
        weights = torch.softmax(torch.cat([scores, column], -1), -1)[..., :-1]
    return weights


@dataclass(slots=True, eq=False)
class Masks:
    """Additive forms of the masks of one pass: layers share one mask, which is converted only once."""

    held: dict[tuple[int, torch.dtype], tuple[Tensor, Tensor, Tensor | None]] = field(default_factory=dict)

    def additive(self, mask: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor | None]:
        """(mask to add, rows in which nothing is visible, or None)."""
        key = (id(mask), dtype)
        if key not in self.held:
            added = mask
            if mask.dtype == torch.bool:
                added = torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill_(~mask, -math.inf)
            added = added.to(dtype)
            blank = (added.detach().amax(-1, keepdim=True) == -math.inf) if added.shape[-1] > 1 else None
            self.held[key] = (mask, added, blank if blank is not None and bool(blank.any()) else None)
        return self.held[key][1:]

    def causal(self, queries: int, keys: int, like: Tensor) -> Tensor:
        """Additive mask of `is_causal`."""
        key = (-queries * (1 << 32) - keys, like.dtype)
        if key not in self.held:
            mask = torch.full((queries, keys), -math.inf, dtype=like.dtype, device=like.device).triu_(1)
            self.held[key] = (mask, mask, None)
        return self.held[key][1]


def plain_weights(call: SdpaCall, masks: Masks) -> Tensor:
    """All weights of a call in four axes, in the model's own type, with gradients, as fast as eager attention."""
    common = call.softcap is None and call.sinks is None and call.score_mod is None and call.mask_mod is None
    query, key = call.query, call.key
    if not common or query.dtype in (torch.float16, torch.bfloat16):
        return weights_of(call, scores_of(call)).to(query.dtype)
    group = query.shape[1] // key.shape[1]
    key = key.repeat_interleave(group, 1) if group > 1 else key
    batch, heads, queries, width = query.shape
    folded, turned = query.reshape(-1, queries, width), key.reshape(-1, key.shape[2], width).transpose(1, 2)
    scores = torch.baddbmm(query.new_empty(1, 1, 1), folded, turned, beta=0, alpha=call.factor)  # beta=0: not read
    scores = scores.view(batch, heads, queries, -1)
    blank = None
    if call.causal:
        scores += masks.causal(scores.shape[-2], scores.shape[-1], scores)
    if call.mask is not None:
        added, blank = masks.additive(call.mask, scores.dtype)
        scores += added
    if blank is None:
        if scores.requires_grad or scores.device.type != "cpu":
            return torch.softmax(scores, -1)
        return torch.softmax(scores, -1, out=scores)  # row by row, so it may be in place: no second matrix
    return torch.softmax(scores.masked_fill(blank, 0.0), -1).masked_fill(blank, 0.0)


def weighted_sum(call: SdpaCall, weights: Tensor) -> Tensor:
    """weights @ values, with grouped values, in the model's own type."""
    value = call.value
    group = weights.shape[1] // value.shape[1]
    if group > 1:
        value = value.repeat_interleave(group, 1)
    return torch.matmul(weights.to(value.dtype), value)


def chunked(call: SdpaCall) -> Tensor:
    """Output of an attention that no fused kernel supports, some rows at a time: (batch, head, query, feature)."""
    batch, heads, queries, _ = call.query.shape
    group = heads // call.value.shape[1]
    value = call.value.repeat_interleave(group, 1) if group > 1 else call.value
    step = max(1, CHUNK // max(1, batch * heads * call.key.shape[2]))
    parts = []
    for rows in torch.split(torch.arange(queries), step):
        weights = weights_of(call, scores_of(call, rows=rows))
        if call.dropout:
            weights = torch.dropout(weights, call.dropout, train=True)
        parts.append(torch.matmul(weights.to(value.dtype), value))
    return torch.cat(parts, 2)
