"""The outputs of a command, in parts that can be compared byte for byte, without seconds and dates."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

TIMES = re.compile(r"seconds|^costs$|^date$|^finished$|^resumed$")
"""Keys whose values say when or how fast."""


@dataclass(frozen=True)
class Contents:
    """parts: name -> digest of its bytes. committed: parts that must never be lost. twice: duplicates.

    work: the passes of the model, where they are counted.
    """

    parts: dict[str, str]
    committed: set[str] = field(default_factory=set)
    twice: list[str] = field(default_factory=list)
    work: object = None


def audit_contents(out: Path) -> Contents:
    """Every table of the run."""
    from regard.store.export import TABLES
    from regard.store.ledger import Ledger
    from regard.store.run import Run

    with Ledger.read(out) as book:
        tasks = [task.key for task in book.tasks()]
    run = Run(out)
    parts = {name: _digest([dict(row) for row in rows(run)]) for name, (_, rows) in TABLES.items() if name != "costs"}
    parts |= {f"attention of {name}": _arrays([a.weights for a in run.capture(name)]) for name in run.kept()}
    parts["status"] = str(run.manifest["status"])
    parts["skipped"] = _digest(dict(run.skipped))
    work = sorted((c["kind"], c["method"], c["forwards"], c["backwards"], c["requests"]) for c in run.costs())
    return Contents(parts, set(tasks), _more_than_once(tasks), work)


def train_contents(out: Path) -> Contents:
    """Weights as stored and descriptions without times; intermediate files must be gone."""
    parts = {}
    for file in sorted(path for path in out.rglob("*") if path.is_file() and path.name != "lock"):
        name = str(file.relative_to(out))
        if "state/" in name:
            continue
        parts[name] = _digest(json.loads(file.read_text("utf-8"))) if file.suffix == ".json" else _bytes(file)
    finished = {str(file.relative_to(out)) for file in out.glob("seed-*/facts.json")}
    return Contents(parts, finished)


def attack_contents(out: Path) -> Contents:
    """One line per attack and example; a truncated last line was never committed."""
    rows = []
    for line in (out / "attacks.jsonl").read_bytes().split(b"\n")[1:]:
        if line:
            try:
                rows.append(json.loads(line))
            except ValueError:
                break
    names = [f"{row['attack']}/{row['id']}" for row in rows]
    parts = {name: _digest(row) for name, row in zip(names, rows, strict=True)}
    return Contents(parts, set(names), _more_than_once(names), sum(row["queries"] for row in rows))


def improve_contents(out: Path) -> Contents:
    """The trained networks, and the table of before and after."""
    trained = train_contents(out)
    finished = {str(file.relative_to(out)) for file in out.glob("*/seed-*/facts.json")}
    return Contents(trained.parts, finished)


def page_contents(out: Path) -> Contents:
    """The page, complete or absent: a kill leaves no partial page."""
    files = sorted(path for path in out.iterdir() if path.suffix == ".html")
    for file in files:
        text = file.read_text("utf-8").rstrip()
        if not text.endswith("</html>"):
            return Contents({file.name: "half a page"}, set(), [f"half of {file.name}"])
    return Contents({file.name: _bytes(file) for file in files}, {file.name for file in files})


def without_times(value: Any) -> Any:
    """Return the same JSON without values that depend on the clock.

    >>> without_times({"seconds": 3, "n": [{"date": "x", "k": 1}]})
    {'n': [{'k': 1}]}
    """
    if isinstance(value, dict):
        return {key: without_times(inner) for key, inner in value.items() if not TIMES.search(str(key))}
    if isinstance(value, list | tuple):
        return [without_times(inner) for inner in value]
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value.hex() if isinstance(value, float) else value


def _digest(value: Any) -> str:
    text = json.dumps(without_times(value), sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _arrays(arrays: list[Any]) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(str(np.asarray(array).shape).encode() + np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _bytes(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _more_than_once(names: list[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]
