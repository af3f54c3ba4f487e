"""Torch functions by the rule that they need, whatever form they are called in (function, method, operator)."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from functools import cache
from typing import Any, NamedTuple


class Kind(Enum):
    """Rule by which relevance passes through an operation."""

    OTHER = auto()  # autograd's rule: linear maps, shapes, selections
    MULTI_HEAD = auto()
    ATTENTION = auto()
    SOFTMAX = auto()
    NORM = auto()
    SPREAD = auto()  # a divisor of a normalization: constant
    POWER = auto()
    SUM = auto()
    PRODUCT = auto()
    MATRIX_PRODUCT = auto()
    ADDED_PRODUCT = auto()
    QUOTIENT = auto()
    POINTWISE = auto()
    CARRIED = auto()  # the same values: a later product may still see which tensor they came from
    LINEAR = auto()
    RECURRENT = auto()
    SAMPLED = auto()  # values read at places: the places are constant


_NAMES: dict[Kind, str] = {
    Kind.MULTI_HEAD: "multi_head_attention_forward",
    Kind.ATTENTION: "scaled_dot_product_attention",
    Kind.SOFTMAX: "softmax _softmax _safe_softmax special_softmax",
    Kind.NORM: "layer_norm rms_norm group_norm normalize",
    Kind.SPREAD: "rsqrt sqrt std norm vector_norm linalg_norm linalg_vector_norm reciprocal",
    Kind.POWER: "pow __pow__",
    Kind.SUM: "add __add__ __radd__ __iadd__ sub __sub__ __rsub__ __isub__ rsub subtract",
    Kind.PRODUCT: "mul multiply __mul__ __rmul__ __imul__",
    Kind.MATRIX_PRODUCT: "matmul __matmul__ __rmatmul__ mm bmm mv dot einsum tensordot outer",
    Kind.ADDED_PRODUCT: "baddbmm addmm",
    Kind.QUOTIENT: "div true_divide divide __truediv__ __rtruediv__ __itruediv__",
    Kind.POINTWISE: "gelu silu relu relu6 leaky_relu elu celu selu mish softplus hardswish hardsigmoid hardtanh tanh "
    "sigmoid logsigmoid erf exp expm1 log log1p sin cos square abs prelu softsign tanhshrink",
    Kind.CARRIED: "neg __neg__ to float double half bfloat16 type_as type contiguous clone dropout",
    Kind.LINEAR: "linear",
    Kind.RECURRENT: "lstm gru rnn_tanh rnn_relu",
    Kind.SAMPLED: "grid_sample grid_sampler grid_sampler_2d",
}
_BY_NAME = {name: kind for kind, names in _NAMES.items() for name in names.split()}
_IN_PLACE = {"__iadd__", "__isub__", "__imul__", "__itruediv__"}


class Operation(NamedTuple):
    """A torch operation. name: without the underscore of an in-place method."""

    name: str
    kind: Kind
    in_place: bool


@cache
def operation(function: Callable[..., Any]) -> Operation:
    """Classify a torch function.

    >>> import torch
    >>> operation(torch.Tensor.mul_)
    Operation(name='mul', kind=<Kind.PRODUCT: 9>, in_place=True)
    """
    name = getattr(function, "__name__", "")
    trailing = name.endswith("_") and not name.endswith("__")
    plain = name[:-1] if trailing else name
    return Operation(plain, _BY_NAME.get(plain, Kind.OTHER), trailing or name in _IN_PLACE)
