"""A run as one JSON value: what `regard audit --json` and `regard report --format json` print."""

from __future__ import annotations

import math
from typing import Any

from regard.audits.conclusions.run_facts import RunReader
from regard.present.report.exhibits.as_json import exhibits_json
from regard.present.run_reader import Material
from regard.present.summary import reading
from regard.records import Json, Summary


def run_json(run: RunReader) -> dict[str, Json]:
    """Manifest, summaries, differences to the baseline, words, problems, costs. Numbers that are undefined are null."""
    material = Material(run)
    manifest = dict(material.manifest)
    against: list[Json] = [
        {
            "metric": d.metric, "setting": dict(d.setting), "method": d.method, "baseline": d.baseline,
            "estimate": _number(d.estimate), "low": _number(d.low), "high": _number(d.high), "n": d.n,
            "reading": d.reading,
        }
        for d in material.conclusions.differences
    ]  # fmt: skip
    return {
        "manifest": manifest,
        "summaries": [_summary(s) for s in material.summaries],
        "differences": against,
        "verdicts": manifest.pop("judgements", []),
        "exhibits": exhibits_json(material),
        "preconditions": manifest.get("preconditions"),
        "repeatability": manifest.get("repeatability"),
        "reading": list(reading(material)),
        "problems": [dict(p) for p in run.problems()],
        "costs": [dict(c) for c in run.costs()],
    }


def _summary(s: Summary) -> dict[str, Json]:
    return {
        "metric": s.metric, "method": s.method, "where": dict(s.where), "estimate": _number(s.estimate),
        "low": _number(s.low), "high": _number(s.high), "level": s.level, "n": s.n, "clusters": s.clusters,
        "undefined": s.undefined, "seed": s.seed, "better": s.better, "role": s.role,
    }  # fmt: skip


def _number(value: Any) -> float | None:
    return float(value) if math.isfinite(value) else None
