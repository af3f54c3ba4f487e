"""`python -m benchmarks [NAME ...]`: run every benchmark, print each ratio and its bar, write results/bench.json.

A benchmark is a file here with `run() -> list[Line]`. Ratios only: both sides measured in the same run, on one thread,
by CPU time, as the minimum over interleaved repeats. With names, only their lines are replaced; each line names its
benchmark and the commit that it was measured at. The directories in REGARD_PEERS are searched as in `benchmarks.peers`.
"""

from __future__ import annotations

import importlib
import json
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.lines import Line

HERE = Path(__file__).parent
RESULT = HERE / "results" / "bench.json"
NAMES = [
    "startup", "capture", "leave_one_out", "training", "flow", "norms", "kendall", "watching", "attention_edits",
    "explainers", "relevance_propagation", "perturbations", "attacks", "viewer", "row_capture", "atlas",
    "service", "service_clients", "citation_peers", "audit_cost", "peers", "peer_methods",
    "ray_engine", "every_row",
]  # fmt: skip


def commit() -> str:
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=HERE)
    return done.stdout.strip() or "unknown"


def store(name: str, lines: Sequence[Line]) -> None:
    """Replace the lines of one benchmark in results/bench.json, and drop those of benchmarks that no longer exist."""
    stored = json.loads(RESULT.read_text("utf-8"))["lines"] if RESULT.exists() else []
    rows = {other: [row for row in stored if row.get("benchmark") == other] for other in NAMES}
    rows[name] = [{"benchmark": name, "commit": commit(), **line.to_json()} for line in lines]
    record = {
        "command": "make bench",
        "machine": f"{platform.machine()}, Python {platform.python_version()}, 1 thread, CPU time",
        "lines": [row for other in rows for row in rows[other]],
    }
    RESULT.write_text(json.dumps(record, indent=1) + "\n", "utf-8")


def main() -> int:
    importlib.import_module("benchmarks.peers").where()
    lines: list[Line] = []
    for name in sys.argv[1:] or NAMES:
        print(f"{name} ...", flush=True)
        new = importlib.import_module(f"benchmarks.{name}").run()
        for line in new:
            print("  " + line.shown(), flush=True)
        store(name, new)
        lines += new
    missed = [line for line in lines if not line.met]
    print(
        f"{len(lines) - len(missed)} of {len(lines)} bars met"
        + (": " + "; ".join(m.what for m in missed) if missed else "")
    )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
