"""Memory of dense weights that nobody holds any more: the next capture writes into it instead of into fresh pages.

Fresh pages cost as much as the weights themselves: the kernel clears every one of them at its first use.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.tap.pass_history import forgettable

MOST_IDLE = 256 << 20
"""Bytes that wait for the next capture at most: 256 MiB."""


@dataclass(slots=True, eq=False, weakref_slot=True)
class _Idle:
    """Idle memory by shape. A shard of an audit begins without any: its model needs the room."""

    by_shape: dict[tuple[int, ...], list[Tensor]] = field(default_factory=dict)

    def clear(self) -> None:
        self.by_shape.clear()

    def put(self, whole: Tensor) -> None:
        shape, size = tuple(whole.shape), _bytes(whole)
        waiting = sum(_bytes(tensor) for tensors in self.by_shape.values() for tensor in tensors)
        if waiting + size > MOST_IDLE:  # memory of other shapes makes room
            for other in [other for other in self.by_shape if other != shape]:
                del self.by_shape[other]
            waiting = sum(map(_bytes, self.by_shape.get(shape, ())))
        if waiting + size <= MOST_IDLE:
            self.by_shape.setdefault(shape, []).append(whole)

    def take(self, shape: tuple[int, ...]) -> Tensor | None:
        tensors = self.by_shape.get(shape)
        return tensors.pop() if tensors else None


_IDLE = forgettable(_Idle())


def reused_array(shape: tuple[int, ...]) -> tuple[Tensor, NDArray[np.float32]]:
    """A tensor of float32 and the array that shares its memory; what they hold is undefined.

    The memory is used again once the array and all views of it are gone, so hand out the array, not the tensor.

    >>> tensor, array = reused_array((2, 3))
    >>> tensor.shape == array.shape == (2, 3)
    True
    """
    idle = _IDLE.take(shape)
    whole = torch.empty(shape) if idle is None else idle
    array: NDArray[np.float32] = whole.numpy()
    weakref.finalize(array, _IDLE.put, whole).atexit = False
    return whole, array


def _bytes(tensor: Tensor) -> int:
    return tensor.numel() * tensor.element_size()
