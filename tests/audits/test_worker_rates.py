"""The facts that `regard status` shows belong to one moment."""

from __future__ import annotations

from regard.audits.worker_rates import STORED_EVERY, WorkerRates
from regard.records import Json


class Ledger:
    def __init__(self) -> None:
        self.entries: list[Json] = []

    def note_activity(self, activity: Json, /) -> None:
        self.entries.append(activity)


def test_workers_and_progress_of_an_entry_agree() -> None:
    ledger, moments = Ledger(), iter(range(100))
    rates = WorkerRates(ledger, clock=lambda: STORED_EVERY * next(moments))
    rates.progress(0, 24, None)
    for done in (8, 16, 24):
        rates.add("here:1", 8, 2.0)
        rates.progress(done, 24, 1.0)
    counts = [(entry["done"], sum(w["examples"] for w in entry["workers"].values())) for entry in ledger.entries]  # type: ignore[index, call-overload, union-attr]
    assert counts == [(0, 0), (8, 8), (16, 16), (24, 24)]
