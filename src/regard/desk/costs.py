"""Per-method cost accounting: wall time, forward and backward passes, requests."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from regard.store.shard_result import Cost


class CostMeter:
    """Costs of one audit, shared by the desks of its variants."""

    def __init__(self) -> None:
        self._costs: dict[tuple[str, str], list[float]] = {}
        self._payers: list[tuple[str, str]] = [("model", "base")]
        self._since = time.perf_counter()

    @property
    def payer(self) -> tuple[str, str]:
        """(kind, method) that pays for the current work."""
        return self._payers[-1]

    @contextmanager
    def charged_to(self, kind: str, method: str) -> Iterator[None]:
        """Charge everything inside the block to this method, and to no other."""
        self._clock()
        self._payers.append((kind, method))
        try:
            yield
        finally:
            self._clock()
            self._payers.pop()

    def costs(self) -> tuple[Cost, ...]:
        return tuple(
            Cost(
                kind=kind,
                method=method,
                seconds=seconds,
                forwards=int(forwards),
                backwards=int(backwards),
                requests=int(requests),
            )
            for (kind, method), (seconds, forwards, backwards, requests) in self._costs.items()
        )

    def _clock(self) -> None:
        now = time.perf_counter()
        self.charge(seconds=now - self._since)
        self._since = now

    def charge(self, *, seconds: float = 0.0, forwards: int = 0, backwards: int = 0, requests: int = 0) -> None:
        sums = self._costs.setdefault(self.payer, [0.0, 0, 0, 0])
        sums[0] += seconds
        sums[1] += forwards
        sums[2] += backwards
        sums[3] += requests


class Metered:
    """Differentiable function of a model that charges for its rows; other attributes are those of the function.

    check: raises if an output is not finite. A backward pass is assumed if the output requires grad.
    """

    def __init__(self, function: Any, meter: CostMeter, check: Callable[[Any], Any]) -> None:
        self._function, self._meter, self._check = function, meter, check

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)

    def __call__(self, x: Any) -> Any:
        return self._charged(self._function(x), len(x[0]) if isinstance(x, list | tuple) else len(x))

    def logits(self, x: Any, rows: Any = None) -> Any:
        return self._charged(self._function.logits(x, rows), len(x))

    def _charged(self, output: Any, rows: int) -> Any:
        self._check(output)
        self._meter.charge(requests=rows, forwards=rows, backwards=rows if output.requires_grad else 0)
        return output
