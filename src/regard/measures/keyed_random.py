"""Random numbers keyed by name, independent of drawing order.

The generator of (seed, example id, method) is the same whatever was drawn before, in whichever order, batch or
process. So a run can be cut, resumed and spread over workers, and every example keeps its numbers.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from regard.random_keys import key_bytes
from regard.random_keys import keyed_rng as keyed_rng

_WORD = (1 << 64) - 1
_GAMMA = 0x9E3779B97F4A7C15
_FIRST, _SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


class Stream:
    """A counter-based stream: draw k is a mix of (key, k), so it costs nothing to start and nothing to skip.

    For a few numbers for each of very many examples, where creating a generator would cost more than using it. The mix
    is SplitMix64 (Steele, Lea & Flood 2014). Draws of one and of many are the same stream.

    >>> stream = Stream(1234567)
    >>> [stream.bits() for _ in range(2)]
    [6457827717110365317, 3203168211198807973]
    """

    __slots__ = ("_state",)

    def __init__(self, key: int) -> None:
        self._state = key & _WORD

    def bits(self) -> int:
        """64 random bits."""
        self._state = z = (self._state + _GAMMA) & _WORD
        z = ((z ^ (z >> 30)) * _FIRST) & _WORD
        z = ((z ^ (z >> 27)) * _SECOND) & _WORD
        return z ^ (z >> 31)

    def below(self, n: int) -> int:
        """An integer in 0..n-1 (of 64 bits: the bias is under n / 2**64)."""
        self._state = z = (self._state + _GAMMA) & _WORD  # `bits`, without the price of a call
        z = ((z ^ (z >> 30)) * _FIRST) & _WORD
        z = ((z ^ (z >> 27)) * _SECOND) & _WORD
        return ((z ^ (z >> 31)) * n) >> 64

    def share(self) -> float:
        """A number in [0, 1)."""
        return (self.bits() >> 11) * 2.0**-53

    def sample(self, n: int, k: int) -> list[int]:
        """k different integers of 0..n-1, in increasing order (Floyd's method)."""
        numbers: set[int] = set()
        state = self._state
        for top in range(n - min(k, n), n):
            state = z = (state + _GAMMA) & _WORD  # `below`, without the price of a call
            z = ((z ^ (z >> 30)) * _FIRST) & _WORD
            z = ((z ^ (z >> 27)) * _SECOND) & _WORD
            number = ((z ^ (z >> 31)) * (top + 1)) >> 64
            numbers.add(top if number in numbers else number)
        self._state = state
        return sorted(numbers)

    def shares(self, *shape: int) -> NDArray[np.float64]:
        """An array of numbers in [0, 1)."""
        count = math.prod(shape)
        with np.errstate(over="ignore"):
            z = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(_GAMMA) + np.uint64(self._state)
            self._state = (self._state + count * _GAMMA) & _WORD
            z = (z ^ (z >> np.uint64(30))) * np.uint64(_FIRST)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(_SECOND)
        return ((z ^ (z >> np.uint64(31))) >> np.uint64(11)).astype(np.float64).reshape(shape) * 2.0**-53

    def normals(self, *shape: int) -> NDArray[np.float64]:
        """An array of standard normal numbers (Box and Muller)."""
        count = math.prod(shape)
        radius = np.sqrt(-2 * np.log(1 - self.shares((count + 1) // 2)))
        angle = 2 * np.pi * self.shares((count + 1) // 2)
        both = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])
        return np.asarray(both[:count], np.float64).reshape(shape)


def keyed_stream(seed: int, *keys: object) -> Stream:
    """The stream of (seed, *keys); keys as for `keyed_rng`, which gives other numbers.

    >>> keyed_stream(0, "review-17", "keyboard").sample(10, 3)
    [5, 6, 7]
    """
    return Stream(int.from_bytes(hashlib.blake2b(key_bytes((int(seed), *keys)), digest_size=8).digest(), "big"))


def keyed_streams(seed: int, *keys: object) -> Callable[[str], Stream]:
    """Build streams of (seed, *keys) for many names; the common part is hashed once.

    >>> keyed_streams(0, "keyboard", 3)("review-17").sample(10, 3)
    [2, 4, 7]
    """
    shared = hashlib.blake2b(key_bytes((int(seed), *keys)), digest_size=8)

    def stream(name: str) -> Stream:
        own = shared.copy()
        own.update(name.encode("utf-8", "surrogatepass"))
        return Stream(int.from_bytes(own.digest(), "big"))

    return stream
