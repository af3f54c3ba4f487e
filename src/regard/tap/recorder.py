"""Recorder: runs a site unchanged, and stores the tensors that determine its weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from regard.records import Mode
from regard.tap.sdpa import Masks, SdpaCall, plain_weights, weighted_sum
from regard.tap.tap import Event

FUSED_LOG_SUM_EXP = True
"""Take the row log-sum-exp from the fused CPU kernel if SDPA would choose that kernel anyway (it is free there)."""

_FLASH = 1  # torch.nn.attention.SDPBackend.FLASH_ATTENTION


@dataclass(slots=True, eq=False)
class Kept:
    """Record of one fused attention: the call, its output, and the log-sum-exp or the weights."""

    call: SdpaCall
    out: Tensor
    lse: Tensor | None = None
    weights: Tensor | None = None
    lean: bool = False


@dataclass(slots=True, eq=False)
class Recorder:
    """`Handler` that changes nothing. `lean`: once weights are known, it stores nothing else.

    The next layer cannot reuse stored memory, and fresh memory is slow.
    """

    mode: Mode
    lean: bool = False
    kept: dict[int, Kept] = field(default_factory=dict)
    masks: Masks = field(default_factory=Masks)

    def attention(self, event: Event, call: SdpaCall) -> Any:
        if self.mode == "qk":
            out, lse = self.fused(call)
            first = out[0] if isinstance(out, tuple) else out
            self.kept[id(event)] = Kept(call, first, lse)
            return out
        _, out = self.explicit(event, call)
        return call.returned(out)

    def explicit(self, event: Event, call: SdpaCall) -> tuple[Tensor, Tensor]:
        """Compute the same attention with its weights: (weights in four axes, output in the call's own shape)."""
        four = call.folded(event.heads)
        weights = plain_weights(four, self.masks)
        dropped = torch.dropout(weights, call.dropout, train=True) if call.dropout else weights
        out = weighted_sum(four, dropped).reshape(*call.query.shape[:-1], call.value.shape[-1])
        if self.lean:
            event.call = call.emptied()
            self.kept[id(event)] = Kept(event.call, out.new_empty(()), weights=weights, lean=True)
        else:
            self.kept[id(event)] = Kept(call, out, weights=weights)
        return weights, out

    def softmax(self, event: Event, scores: Tensor, axis: int, run: Callable[[Tensor], Tensor]) -> Tensor:
        return run(scores)

    def fused(self, call: SdpaCall) -> tuple[Any, Tensor | None]:
        """Run the call unchanged, with the row log-sum-exp if that is free."""
        query, key, value = call.query, call.key, call.value
        if not FUSED_LOG_SUM_EXP or not call.kernel or call.dropout or query.ndim != 4 or query.device.type != "cpu":
            return call.run(), None
        mask, causal, scale = call.mask, call.causal, call.scale
        gqa = query.shape[1] != key.shape[1]
        choice = torch._fused_sdp_choice(query, key, value, mask, 0.0, causal, scale=scale, enable_gqa=gqa)
        if choice != _FLASH:
            return call.run(), None
        if mask is not None and mask.dtype == torch.bool:
            mask, _ = self.masks.additive(mask, query.dtype)
        out, lse = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
            query, key, value, 0.0, causal, attn_mask=mask, scale=scale
        )
        return out, lse
