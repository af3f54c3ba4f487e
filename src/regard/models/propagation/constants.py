"""Constants that an operation mixes into a result that depends on the input: each takes its share of the relevance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from regard.models.propagation.backward import active

Constant = tuple[str, Tensor]
"""Account of the ledger, and the constant that the result holds (broadcastable to it)."""
_JOINED = ("cat", "concat", "concatenate", "stack", "hstack", "vstack")
_FILLED = ("pad", "constant_pad_nd")


def added_constant(name: str, args: tuple[Any, ...], keywords: Mapping[str, Any], out: Tensor) -> Constant | None:
    """The constant operand of a sum or difference of two."""
    left, right = args[0], args[1] if len(args) > 1 else keywords.get("other")
    if active(left) == active(right):
        return None
    constant: Any = right if active(left) else left
    sign = 1.0
    if active(left) and "sub" in name:
        sign = 1.0 if name in ("__rsub__", "rsub") else -1.0
    # a - alpha b: the factor belongs to the second operand
    factor = keywords.get("alpha", 1) if active(left) else 1
    value = torch.as_tensor(constant, device=out.device).to(out.dtype) * (sign * factor)
    return "bias" if value.dim() < 2 else "position", value


def mixed_constant(
    name: str, function: Callable[..., Tensor], args: tuple[Any, ...], keywords: Mapping[str, Any], out: Any
) -> Constant | None:
    """The constant in the result of any other operation: a bias of a linear map, tensors put beside or in place."""
    if not active(out):
        return None

    def argument(place: int, key: str) -> Any:
        return args[place] if len(args) > place else keywords.get(key)

    with torch.no_grad():
        if name == "linear" and (bias := argument(2, "bias")) is not None:
            return "bias", bias
        if name.startswith("conv") and name[-1:] == "d" and (bias := argument(2, "bias")) is not None:
            return "bias", bias.reshape(-1, *[1] * int(name[-2]))
        if name == "batch_norm":
            return "bias", function(torch.zeros_like(args[0]), *args[1:], **keywords)
        if name in _JOINED:
            parts = argument(0, "tensors")
            if all(active(part) for part in parts):
                return None
            joined = [torch.zeros_like(part) if active(part) else part for part in parts]
            return "position", function(joined, *args[1:], **{k: v for k, v in keywords.items() if k != "tensors"})
        if name in _FILLED:
            filled = function(torch.zeros_like(args[0]), *args[1:], **keywords)
            return ("position", filled) if bool(filled.any()) else None
        if name == "where" and len(args) == 3:
            return _chosen(args, out)
        return None


def _chosen(args: tuple[Any, ...], out: Tensor) -> Constant | None:
    """The constant side of `where`; as a method it names the condition second."""
    condition, yes, no = args if args[0].dtype == torch.bool else (args[1], args[0], args[2])
    if active(yes) and active(no):
        return None
    first, second = (
        torch.zeros((), dtype=out.dtype, device=out.device)
        if active(side)
        else torch.as_tensor(side, dtype=out.dtype, device=out.device)
        for side in (yes, no)
    )
    return "position", torch.where(condition, first, second)
