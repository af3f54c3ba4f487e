"""Normalizations with a constant divisor: LayerNorm, RMSNorm, GroupNorm, `F.normalize`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from regard.models.propagation.backward import FixedSpread

_ARGUMENTS = {
    "layer_norm": ("input", "normalized_shape", "weight", "bias", "eps"),
    "rms_norm": ("input", "normalized_shape", "weight", "eps"),
    "group_norm": ("input", "num_groups", "weight", "bias", "eps"),
    "normalize": ("input", "p", "dim", "eps"),
}
_EPS = 1e-5


def normalized(
    name: str, function: Callable[..., Tensor], args: tuple[Any, ...], keywords: Mapping[str, Any]
) -> tuple[Tensor, Tensor | None]:
    """(the output, the bias added in it) of a normalization that passes relevance to its centred input."""
    arguments: dict[str, Any] = {**dict(zip(_ARGUMENTS[name], args, strict=False)), **keywords}
    x: Tensor = arguments["input"]
    fixed = x.detach()
    others = {key: value for key, value in keywords.items() if key != "input"}

    def compute() -> Tensor:
        return function(fixed, *args[1:], **others)

    groups: tuple[int, ...]
    match name:
        case "normalize":
            norm = fixed.norm(arguments.get("p", 2.0), arguments.get("dim", 1), keepdim=True)
            return _passed(x, compute, (1 / norm.clamp_min(arguments.get("eps", 1e-12))).expand_as(x), None), None
        case "group_norm":
            groups = (x.shape[0], arguments["num_groups"], -1)
            channels = (1, -1, *[1] * (x.dim() - 2))
        case _:
            groups = (-1, math.prod(arguments["normalized_shape"]))
            channels = tuple(arguments["normalized_shape"])
    eps = arguments.get("eps")
    if eps is None:
        eps = torch.finfo(x.dtype).eps if name == "rms_norm" else _EPS
    grouped = fixed.reshape(groups)
    centred = grouped if name == "rms_norm" else grouped - grouped.mean(-1, keepdim=True)
    spread = torch.rsqrt(centred.square().mean(-1, keepdim=True) + eps)
    scale = spread.expand_as(grouped).reshape(x.shape)
    weight, bias = arguments.get("weight"), arguments.get("bias")
    if weight is not None:
        scale = scale * weight.reshape(channels)
    out = _passed(x, compute, scale, None if name == "rms_norm" else groups)
    return out, None if bias is None else bias.reshape(channels)


def _passed(x: Tensor, compute: Callable[[], Tensor], scale: Tensor, groups: tuple[int, ...] | None) -> Tensor:
    out: Tensor = FixedSpread.apply(x, compute, scale, groups)  # type: ignore[no-untyped-call]
    return out
