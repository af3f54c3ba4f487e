"""Counters and histograms of the service in the Prometheus text format."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Callable, Mapping

from regard.present.messages.messages import say

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
ROWS = (1, 2, 4, 8, 16, 32, 64)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Histogram:
    """Counts by upper bound, their sum and their number."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds, self.counts = bounds, [0] * (len(bounds) + 1)
        self.total, self.n = 0.0, 0

    def add(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value
        self.n += 1

    def lines(self, name: str, labels: str) -> list[str]:
        running, lines = 0, []
        for bound, count in zip((*self.bounds, float("inf")), self.counts, strict=True):
            running += count
            end = "+Inf" if bound == float("inf") else f"{bound:g}"
            lines.append(f'{name}_bucket{{{labels}{"," if labels else ""}le="{end}"}} {running}')
        tail = f"{{{labels}}}" if labels else ""
        return [*lines, f"{name}_sum{tail} {self.total:.6f}", f"{name}_count{tail} {self.n}"]


class ServiceMetrics:
    """Requests by operation and status, their seconds, batch sizes, and gauges read on request."""

    def __init__(self, facts: Mapping[str, str]) -> None:
        self._facts = dict(facts)
        self._lock = threading.Lock()
        self._requests: dict[tuple[str, int], int] = {}
        self._seconds: dict[str, Histogram] = {}
        self._rows = Histogram(ROWS)
        self._gauges: dict[str, Callable[[], float]] = {}

    def gauge(self, name: str, read: Callable[[], float]) -> None:
        self._gauges[name] = read

    def request(self, operation: str, status: int, seconds: float) -> None:
        with self._lock:
            key = operation, status
            self._requests[key] = self._requests.get(key, 0) + 1
            self._seconds.setdefault(operation, Histogram(BUCKETS)).add(seconds)

    def batch(self, rows: int) -> None:
        with self._lock:
            self._rows.add(rows)

    def text(self) -> str:
        with self._lock:
            lines = [
                *_header("info", "gauge"),
                "regard_info{" + ",".join(f'{k}="{_escaped(v)}"' for k, v in self._facts.items()) + "} 1",
                *_header("requests_total", "counter"),
            ]
            for (operation, status), n in sorted(self._requests.items()):
                lines.append(f'regard_requests_total{{operation="{operation}",status="{status}"}} {n}')
            lines += _header("request_seconds", "histogram")
            for operation, histogram in sorted(self._seconds.items()):
                lines += histogram.lines("regard_request_seconds", f'operation="{operation}"')
            lines += _header("batch_rows", "histogram")
            lines += self._rows.lines("regard_batch_rows", "")
            for name, read in self._gauges.items():
                lines += [*_header(name, "gauge"), f"regard_{name} {read():g}"]
        return "\n".join(lines) + "\n"


def _header(name: str, kind: str) -> list[str]:
    """Comments above a metric: its meaning and its kind."""
    return [f"# HELP regard_{name} {say(f'serve.metrics.{name}')}", f"# TYPE regard_{name} {kind}"]


def _escaped(text: str) -> str:
    """
    >>> _escaped('a "b"')
    'a \\\\"b\\\\"'
    """
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
