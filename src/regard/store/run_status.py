"""State of a running run, from the ledger alone: reads no page and no example."""

from __future__ import annotations

import sqlite3
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from regard.errors import in_words, phrase
from regard.records import Json
from regard.store.ledger import Ledger, not_a_run
from regard.store.row_pages import FOLDER

MOST_PROBLEMS = 20
"""Maximum problems in a status."""


@dataclass(frozen=True, slots=True)
class RunStatus:
    """State of a run. status: "running", "interrupted", "complete", or "stopped" if the writer vanished.

    activity: progress and workers of the last session (see `audits.worker_rates`). shards, split: finished tasks, and
    tasks whose examples follow one by one. killers: examples that killed their worker every time. every_row: activity
    of a pass over every row, if any.
    """

    run: str
    status: str
    model: str
    data: str
    started: str
    resumed: int
    examples: int
    shards: int
    split: int
    problems: int
    killers: tuple[str, ...]
    listed: tuple[tuple[str, str, str], ...]
    activity: dict[str, Any]
    every_row: dict[str, Any]

    def to_json(self) -> dict[str, Json]:
        problems: list[Json] = [{"id": i, "stage": stage, "message": text} for i, stage, text in self.listed]
        return {**asdict(self), "killers": [*self.killers], "listed": problems}


def run_status(path: str | Path) -> RunStatus:
    """Read the state of a run from its directory; another process may be writing to it."""
    root = Path(path)
    with Ledger.read(root) as ledger:
        facts, counts, problems = ledger.facts(), ledger.counts(), ledger.problems()
    if "manifest" not in facts:
        raise not_a_run(root, phrase("errors.store.run_that_stopped_before_first"))
    manifest, status = facts["manifest"], str(facts.get("status", "running"))
    killers = tuple(dict.fromkeys(p.id for p in problems if p.stage == "worker"))
    return RunStatus(
        run=str(root),
        status="stopped" if status == "running" and not _is_written(root) else status,
        model=str(manifest["model"]["name"]),
        data=str(manifest["data"]["name"]),
        started=str(manifest["created"]),
        resumed=len(facts.get("resumed", [])),
        examples=counts["example"],
        shards=counts["done"],
        split=counts["split"],
        problems=len(problems),
        killers=killers,
        listed=tuple((p.id, p.stage, in_words(p.message)) for p in problems[:MOST_PROBLEMS]),
        activity=dict(facts.get("activity") or {}),
        every_row=_row_activity(root / FOLDER),
    )


def _row_activity(folder: Path) -> dict[str, Any]:
    if not Ledger.exists(folder):
        return {}
    with Ledger.read(folder) as ledger:
        return dict(ledger.facts().get("activity") or {})


def _is_written(root: Path) -> bool:
    """Return whether a process holds the lock of the run."""
    lock = root / "lock"
    if not lock.is_file():
        return False
    try:
        connection = sqlite3.connect(f"file:{quote(str(lock.resolve()))}?mode=ro", uri=True, timeout=0)
    except sqlite3.Error:
        return False
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        return error.sqlite_errorname.startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))
    except sqlite3.Error:
        return False
    finally:
        connection.close()
    return False
