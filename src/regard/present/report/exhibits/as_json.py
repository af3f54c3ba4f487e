"""The exhibits as JSON: what `--json` and `--format json` say of the first screen."""

from __future__ import annotations

import math

from regard.measures.intervals import Interval
from regard.present.report.exhibits.instead import Instead, instead
from regard.present.report.exhibits.other_attention import OtherAttention, other_attention
from regard.present.report.exhibits.reliance import Reliance, reliance
from regard.present.run_reader import Material
from regard.records import Json


def exhibits_json(material: Material) -> dict[str, Json]:
    """Each exhibit, or null where the run has nothing for it."""
    if material.broken:
        return dict.fromkeys(("other_attention", "reliance", "instead"))
    other, relied, better = other_attention(material), reliance(material), instead(material)
    return {
        "other_attention": _other(other) if other else None,
        "reliance": _reliance(relied) if relied else None,
        "instead": _instead(better) if better else None,
    }


def _interval(found: Interval | None) -> Json:
    if found is None:
        return None
    ends = {"estimate": found.estimate, "low": found.low, "high": found.high}
    return {**{k: v if math.isfinite(v) else None for k, v in ends.items()}, "level": found.level}


def _other(found: OtherAttention) -> Json:
    return {
        "n": found.n, "far": found.far, "exact": found.exact, "divergence": _interval(found.divergence),
        "shuffled": _interval(found.shuffled), "shuffled_n": found.shuffled_n,
        "example": found.example["id"] if found.example else None,
        "distance": found.distance, "change": found.change,
        "own": None if found.own is None else found.own.tolist(),
        "other": None if found.other is None else found.other.tolist(),
    }  # fmt: skip


def _reliance(found: Reliance) -> Json:
    return {
        "method": found.method, "unit": found.kind,
        "classes": [
            {"class": c.name, "n": c.n,
             "units": [{"name": u.name, "n": u.n, "share": _interval(u.share)} for u in c.units]}
            for c in found.classes
        ],
        "suspects": [
            {"name": s.name, "why": s.why, "label": s.label, "of": s.of, "n": s.n, "share": _interval(s.share)}
            for s in found.suspects
        ],
    }  # fmt: skip


def _instead(found: Instead) -> Json:
    best = found.best
    return {
        "method": best.method, "better": best.better, "gain": _interval(best.gain), "n": best.n,
        "compared": found.compared, "operators": [*best.operators],
    }  # fmt: skip
