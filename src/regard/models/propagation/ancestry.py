"""Pointwise ancestry of tensors: x (1 + tanh(...)) is one function of x, not a product of two."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from regard.models.propagation.backward import Quotient, active

_ANCESTORS = "_pointwise_ancestors"
_MOST = 8
"""Maximum ancestors of a tensor to record, nearest first."""


def one_function(root: Tensor, compute: Callable[[], Tensor], slope: float, offset: float = 0.0) -> Tensor:
    """A result that is a pointwise function of `root`."""
    out: Tensor = Quotient.apply(root, compute, slope, offset)  # type: ignore[no-untyped-call]
    if out.shape == root.shape:
        setattr(out, _ANCESTORS, _line(root)[:_MOST])
    return out


def _line(tensor: Tensor) -> tuple[Tensor, ...]:
    """The tensor and the tensors that it is a pointwise function of, nearest first."""
    return (tensor, *getattr(tensor, _ANCESTORS, ()))


def common_ancestor(one: Tensor, two: Tensor) -> Tensor | None:
    others = {id(tensor) for tensor in _line(two)}
    return next((tensor for tensor in _line(one) if id(tensor) in others), None)


def followed(out: Any, parents: Sequence[Tensor]) -> Any:
    """Record the tensors that a result is a pointwise function of."""
    if not active(out) or not parents or any(parent is out for parent in parents):
        return out
    if len(parents) == 1:
        line = _line(parents[0])
    else:
        ancestor = common_ancestor(*parents[:2])
        line = () if ancestor is None else _line(ancestor)
    line = tuple(tensor for tensor in line if tensor.shape == out.shape)[:_MOST]
    if line:
        setattr(out, _ANCESTORS, line)
    return out
