"""The exhibits as JSON: what `--json` and `--format json` say of the first screen."""

from __future__ import annotations

import math

from regard.audits.conclusions.other_attention import OtherAttention
from regard.audits.conclusions.reliance import Reliance
from regard.measures.intervals import Interval
from regard.present.report.exhibits.instead import Instead, instead
from regard.present.run_reader import Material
from regard.records import Json


def exhibits_json(material: Material) -> dict[str, Json]:
    """Each exhibit, or null where the run has nothing for it."""
    if material.broken:
        return dict.fromkeys(("other_attention", "reliance", "instead"))
    other, relied, better = material.conclusions.other_attention, material.conclusions.reliance, instead(material)
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
        "n": found.n,
        "far": found.far,
        "exact": found.exact,
        "divergence": _interval(found.divergence),
        "shuffled": _interval(found.shuffled),
        "shuffled_n": found.shuffled_n,
        "example": found.example or None,
        "distance": found.distance,
        "change": found.change,
        "own": [*found.own] or None,
        "other": [*found.other] or None,
    }


def _reliance(found: Reliance) -> Json:
    return {
        "method": found.method,
        "unit": found.kind,
        "classes": [
            {
                "class": c.name,
                "n": c.n,
                "units": [{"name": u.name, "n": u.n, "share": _interval(u.share)} for u in c.units],
            }
            for c in found.classes
        ],
        "suspects": [
            {
                "name": s.name,
                "why": s.why,
                "label": s.label,
                "of": s.of if s.why == "separates" else int(s.of),
                "n": s.n,
                "share": _interval(s.share),
            }
            for s in found.suspects
        ],
    }


def _instead(found: Instead) -> Json:
    return {
        "method": found.method or None,
        "better": bool(found.method),
        "gain": _interval(found.gain),
        "n": found.n,
        "compared": found.compared,
        "operators": [*filter(None, found.operators.split(", "))],
    }
