"""Changes between two audits: weights, data, settings, verdicts, share and the method to show."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from regard.present.messages.messages import say
from regard.present.report.sections.facts import right
from regard.present.run_reader import Material
from regard.present.verdict_words import answer, headline, question
from regard.store.ledger import canonical

PROGRAMS = ("regard", "torch", "transformers", "numpy")
"""Packages whose versions may change a number."""


def change_rows(new: Material, old: Material) -> list[list[str]]:
    """(part, before, now) of all compared parts, equal ones included."""
    both = (old, new)
    rows = [
        _row("created", *(str(m.manifest["created"])[:19] for m in both)),
        _row("model", *(str(m.manifest["model"]["fingerprint"])[:12] for m in both)),
        _row("data", *(str(m.manifest["data"]["fingerprint"])[:12] for m in both)),
        _row("seed", *(str(m.seed) for m in both)),
        _row("profile", *(str(m.manifest.get("profile") or "–") for m in both)),
        _row("methods", *_methods(old, new)),
        _row("settings", *_settings(old, new)),
        _row("versions", *map(_versions, both)),
        _row("thresholds", *_thresholds(old, new)),
        _row("examples", *(str(len(m.examples)) for m in both)),
        _row("accuracy", *(right(m) or "–" for m in both)),
        _row("verdict", *map(_reading, both)),
        _row("share", *(_share(_judgement(m)) for m in both)),
        _row("show", *(str((_judgement(m).get("graded") or {}).get("show") or "attention") for m in both)),
    ]
    before, now = (_answers(_judgement(m)) for m in both)
    questions = dict.fromkeys([*now, *before])
    return [*rows, *([words, before.get(words, "–"), now.get(words, "–")] for words in questions)]


def share_sentence(new: Material, old: Material) -> str:
    """Compare the shares of two audits: their intervals overlap, do not, or are missing."""
    before, now = (_interval(_judgement(m)) for m in (old, new))
    if before is None or now is None:
        return say("evidence.change.no_interval")
    apart = now[0] > before[1] or now[1] < before[0]
    return say("evidence.change.apart" if apart else "evidence.change.overlap")


def _interval(judgement: Mapping[str, Any]) -> tuple[float, float] | None:
    """Ends of the interval of the share; None if one of them is missing."""
    graded = judgement.get("graded") or {}
    low, high = graded.get("low"), graded.get("high")
    return None if graded.get("share") is None or low is None or high is None else (float(low), float(high))


def _row(part: str, before: str, now: str) -> list[str]:
    return [say(f"evidence.change.{part}"), before, now]


def _reading(material: Material) -> str:
    judgement = _judgement(material)
    return headline(judgement) if judgement else say("unknown")


def _versions(material: Material) -> str:
    versions = material.manifest.get("versions") or {}
    return say("listed").join(f"{name} {versions[name]}" for name in PROGRAMS if versions.get(name))


def _methods(old: Material, new: Material) -> tuple[str, str]:
    """Count the methods, and name those that only one of the two has."""
    sides = []
    for one, other in ((old, new), (new, old)):
        alone = [name for name in one.methods if name not in other.methods]
        sides.append(str(len(one.methods)) + (f" (+ {say('listed').join(alone)})" if alone else ""))
    return sides[0], sides[1]


def _settings(old: Material, new: Material) -> tuple[str, str]:
    """Name the settings of methods and batches that differ, or state that none does; the seed has its own row."""
    before, now = (dict(m.manifest.get("settings") or {}) for m in (old, new))
    names = sorted(n for n in {*before, *now} - {"seed"} if before.get(n) != now.get(n))
    if not names:
        return say("evidence.change.same"), say("evidence.change.same")
    listed = [say("listed").join(f"{n} {_short(values.get(n))}" for n in names) for values in (before, now)]
    return listed[0], listed[1]


def _thresholds(old: Material, new: Material) -> tuple[str, str]:
    before, now = (dict(_judgement(m).get("margins") or {}) for m in (old, new))
    names = sorted(n for n in {*before, *now} if before.get(n) != now.get(n))
    if not names:
        return say("evidence.change.same"), say("evidence.change.same")
    listed = [say("listed").join(f"{n} {values.get(n, '–')}" for n in names) for values in (before, now)]
    return listed[0], listed[1]


def _short(value: Any) -> str:
    """Show a number or a word unchanged; a list by its length and the beginning of its digest."""
    if not isinstance(value, list | dict):
        return str(value)
    return f"{len(value)} ({hashlib.sha256(canonical(value).encode()).hexdigest()[:8]})"


def _judgement(material: Material) -> Mapping[str, Any]:
    judgements = material.manifest.get("judgements") or ()
    return judgements[0] if judgements else {}


def _answers(judgement: Mapping[str, Any]) -> dict[str, str]:
    return {question(v): answer(v) for v in judgement.get("verdicts") or ()}


def _share(judgement: Mapping[str, Any]) -> str:
    graded = judgement.get("graded") or {}
    if graded.get("share") is None:
        return "–"
    low, high = (("–" if graded.get(end) is None else f"{100 * graded[end]:.0f}") for end in ("low", "high"))
    return f"{100 * graded['share']:.0f} % [{low}, {high}], n = {graded.get('n')}"
