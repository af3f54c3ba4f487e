"""Who pays for what the model computes: seconds, forwards, backwards and requests, by method."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from regard.store.shard_result import Cost


class Till:
    """The costs of one audit; the desks of its variants share it."""

    def __init__(self) -> None:
        self._costs: dict[tuple[str, str], list[float]] = {}
        self._payers: list[tuple[str, str]] = [("model", "base")]
        self._since = time.perf_counter()

    @property
    def payer(self) -> tuple[str, str]:
        return self._payers[-1]

    @contextmanager
    def paid_by(self, kind: str, method: str) -> Iterator[None]:
        """Everything inside is charged to this method, and to no other."""
        self._clock()
        self._payers.append((kind, method))
        try:
            yield
        finally:
            self._clock()
            self._payers.pop()

    def costs(self) -> tuple[Cost, ...]:
        return tuple(
            Cost(kind, method, seconds, int(forwards), int(backwards), int(requests))
            for (kind, method), (seconds, forwards, backwards, requests) in self._costs.items()
        )

    def _clock(self) -> None:
        now = time.perf_counter()
        self.pay(seconds=now - self._since)
        self._since = now

    def pay(self, *, seconds: float = 0.0, forwards: int = 0, backwards: int = 0, requests: int = 0) -> None:
        sums = self._costs.setdefault(self._payers[-1], [0.0, 0, 0, 0])
        sums[0] += seconds
        sums[1] += forwards
        sums[2] += backwards
        sums[3] += requests
