"""Chunks by name, with a budget; made at once or on request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from numpy.typing import NDArray

from regard.present.pack.weights import compressed

Part = tuple[str, NDArray[Any]]
Promise = Callable[[], NDArray[Any]]


class Chunks(Mapping[str, bytes]):
    """name -> gzip bytes. `offer` takes parts only as long as they fit the budget, `add` always."""

    def __init__(self, budget: int, *, lazy: bool) -> None:
        self._raw: dict[str, NDArray[Any]] = {}
        self._promised: dict[str, Promise] = {}
        self._done: dict[str, bytes] = {}
        self._budget, self._used, self._lazy = budget, 0, lazy

    @property
    def lazy(self) -> bool:
        return self._lazy

    def promise(self, parts: Iterable[tuple[str, Promise]]) -> None:
        """Register parts to compute on request, without caching them."""
        self._promised |= dict(parts)

    def add(self, name: str, array: NDArray[Any]) -> None:
        if self._lazy:
            self._raw[name] = array
            self._used += array.nbytes
        else:
            blobs = compressed([(name, array)])
            self._done |= blobs
            self._used += len(blobs[name])

    def offer(self, parts: Iterable[Part]) -> bool:
        """Add all of these parts if they fit the budget, or none."""
        arrays = list(parts)
        if self._lazy:
            size = sum(array.nbytes for _, array in arrays)
            if fits := self._used + size <= self._budget:
                self._raw |= dict(arrays)
                self._used += size
            return fits
        if self._used >= self._budget:
            return False  # what cannot fit need not be compressed to see it
        blobs = compressed(arrays)
        size = sum(map(len, blobs.values()))
        if fits := self._used + size <= self._budget:
            self._done |= blobs
            self._used += size
        return fits

    def __getitem__(self, name: str) -> bytes:
        if name in self._promised:
            return compressed([(name, self._promised[name]())])[name]
        if name not in self._done:
            self._done |= compressed([(name, self._raw[name])])
        return self._done[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._raw, **self._done, **self._promised})

    def __len__(self) -> int:
        return len({*self._raw, *self._done, *self._promised})
