"""`python -m benchmarks.quality [NAME ...]`: how good the embedded models are, on their test split, with intervals.

Writes results/quality.json (command, commit). A bar that is not met makes the exit code 1.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

import regard
from benchmarks.__main__ import commit
from regard.measures.intervals import wilson
from regard.models.labels import match_labels
from regard.registry import entry

HERE = Path(__file__).parent
BARS = {"bilstm": 0.72, "minilm": 0.80, "digits": 0.95, "cancer": 0.94, "power": 0.90}
BATCH = 32


def accuracy(source: str) -> dict[str, object]:
    """Share of the test split that the source gets right, with a Wilson interval."""
    model = regard.load(source)
    data = regard.read(str(entry("source", source).facts["data"]), limit=None)
    examples = sorted(data, key=lambda e: len(str(e.inputs)))
    table = match_labels(model.labels, [e.label for e in examples])
    right = []
    for start in range(0, len(examples), BATCH):
        part = examples[start : start + BATCH]
        _, targets = model.decide([model.encode(example) for example in part])
        right += [table.of(e.label) == t for e, t in zip(part, targets, strict=True)]
    hits = int(np.sum(right))
    low, high = wilson(hits, len(right))
    return {"source": source, "n": len(right), "accuracy": hits / len(right), "low": float(low), "high": float(high)}


def main() -> int:
    chosen = sys.argv[1:] or list(BARS)
    rows = []
    for source in chosen:
        row = accuracy(source)
        row["bar"], row["met"] = BARS[source], float(str(row["accuracy"])) >= BARS[source]
        rows.append(row)
        print(
            f"{'ok  ' if row['met'] else 'MISS'} {source:8} accuracy {row['accuracy']:.3f} "
            f"[{row['low']:.3f}, {row['high']:.3f}] n={row['n']} (bar {row['bar']})",
            flush=True,
        )
    if not sys.argv[1:]:
        record = {"command": "make quality", "commit": commit(), "seed": 0, "rows": rows}
        (HERE / "results").mkdir(exist_ok=True)
        (HERE / "results" / "quality.json").write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    return 0 if all(row["met"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
