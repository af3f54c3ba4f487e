"""Examples and busy seconds by worker, stored in the run every few seconds for `regard status`."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from regard.records import Json
from regard.store.manifest import now

STORED_EVERY = 2.0
"""Seconds between two entries in the ledger."""


class ActivityWriter(Protocol):
    """Target of the facts: a run, or the pages of every row."""

    def note_activity(self, activity: Json, /) -> None: ...


@dataclass
class _Worker:
    examples: int = 0
    seconds: float = 0.0
    last: str = ""


@dataclass
class WorkerRates:
    """Work of each worker in this session, and progress of the audit.

    watch: called with the same facts that the run stores. clock: seconds that never go back.
    """

    writer: ActivityWriter
    watch: Callable[[dict[str, Json]], None] | None = None
    clock: Callable[[], float] = time.monotonic
    workers: dict[str, _Worker] = field(default_factory=dict)
    _progress: tuple[int, int, float | None] = (0, 0, None)
    _stored: float = float("-inf")

    def add(self, worker: str, examples: int, seconds: float) -> None:
        """Count a shard of a worker. The next `progress` stores it."""
        if not worker:
            return
        entry = self.workers.setdefault(worker, _Worker())
        entry.examples, entry.seconds, entry.last = entry.examples + examples, entry.seconds + seconds, now()

    def progress(self, done: int, total: int, eta: float | None) -> None:
        """Take the progress of the audit, as `scheduler.Progress` reports it."""
        self._progress = (done, total, eta)
        self._tell()

    def facts(self) -> dict[str, Json]:
        finished, total, eta = self._progress
        workers: dict[str, Json] = {
            name: {
                "examples": w.examples,
                "seconds": round(w.seconds, 3),
                "rate": round(w.examples / w.seconds, 3) if w.seconds else None,
                "last": w.last,
            }
            for name, w in sorted(self.workers.items())
        }
        left = None if eta is None else round(eta, 1)
        return {"updated": now(), "done": finished, "total": total, "seconds_left": left, "workers": workers}

    def _tell(self) -> None:
        if self.clock() - self._stored < STORED_EVERY:
            return
        self._stored = self.clock()
        self.store()

    def store(self) -> None:
        """Enter the facts into the run now."""
        facts = self.facts()
        self.writer.note_activity(facts)
        if self.watch is not None:
            self.watch(facts)
