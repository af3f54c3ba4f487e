"""One line of a benchmark: its name, the measured ratio and its bar; and a fair way to measure two sides."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Line:
    what: str
    ratio: float
    bar: float
    must_be: Literal["<=", ">="]
    detail: dict[str, float | str] = field(default_factory=dict)

    @property
    def met(self) -> bool:
        return self.ratio <= self.bar if self.must_be == "<=" else self.ratio >= self.bar

    def shown(self) -> str:
        mark = "ok  " if self.met else "MISS"
        details = ", ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in self.detail.items())
        return f"{mark} {self.ratio:6.2f}x  ({self.must_be} {self.bar})  {self.what}" + (
            f"  [{details}]" if details else ""
        )

    def to_json(self) -> dict[str, object]:
        return {
            "what": self.what,
            "ratio": round(self.ratio, 3),
            "must_be": f"{self.must_be} {self.bar}",
            "met": self.met,
            "detail": self.detail,
        }


def side_by_side(sides: dict[str, Callable[[], object]], *, repeats: int = 7) -> dict[str, float]:
    """Return CPU seconds of each side: the minimum over interleaved repeats, after one unmeasured round."""
    return {name: min(seconds) for name, seconds in interleaved(sides, repeats=repeats).items()}


def interleaved(sides: dict[str, Callable[[], object]], *, repeats: int) -> dict[str, list[float]]:
    """Return CPU seconds of each side in every round; every round runs all sides, and the first one is not counted."""
    rounds: dict[str, list[float]] = {name: [] for name in sides}
    for turn in range(repeats + 1):
        for name, call in sides.items():
            start = time.process_time()
            call()
            if turn:
                rounds[name].append(time.process_time() - start)
    return rounds


def peak_memory_mb() -> float:
    """Return the peak resident memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
