"""`python -m benchmarks [NAME ...]`: run every benchmark, print each ratio and its bar, write results/bench.json.

A benchmark is a file here with `run() -> list[Line]`. Ratios only: both sides measured in the same run, on one thread,
by CPU time, as the minimum over interleaved repeats.
"""

from __future__ import annotations

import importlib
import json
import platform
import subprocess
import sys
from pathlib import Path

from benchmarks.lines import Line

HERE = Path(__file__).parent
NAMES = [
    "startup", "capture", "leave_one_out", "training", "flow", "norms", "kendall", "watching", "attention_edits",
    "explainers", "relevance_propagation", "perturbations", "attacks", "viewer", "row_capture", "atlas",
    "service", "service_clients", "citation_peers", "audit_cost", "peers", "peer_methods",
    "ray_engine", "every_row",
]  # fmt: skip


def commit() -> str:
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=HERE)
    return done.stdout.strip() or "unknown"


def main() -> int:
    chosen = sys.argv[1:] or NAMES
    lines: list[Line] = []
    for name in chosen:
        print(f"{name} ...", flush=True)
        for line in importlib.import_module(f"benchmarks.{name}").run():
            print("  " + line.shown(), flush=True)
            lines.append(line)
    missed = [line for line in lines if not line.met]
    if not sys.argv[1:]:
        results = HERE / "results"
        results.mkdir(exist_ok=True)
        record = {
            "command": "make bench",
            "commit": commit(),
            "machine": f"{platform.machine()}, Python {platform.python_version()}, 1 thread, CPU time",
            "lines": [line.to_json() for line in lines],
        }
        (results / "bench.json").write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    print(
        f"{len(lines) - len(missed)} of {len(lines)} bars met"
        + (": " + "; ".join(m.what for m in missed) if missed else "")
    )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
