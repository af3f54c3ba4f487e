"""Memory of dense weights that nobody holds any more: the next capture writes into it instead of into fresh pages.

Fresh pages cost as much as the weights themselves: the kernel clears every one of them at its first use.
"""

from __future__ import annotations

import weakref

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

MOST_IDLE = 256 << 20
"""Bytes that wait for the next capture at most: 256 MiB."""
_IDLE: dict[tuple[int, ...], list[Tensor]] = {}


def reused_array(shape: tuple[int, ...]) -> tuple[Tensor, NDArray[np.float32]]:
    """A tensor of float32 and the array that shares its memory; what they hold is undefined.

    The memory is used again once the array and all views of it are gone, so hand out the array, not the tensor.

    >>> tensor, array = reused_array((2, 3))
    >>> tensor.shape == array.shape == (2, 3)
    True
    """
    idle = _IDLE.get(shape)
    whole = idle.pop() if idle else torch.empty(shape)
    array: NDArray[np.float32] = whole.numpy()
    weakref.finalize(array, _returned, whole).atexit = False
    return whole, array


def _returned(whole: Tensor) -> None:
    size = whole.numel() * whole.element_size()
    waiting = sum(t.numel() * t.element_size() for tensors in _IDLE.values() for t in tensors)
    if waiting + size > MOST_IDLE:  # memory of other shapes makes room
        for shape in [shape for shape in _IDLE if shape != tuple(whole.shape)]:
            del _IDLE[shape]
        waiting = sum(t.numel() * t.element_size() for t in _IDLE.get(tuple(whole.shape), ()))
    if waiting + size <= MOST_IDLE:
        _IDLE.setdefault(tuple(whole.shape), []).append(whole)
