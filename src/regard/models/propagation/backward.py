"""Backward rules as autograd functions and tensor hooks; none changes the value of the forward pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import BackwardCFunction

_SMALL = 1e-9
"""Minimum magnitude of an input for a quotient; smaller ones pass the slope at 0."""


def active(value: object) -> bool:
    """Return whether a tensor depends on the explained input.

    Parameters are frozen, so only then does it need a gradient.
    """
    return isinstance(value, Tensor) and value.requires_grad


def active_operands(values: Iterable[Any]) -> Iterator[Tensor]:
    """Every active tensor among the arguments of a call, lists of tensors included."""
    for value in values:
        if isinstance(value, Tensor):
            if value.requires_grad:
                yield value
        elif isinstance(value, (list, tuple)):
            yield from active_operands(value)


def scaled(out: Tensor, factor: float) -> Tensor:
    """Scale the gradient of a fresh result: by a hook, so that the model may change the tensor in place afterwards."""
    out.register_hook(lambda gradient: gradient * factor)  # type: ignore[no-untyped-call]
    return out


def scaled_input(x: Tensor, factor: float) -> Tensor:
    """Scale the gradient of an operand that others may read too, on a separate view."""
    return scaled(x.view_as(x), factor)


class Quotient(Function):
    """f(x) with the gradient of a line through (0, offset): g (f(x) - offset) / x."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, compute: Callable[[], Tensor], slope: float, offset: float) -> Tensor:
        value = compute()
        small = x.abs() < _SMALL
        ratio = (value - offset) / torch.where(small, torch.ones_like(x), x)
        ctx.save_for_backward(torch.where(small, torch.full_like(ratio, slope), ratio))
        return value

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        return gradients[0] * ctx.saved_tensors[0], None, None, None


class FixedSpread(Function):
    """A normalized tensor whose divisor is a constant: g scale, centred over the axes that were centred.

    groups: shape in which the last axis is centred; None: nothing is.
    """

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, compute: Callable[[], Tensor], scale: Tensor, groups: tuple[int, ...] | None
    ) -> Tensor:
        ctx.groups = groups
        ctx.save_for_backward(scale)
        return compute()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        passed = gradients[0] * ctx.saved_tensors[0]
        if ctx.groups is not None:
            grouped = passed.reshape(ctx.groups)
            passed = (grouped - grouped.mean(-1, keepdim=True)).reshape(passed.shape)
        return passed, None, None, None


class SameValue(Function):
    """The model's value with the gradient of a recomputed tensor."""

    @staticmethod
    def forward(ctx: Any, recomputed: Tensor, value: Tensor) -> Tensor:
        return value.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return gradients[0], None


def same_value(recomputed: Tensor, value: Tensor) -> Tensor:
    """The value, with the gradient of a tensor that was recomputed for it."""
    out: Tensor = SameValue.apply(recomputed, value.detach())  # type: ignore[no-untyped-call]
    return out


_OWN = {"QuotientBackward", "FixedSpreadBackward", "SameValueBackward"}


def unseen_function(value: object) -> str:
    """Name a custom autograd function that made this tensor, which no mode can see into; "" if there is none.

    >>> unseen_function(torch.ones(1, requires_grad=True).exp())
    ''
    """
    if not active(value):
        return ""
    assert isinstance(value, Tensor)
    node: Any = value.grad_fn
    name = type(node).__name__
    return name if isinstance(node, BackwardCFunction) and name not in _OWN else ""
