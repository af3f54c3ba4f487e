"""Runs made by hand: n examples, what the model said, a few scores; what a gate is tried on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from regard.records import Example, Relevance, Score, Units
from regard.store.run import Run
from regard.store.run_writer import RunWriter
from regard.store.shard_result import ShardResult, units_to_json

WORDS = ("good", "bad", "film", "plot", "end")
UNITS = Units(
    WORDS, "word", "span", np.array([[i, i + 1] for i in range(5)]), [False] * 5, range(5), [0] * 5, range(5), (5,)
)


def ids(n: int) -> tuple[str, ...]:
    return tuple(f"e{i}" for i in range(n))


def made_run(
    path: Path,
    right: Sequence[bool],
    *,
    scores: Sequence[Score] = (),
    findings: Sequence[Score] = (),
    relevances: Sequence[Relevance] = (),
    status: str = "complete",
    text: str = "good bad film plot end",
    fingerprint: str = "aa",
    groups: Sequence[str] | None = None,
) -> Run:
    """Every even example is positive; the model says so where `right`, else the contrary."""
    labels = ["negative", "positive"]
    names = ids(len(right))
    examples = [
        Example(n, {"text": f"{text} {i}"}, labels[i % 2], group=groups[i] if groups else None, slices={"year": "1990"})
        for i, n in enumerate(names)
    ]
    rows = []
    for i, (name, yes) in enumerate(zip(names, right, strict=True)):
        said = i % 2 if yes else 1 - i % 2
        rows.append(
            {"id": name, "predicted": labels[said], "target": said, "probability": 0.8, "value": 1.0,
             "distribution": [0.2, 0.8], "units": units_to_json(UNITS)}
        )  # fmt: skip
    page = ShardResult(tuple(rows), tuple(relevances), tuple(scores), tuple(findings))
    manifest = {
        "model": {"name": "m", "labels": labels, "fingerprint": fingerprint}, "data": {"name": "d"}, "seed": 0,
        "methods": [r.method for r in relevances],
    }  # fmt: skip
    with RunWriter(path, {"path": str(path)}) as writer:
        writer.open(manifest, examples)
        writer.commit([*names], page)
        writer.close(status, summaries=[])
    return Run(path)


def share(n: int, yes: int) -> list[bool]:
    """`yes` of n, spread evenly over both labels."""
    return [i < yes for i in range(n)]


def noisy(n: int, noise: str, severity: int, yes: int) -> Score:
    values = np.array([float(i < yes) for i in range(n)])
    where = {"experiment": "noise", "noise": noise, "severity": severity}
    return Score("accuracy", "model", ids(n), values, "higher", where)


def ranked(method: str, rows: Sequence[Sequence[float]]) -> Relevance:
    return Relevance.of(method, ids(len(rows)), rows)
