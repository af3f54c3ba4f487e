"""Meaning of torch functions to the tap, in any calling form (function, method, operator, OpOverload)."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from functools import cache
from typing import Any


class Op(Enum):
    """Meanings of operations that help to find attention."""

    PLAIN = auto()  # a property, a size: nothing to follow
    CARRY = auto()  # elementwise and the like: what is known about the input holds for the output
    SHAPE = auto()  # a pure rearrangement of elements
    CAST = auto()  # the same elements in another type or place
    DROPOUT = auto()
    STOP = auto()  # mixes elements: nothing is known about the output but what it was made from
    SELECT = auto()  # keeps some elements by their value
    SOFTMAX = auto()
    LOG_SOFTMAX = auto()
    EXP = auto()
    ATTENTION = auto()
    FLASH = auto()
    FLEX = auto()
    MULTI_HEAD = auto()
    PRODUCT = auto()
    ADDED_PRODUCT = auto()
    LINEAR = auto()
    EINSUM = auto()
    TIMES = auto()
    TOTAL = auto()


_MEANINGS: dict[Op, str] = {
    Op.SOFTMAX: "softmax _softmax _safe_softmax special_softmax gumbel_softmax",
    Op.LOG_SOFTMAX: "log_softmax _log_softmax special_log_softmax",
    Op.EXP: "exp",
    Op.ATTENTION: "scaled_dot_product_attention",
    Op.FLASH: "_scaled_dot_product_flash_attention_for_cpu",
    Op.FLEX: "flex_attention",
    Op.MULTI_HEAD: "multi_head_attention_forward",
    Op.PRODUCT: "matmul __matmul__ __rmatmul__ mm bmm mv dot vdot",
    Op.ADDED_PRODUCT: "baddbmm addmm",
    Op.LINEAR: "linear",
    Op.EINSUM: "einsum",
    Op.TIMES: "mul multiply __mul__ __rmul__ __imul__",
    Op.TOTAL: "sum mean",
    Op.DROPOUT: "dropout alpha_dropout feature_dropout native_dropout",
    Op.SELECT: "topk sort kthvalue",
    Op.SHAPE: "view reshape transpose permute squeeze unsqueeze expand flatten unflatten __getitem__ movedim moveaxis "
    "swapaxes swapdims select narrow t expand_as view_as reshape_as unbind split chunk slice tensor_split "
    "pad constant_pad_nd split_with_sizes _unsafe_view T mT H mH adjoint unsafe_chunk unsafe_split",
    Op.CAST: "contiguous clone to type_as type float double half bfloat16 detach alias cpu cuda _to_copy data "
    "requires_grad_ lift_fresh_copy nan_to_num",
    Op.STOP: "conv1d conv2d conv3d conv_transpose1d embedding lstm gru rnn_tanh rnn_relu addbmm tensordot cdist "
    "amax amin logsumexp norm argmax argmin any all bincount one_hot layer_norm batch_norm group_norm cross_entropy "
    "nll_loss index_add scatter_add index_select gather avg_pool1d avg_pool2d max_pool1d max_pool2d",
}
_BY_NAME = {name: op for op, names in _MEANINGS.items() for name in names.split()}
_PROPERTIES = {"T", "mT", "H", "mH", "data"}


@cache
def meaning(function: Callable[..., Any]) -> Op:
    """Return the meaning of `function`; cached, because every call asks.

    >>> import torch
    >>> meaning(torch.Tensor.softmax), meaning(torch.ops.aten.softmax.int), meaning(torch.Tensor.add_)
    (<Op.SOFTMAX: ...>, <Op.SOFTMAX: ...>, <Op.CARRY: ...>)
    """
    name = getattr(function, "__name__", "")
    if name == "__get__":
        name = getattr(function.__self__, "__name__", "")  # type: ignore[attr-defined]
        return _BY_NAME[name] if name in _PROPERTIES else Op.PLAIN
    if name in ("__set__", "size", "dim", "numel", "__len__", "item", "tolist", "__bool__", "__repr__", "__format__"):
        return Op.PLAIN
    name = name.partition(".")[0]
    if name in _BY_NAME:
        return _BY_NAME[name]
    return _BY_NAME.get(name.removesuffix("_"), Op.CARRY) if not name.endswith("__") else Op.CARRY


CALLED = (Op.SOFTMAX, Op.LOG_SOFTMAX, Op.ATTENTION, Op.FLASH, Op.FLEX, Op.MULTI_HEAD)
"""Meanings that even the light tap handles."""


class Looked(dict[Callable[..., Any], "Op | None"]):
    """Function -> its meaning if the tap must handle it, else None; a bare dict, because every call looks it up."""

    def __missing__(self, function: Callable[..., Any]) -> Op | None:
        operation = meaning(function)
        self[function] = result = operation if operation in CALLED else None
        return result


LOOKED = Looked()
