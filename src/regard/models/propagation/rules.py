"""Torch function mode that gives every operation of a forward pass its LRP backward rule.

Premise: parameters are frozen (`frozen`) and only the explained input needs a gradient, so `requires_grad` says which
tensors depend on the input. Then input x gradient of one ordinary backward pass is the relevance.

| operation | rule |
|---|---|
| linear maps, sums, shapes | autograd's |
| normalizations | the divisor is a constant |
| product of two tensors that depend on the input | each factor gets half |
| attention, softmax | cp: the weights are constants. attnlrp: a product, and autograd's rule of softmax |
| nonlinearities | g f(x) / x; a constant f(0) counts as a bias |
| product of pointwise functions of one tensor (GELU written out) | the same, as one function of that tensor |

Rule "ln" changes the divisors of normalizations alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from regard.models.propagation.ancestry import common_ancestor, followed, one_function
from regard.models.propagation.backward import (
    active,
    active_operands,
    same_value,
    scaled,
    scaled_input,
    unseen_function,
)
from regard.models.propagation.constants import added_constant, mixed_constant
from regard.models.propagation.ledger import Ledger
from regard.models.propagation.norms import normalized
from regard.models.propagation.operations import Kind, Operation, operation
from regard.models.propagation.recurrent import recurrent
from regard.tap.tap import PLAIN_MULTI_HEAD

Rule = Literal["cp", "attnlrp", "ln"]
SCORES = "_scores_of_softmax"
_SLOPES = {"gelu": 0.5, "silu": 0.5, "mish": 0.6, "hardswish": 0.5, "tanh": 1.0, "erf": 1.1284, "sigmoid": 0.25}
_OFFSETS = {"sigmoid": 0.5, "hardsigmoid": 0.5, "logsigmoid": -math.log(2), "exp": 1.0, "cos": 1.0}
"""Values at 0 of functions that are not 0 there; that of softplus depends on its slope."""
_PLACES = ("query", "key", "value")
_TERMS = {"addmm": ("input", "mat1", "mat2"), "baddbmm": ("input", "batch1", "batch2")}


class RelevanceRules(TorchFunctionMode):
    """Mode that applies the rules to every torch function; `unseen` names operations that it could not follow."""

    def __init__(self, rule: Rule, ledger: Ledger | None = None) -> None:
        super().__init__()
        self.rule, self.ledger = rule, ledger
        self.unseen: list[str] = []

    def __torch_function__(
        self, func: Callable[..., Any], types: Iterable[type], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        keywords: dict[str, Any] = kwargs or {}
        op = operation(func)
        if op.kind is Kind.MULTI_HEAD:
            with self:
                return PLAIN_MULTI_HEAD(*args, **keywords)
        if op.name in ("__get__", "__set__") or not torch.is_grad_enabled():
            return func(*args, **keywords)
        operands = list(active_operands((*args, *keywords.values())))
        if not operands:
            return func(*args, **keywords)
        self.unseen += [name for value in operands if (name := unseen_function(value))]
        if self.rule == "ln":
            return self._divisor_only(op, func, args, keywords)
        return self._by_kind(op, func, args, keywords, operands)

    def _divisor_only(
        self, op: Operation, func: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        match op.kind:
            case Kind.NORM:
                return normalized(op.name, func, args, keywords)[0]
            case Kind.SPREAD:
                return func(*args, **keywords).detach()
            case Kind.POWER if _is_root(args, keywords):
                return func(*args, **keywords).detach()
            case _:
                return func(*args, **keywords)

    def _by_kind(
        self,
        op: Operation,
        func: Callable[..., Any],
        args: tuple[Any, ...],
        keywords: dict[str, Any],
        operands: Sequence[Tensor],
    ) -> Any:
        match op.kind:
            case Kind.ATTENTION:
                return self._attention(func, args, keywords)
            case Kind.SOFTMAX:
                return self._softmax(func, args, keywords)
            case Kind.NORM:
                out, bias = normalized(op.name, func, args, keywords)
                return out if bias is None else self._absorbed(out, ("bias", bias))
            case Kind.SPREAD:
                return func(*args, **keywords).detach()
            case Kind.POWER if _is_root(args, keywords):
                return func(*args, **keywords).detach()
            case Kind.POINTWISE | Kind.POWER:
                return self._pointwise(op, func, args, keywords)
            case Kind.SUM:
                out = func(*args, **keywords)
                constant = added_constant(op.name, args, keywords, out)
                if op.in_place:
                    if self.ledger is not None and constant is not None:
                        self.ledger.absorb(out, *constant)
                    return out
                return followed(self._absorbed(out, constant), operands)
            case Kind.PRODUCT:
                return self._product(op, func, args, keywords, operands)
            case Kind.MATRIX_PRODUCT:
                out = func(*args, **keywords)
                if len(operands) < 2:
                    return out
                return scaled(out.clone() if out._is_view() else out, 1 / len(operands))
            case Kind.ADDED_PRODUCT:
                return self._added_product(op, func, args, keywords)
            case Kind.QUOTIENT:
                return self._quotient(op, func, args, keywords)
            case Kind.CARRIED:
                return followed(func(*args, **keywords), operands)
            case Kind.RECURRENT:
                return recurrent(op.name, func, args, keywords, self)
            case Kind.SAMPLED:
                read, *places = args
                return func(read, *[p.detach() if isinstance(p, Tensor) else p for p in places], **_detached(keywords))
            case _:
                out = func(*args, **keywords)
                if op.kind is Kind.LINEAR and len(args) > 1 and active(args[0]) and active(args[1]):
                    out = scaled(out.clone(), 0.5)
                return self._absorbed(out, mixed_constant(op.name, func, args, keywords, out))

    def _absorbed(self, out: Any, constant: tuple[str, Tensor] | None) -> Any:
        """Book the constant in a new result, which may be another tensor afterwards."""
        if self.ledger is None or constant is None or not active(out):
            return out
        # a change in place of a view forgets its hooks
        return self.ledger.absorb(out.clone() if out._is_view() else out, *constant)

    # -- attention

    def _attention(self, func: Callable[..., Tensor], args: tuple[Any, ...], keywords: dict[str, Any]) -> Tensor:
        query, key, value = (args[i] if i < len(args) else keywords[name] for i, name in enumerate(_PLACES))
        rest, others = args[3:], {k: v for k, v in keywords.items() if k not in _PLACES}
        if self.rule == "cp":
            rest = tuple(v.detach() if isinstance(v, Tensor) else v for v in rest)
            return func(query.detach(), key.detach(), value, *rest, **_detached(others))
        metered = self.ledger is not None and active(value)
        parts = []
        # half of the output goes through the values; of the other half, each factor of the scores gets its half
        for part, factor in ((query, 0.25), (key, 0.25), (value, 0.5)):
            if active(part):
                part = self.ledger.entering(part, "softmax") if metered and self.ledger is not None else part
                part = scaled_input(part, factor)
            parts.append(part)
        out = func(*parts, *rest, **others)
        return self.ledger.leaving(out, "softmax") if metered and self.ledger is not None else out

    def _softmax(self, func: Callable[..., Tensor], args: tuple[Any, ...], keywords: dict[str, Any]) -> Tensor:
        scores, rest = (args[0], args[1:]) if args else (keywords.pop("input"), ())
        if self.rule == "cp":
            weights = func(scores, *rest, **keywords).detach()
            setattr(weights, SCORES, scores)  # a model may end in a softmax
            return weights
        if self.ledger is None:
            return func(scores, *rest, **keywords)
        out = func(self.ledger.entering(scores, "softmax"), *rest, **keywords)
        return self.ledger.leaving(out, "softmax")

    # -- nonlinearities, products

    def _pointwise(
        self, op: Operation, func: Callable[..., Tensor], args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Tensor:
        x = args[0] if args else keywords["input"]
        others = (*args[1:], *(value for key, value in keywords.items() if key != "input"))
        if not active(x) or any(map(active, others)) or op.in_place or keywords.get("inplace"):
            return func(*args, **keywords)
        offset = _OFFSETS.get(op.name, 0.0)
        if op.name == "softplus":
            with torch.no_grad():
                offset = float(func(x.new_zeros(1), *args[1:], **{k: v for k, v in keywords.items() if k != "input"}))
        out = one_function(x, lambda: func(*args, **keywords), _SLOPES.get(op.name, 0.0), offset)
        return self._absorbed(out, ("bias", torch.as_tensor(offset))) if offset else out

    def _product(
        self,
        op: Operation,
        func: Callable[..., Tensor],
        args: tuple[Any, ...],
        keywords: dict[str, Any],
        operands: Sequence[Tensor],
    ) -> Tensor:
        if len(operands) < 2:
            out = func(*args, **keywords)
            return out if op.in_place else followed(out, operands)
        root = None if op.in_place else common_ancestor(operands[0], operands[1])
        if root is not None and root.shape in (operands[0].shape, operands[1].shape):
            return one_function(root, lambda: func(*args, **keywords), 0.5)
        return scaled(func(*args, **keywords), 0.5)

    def _added_product(
        self, op: Operation, func: Callable[..., Tensor], args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Tensor:
        term, one, two = (args[i] if i < len(args) else keywords[n] for i, n in enumerate(_TERMS[op.name]))
        out = func(*args, **keywords)
        if active(one) and active(two):
            alpha, beta = keywords.get("alpha", 1), keywords.get("beta", 1)
            halves = scaled(one @ two, 0.5) * alpha
            # the sum for the gradient, the kernel's own value
            out = same_value(halves + beta * term, out)
        if active(term):
            return out
        account = "bias" if term.dim() == 1 else "position"
        booked: Tensor = self._absorbed(out, (account, term * keywords.get("beta", 1)))
        return booked

    def _quotient(
        self, op: Operation, func: Callable[..., Tensor], args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Tensor:
        second = args[1] if len(args) > 1 else keywords["other"]
        above, below = (second, args[0]) if op.name == "__rtruediv__" else (args[0], second)
        if active(below):
            root = common_ancestor(above, below) if active(above) and not op.in_place else None
            if root is not None:
                return one_function(root, lambda: func(*args, **keywords), 0.0)
            detached = [v.detach() if v is below else v for v in (args[0], second)]
            return func(*detached, *args[2:], **{k: v for k, v in keywords.items() if k != "other"})
        out = func(*args, **keywords)
        return out if op.in_place else followed(out, [above])


def _is_root(args: tuple[Any, ...], keywords: Mapping[str, Any]) -> bool:
    """Return whether a power is a square root or a divisor."""
    exponent = args[1] if len(args) > 1 else keywords.get("exponent")
    return isinstance(exponent, (int, float)) and (exponent < 0 or exponent == 0.5)


def _detached(keywords: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v.detach() if isinstance(v, Tensor) else v for k, v in keywords.items()}


@contextmanager
def frozen(module: nn.Module) -> Iterator[None]:
    """Freeze all parameters, so that every tensor with a gradient depends on the input."""
    trainable = [parameter for parameter in module.parameters() if parameter.requires_grad]
    for parameter in trainable:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in trainable:
            parameter.requires_grad_(True)
