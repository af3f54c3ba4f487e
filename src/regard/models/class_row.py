"""Class row: if only the first position decides the answer, run the layers above the last attention for it alone.

Everything above the last attention treats positions independently, so the other positions of its linear layers are
wasted: an eighth of the work of a six-layer BERT. The detection uses no names. The first pass records the linear layers
after the last attention. Then the pass runs again with NaN in the other positions of these layers, which would reach
the output of any model that reads one of them, and with the first position alone, which must give the same outputs. A
model that fails either test runs unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from regard.models.tasks import Outputs
from regard.tap.pass_history import forgettable

SAME = 1e-5
"""Maximum difference of an output, relative to the largest one."""
SHORTEST = 3
"""Minimum positions of an input for the test."""
_ATTENTION = {
    nn.functional.scaled_dot_product_attention,
    nn.functional.softmax,
    torch.softmax,
    torch._softmax,
    Tensor.softmax,
}

TASKS = (
    "classification",
    "multi_label",
    "regression",
    "image_classification",
    "audio_classification",
    "series_classification",
    "tabular_classification",
)
"""Tasks with one answer for the whole input, which a class position may give."""


class _Order(TorchFunctionMode):
    """Linear layers that a pass calls after its last attention, with the shapes of their inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.after: list[tuple[nn.Module, torch.Size]] = []
        self.calls: dict[nn.Module, int] = {}
        self.attends = False

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in _ATTENTION:
            self.after.clear()
            self.attends = True
        return func(*args, **(kwargs or {}))

    def called(self, module: nn.Module, inputs: tuple[Any, ...]) -> None:
        self.calls[module] = self.calls.get(module, 0) + 1
        if inputs and isinstance(inputs[0], Tensor) and inputs[0].ndim == 3:
            self.after.append((module, inputs[0].shape))


class ClassRow:
    """Linear layers of one module that may compute the first position alone; None before the first pass."""

    def __init__(self) -> None:
        self._layers: tuple[nn.Module, ...] | None = None
        forgettable(self)

    def clear(self) -> None:
        """Forget the layers, so that the next pass tests again."""
        self._layers = None

    def outputs(self, module: nn.Module, rows: int, call: Callable[[], Outputs]) -> Outputs:
        """Return the outputs of the call, by the shortcut if an earlier pass has validated it."""
        if self._layers is not None:
            with self.only(rows):
                return call()
        order = _Order()
        hooks = [m.register_forward_pre_hook(order.called) for m in module.modules() if isinstance(m, nn.Linear)]
        try:
            with order:
                outputs = call()
        finally:
            for hook in hooks:
                hook.remove()
        shapes = [shape for _, shape in order.after]
        if not order.attends or not shapes or any(order.calls[layer] > 1 for layer, _ in order.after):
            self._layers = ()
        elif all(len(s) == 3 and s[0] == rows != s[1] >= SHORTEST for s in shapes):
            self._layers = tuple(layer for layer, _ in order.after)
            if not self._same(outputs, rows, call):
                self._layers = ()
        return outputs

    def _same(self, outputs: Outputs, rows: int, call: Callable[[], Outputs]) -> bool:
        """Return whether the outputs need neither the other positions of the layers nor their place in the tensors."""
        for change in (self._spoiled, self.only):
            try:
                with change(rows):
                    again = call()
            except (RuntimeError, ValueError, IndexError):
                return False
            if outputs.keys() != again.keys() or not all(_equal(outputs[name], again[name]) for name in outputs):
                return False
        return True

    @contextmanager
    def _spoiled(self, rows: int) -> Iterator[None]:
        """Put NaN into all positions of the layers' outputs but the first."""

        def spoil(module: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> Tensor:
            spoiled = output.clone()
            spoiled[:, 1:] = torch.nan
            return spoiled

        hooks = [layer.register_forward_hook(spoil) for layer in self._layers or ()]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    @contextmanager
    def only(self, rows: int) -> Iterator[None]:
        """Compute only the first position of `rows` inputs in validated layers; all positions if there are none."""

        def first(module: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...] | None:
            x = inputs[0] if inputs else None
            if not isinstance(x, Tensor) or x.ndim != 3 or len(x) != rows:
                return None
            return (x[:, :1], *inputs[1:])

        hooks = [layer.register_forward_pre_hook(first) for layer in self._layers or ()]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()


def _equal(one: Tensor, other: Tensor) -> bool:
    if one.shape != other.shape:
        return False
    if not one.numel():
        return True
    return bool((one.float() - other.float()).abs().max() <= SAME * one.float().abs().max())
