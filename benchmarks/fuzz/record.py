"""The record of a campaign: written completely after every step, so that an interrupted campaign continues."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from benchmarks.__main__ import commit
from benchmarks.fuzz.outcome import GOOD, Kind
from benchmarks.fuzz.pool import Result, Task

RESULTS = Path(__file__).resolve().parents[1] / "results" / "fuzz.json"
BAD = (*(kind for kind in get_args(Kind) if kind not in GOOD), "broken case")
MOST_FAILURES = 200


class Record:
    """Counts by target, failures with the command that reproduces them, and the figures of the other parts."""

    def __init__(self, path: Path | None, seed: int, command: str) -> None:
        self.path = path
        about = {"command": command, "commit": commit(), "seed": seed}
        earlier = _read(path) if path is not None else {}
        same = not earlier.get("complete", True) and all(earlier.get(key) == value for key, value in about.items())
        self.data: dict[str, Any] = (
            earlier
            if same
            else {
                **about,
                "machine": f"{platform.machine()}, Python {platform.python_version()}",
                "complete": False,
                "met": False,
                "inputs": {},
                "failures": [],
            }
        )

    def todo(self, target: str, count: int) -> Iterator[int]:
        """Return the numbers of a target's untried inputs."""
        known = set(self._tried(target))
        return (number for number in range(count) if number not in known)

    def enter(self, result: Result) -> None:
        counts = self.data["inputs"].setdefault(result.task.target, {"tried": 0})
        counts["tried"] += 1
        counts[result.kind] = counts.get(result.kind, 0) + 1
        self._tried(result.task.target).append(result.task.number)
        if not result.good and len(self.data["failures"]) < MOST_FAILURES:
            self.data["failures"].append(
                {"kind": result.kind, "detail": result.detail[:400], "again": again(result.task)}
            )

    def _tried(self, target: str) -> list[int]:
        """Return the numbers of tried inputs, not their count: two workers do not finish inputs in order."""
        numbers: list[int] = self.data.setdefault("tried", {}).setdefault(target, [])
        return numbers

    def finish(self, *, met: bool) -> None:
        """Finish the record; the numbers of single inputs are no longer needed."""
        self.data |= {"complete": True, "met": met}
        self.data.pop("tried", None)
        self.write()

    def note(self, part: str, figures: dict[str, Any]) -> None:
        self.data[part] = figures
        self.write()

    def totals(self) -> dict[str, int]:
        """Count inputs and every kind of bad end over all targets."""
        every = list(self.data["inputs"].values())
        totals = {"inputs": sum(counts["tried"] for counts in every)}
        return totals | {kind: sum(counts.get(kind, 0) for counts in every) for kind in BAD}

    def write(self) -> None:
        self.data["totals"] = self.totals()
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_name(f".{self.path.name}.new")
        new.write_text(json.dumps(self.data, indent=1) + "\n", "utf-8")
        os.replace(new, self.path)


def again(task: Task) -> str:
    """Return the command that reproduces one case."""
    return f"python -m benchmarks.fuzz --only {task.target} --seed {task.seed} --case {task.number}"


def _read(path: Path) -> dict[str, Any]:
    try:
        earlier = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return earlier if isinstance(earlier, dict) else {}
