"""`python -m benchmarks.replicate [--data PATH] [--only NAME ...] [--list]`: the published tables on SST, beside ours.

Every cell (setting x seed) is trained and measured once and kept in --home; a run that was stopped goes on. Every cell
that is done is reported, whatever came out. Writes results/replicate.json (command, commit). The exit code is 1 where
a gated row or an ordering that was measured with all seeds does not hold.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

import torch

from benchmarks.__main__ import commit
from benchmarks.replicate import cells, published, sst, tables
from regard.errors import RegardError

ROOT = Path(__file__).parents[2]
RESULT = ROOT / "benchmarks" / "results" / "replicate.json"
DEVIATIONS = "deviations.md"
"""Where what is run differs from what was published, and what was run before and seen."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.replicate", description=__doc__)
    parser.add_argument("--data", help=f"sst_dataset.csv; default ${sst.VARIABLE}, else {sst.BESIDE}")
    parser.add_argument("--only", nargs="*", help="beginnings of cell names; default all")
    parser.add_argument("--home", type=Path, default=ROOT / ".cache" / "replicate", help="where trained cells are kept")
    parser.add_argument("--list", action="store_true", help="run nothing: report what is done")
    asked = parser.parse_args()
    os.nice(max(0, 10 - os.nice(0)))  # never in anybody's way
    torch.set_num_threads(1)
    try:
        splits, words = sst.read(sst.located(asked.data))
    except RegardError as error:
        print(error, file=sys.stderr)
        return 2
    if not asked.list:
        for cell in cells.every():
            if asked.only and not any(cell.name.startswith(beginning) for beginning in asked.only):
                continue
            new = cells.done(asked.home, cell) is None
            record = cells.run(splits, asked.home, cell)
            if new:
                print(f"{cell.name}: {record['cpu_seconds']} s of CPU", flush=True)
                report(splits, words, asked.home)
    record = report(splits, words, asked.home)
    for line in shown(record):
        print(line)
    return int(not record["met"])


def report(splits: Any, words: int, home: Path) -> dict[str, Any]:
    """Compare all finished cells with the published values, and write the comparison."""
    found = [r for cell in cells.every() if (r := cells.done(home, cell)) is not None]
    table: dict[tuple[str, str, str], dict[int, dict[str, float]]] = {}
    for r in found:
        table.setdefault((r["kind"], r["encoder"], r["attention"]), {})[r["seed"]] = r["values"]
    data = {"train": len(splits.train), "dev": len(splits.dev), "test": len(splits.test), "vocabulary": words}
    theirs = {"train": 6355, "dev": 821, "test": 1725, "vocabulary": 13826}
    bands, orderings = tables.compared(table), tables.ordered(table)
    pairs = [(e, a) for e in ("average", "bilstm", "cnn") for a in ("additive", "dot")]
    between = {f"{e} {a}": b for e, a in pairs if (b := cells.between_seeds(home, e, a))}
    full = len(cells.SEEDS)
    met = data == theirs and all(r["inside"] for r in bands if r["gate"] == "must" and r["seeds"] == full)
    met = met and all(r["holds"] for r in orderings if r["seeds"] == full)
    record: dict[str, Any] = {
        "command": "make replicate", "commit": commit(), "data": data, "published_data": theirs, "met": met,
        "seeds": [*cells.SEEDS], "done": [r["cell"] for r in found],
        "open": [c.name for c in cells.every() if cells.done(home, c) is None], "bands": bands, "orderings": orderings,
        "between_seeds": between, "deviations": f"benchmarks/replicate/{DEVIATIONS}", "cells": found,
        "published_cells": published.cells_beside(table), "published_orders": published.orders_beside(table),
    }  # fmt: skip
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(_plain(record), indent=1) + "\n", "utf-8")
    return record


def _plain(value: Any) -> Any:
    """Replace NaN, which JSON lacks."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    return None if isinstance(value, float) and value != value else value


def shown(record: dict[str, Any]) -> list[str]:
    data, published = record["data"], record["published_data"]
    mark = "ok  " if data == published else "OUT "
    sizes = f"{data['train']} / {data['dev']} / {data['test']}, vocabulary {data['vocabulary']}"
    lines = [f"{mark}row  1 texts after the filter: {sizes} (must be exactly as published)"]
    lines += [tables.shown_band(row) for row in sorted(record["bands"], key=lambda r: r["row"] or 99)]
    lines += ["", "orderings, paired by seed:"]
    lines += [tables.shown_ordering(row) for row in record["orderings"]]
    lines += ["", "between seeds (median JSD over texts, mean over pairs of seeds; mean change of p):"]
    lines += [
        f"     {k}: JSD {v['jsd']:.3f}, p {v['tvd']:.3f} ({v['pairs']} pairs)"
        for k, v in record["between_seeds"].items()
    ]
    lines += ["", f"{len(record['done'])} of {len(record['done']) + len(record['open'])} cells are done."]
    return lines


if __name__ == "__main__":
    sys.exit(main())
