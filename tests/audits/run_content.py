"""Everything in a run that must not depend on how it came about; only seconds and dates are left out."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np

from regard.store.export import TABLES
from regard.store.run import Run, summary_to_json
from regard.store.shard_result import attention_to_bytes


def content(run: Run) -> dict[str, Any]:
    """Plain values, comparable with ==."""
    scores = {(s.metric, s.method, str(sorted(s.where.items()))): s for s in run.scores()}
    return {
        "status": run.manifest["status"],
        "examples": run.examples(),
        "relevance": {
            m: (r.ids, r.offsets.tolist(), r.values.tolist(), {k: v.tolist() for k, v in r.extras.items()})
            for m in run.methods()
            for r in [run.relevance(m)]
        },
        "scores": {
            key: (s.ids, _plain(s.values), {k: _plain(v) for k, v in s.curves.items()}, s.grid)
            for key, s in scores.items()
        },
        "summaries": [summary_to_json(s) for s in run.summaries()],
        "problems": sorted((p["id"], p["stage"], p["message"]) for p in run.problems()),
        "costs": {(c["kind"], c["method"]): (c["forwards"], c["backwards"], c["requests"]) for c in run.costs()},
        "kept": {name: [a.weights.tolist() for a in run.capture(name)] for name in run.kept()},
        "skipped": run.skipped,
    }


def stored_bytes(run: Run) -> dict[str, bytes]:
    """Everything that a complete run holds, as bytes; only seconds, dates and the speed of the machine are left out."""
    pages = [replace(page, costs=tuple(replace(c, seconds=0.0) for c in page.costs)) for page in run._results]
    facts = {name: run._facts[name] for name in ("identity", "status", "summaries", "preconditions")}
    about = {k: v for k, v in run.manifest.items() if k in ("data", "specs", "methods", "checked", "rejected")}
    tables = {f"{name}.parquet": run.path / "tables" / f"{name}.parquet" for name in TABLES if name != "costs"}
    return {
        **{f"page {i}": page.to_bytes() for i, page in enumerate(pages)},
        **{f"attention of {name}": attention_to_bytes(run.capture(name)) for name in run.kept()},
        **{name: path.read_bytes() for name, path in tables.items()},
        "facts": json.dumps([facts, about, run.problems(), run.skipped], sort_keys=True).encode(),
    }


def _plain(values: Any) -> list[Any]:
    """Lists in which an undefined value equals another."""
    return [None if np.isnan(v) else float(v) for v in np.ravel(np.asarray(values))]
