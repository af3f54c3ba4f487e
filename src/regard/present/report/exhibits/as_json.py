"""Exhibits of the first screen as JSON, for `--json` and `--format json`."""

from __future__ import annotations

from regard.audits.conclusions.reliance import Reliance
from regard.present.report.exhibits.instead import Instead, instead
from regard.present.report.exhibits.mixture import mixture
from regard.present.run_reader import Material
from regard.records import Json
from regard.store.codec import fields_to_json, to_json

_SUSPECT = ("name", "why", "label", "of", "n", "share")


def exhibits_json(material: Material) -> dict[str, Json]:
    """Each exhibit, or null if the run has nothing for it."""
    if material.broken:
        return dict.fromkeys(("other_attention", "reliance", "instead", "mixture"))
    other, relied, better = material.conclusions.other_attention, material.conclusions.reliance, instead(material)
    kinds = mixture(material)
    return {
        "other_attention": to_json(other),
        "reliance": _reliance(relied) if relied else None,
        "instead": _instead(better) if better else None,
        "mixture": {"right": to_json(kinds.right), "wrong": to_json(kinds.wrong)} if kinds else None,
    }


def _reliance(found: Reliance) -> Json:
    suspects = [(s, int(s.of) if s.why != "separates" else s.of) for s in found.suspects]
    return {
        "method": found.method,
        "unit": found.kind,
        "classes": [{"class": c.name, **fields_to_json(c, "n", "units", "function_words")} for c in found.classes],
        "suspects": [{**fields_to_json(s, *_SUSPECT), "of": of} for s, of in suspects],
    }


def _instead(found: Instead) -> Json:
    return {
        "method": found.method or None,
        "better": bool(found.method),
        **fields_to_json(found, "gain", "n", "compared", "ties"),
        "operators": [*filter(None, found.operators.split(", "))],
    }
