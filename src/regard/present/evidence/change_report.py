"""Changes between two audits: weights, data, settings, verdicts, share and the method to show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regard.present.messages.messages import say
from regard.present.run_reader import Material
from regard.present.verdict_words import answer, question


def change_rows(new: Material, old: Material) -> list[list[str]]:
    """(part, before, now) of everything that is compared, equal parts included."""
    rows = [
        _row("created", *(str(m.manifest["created"])[:19] for m in (old, new))),
        _row("model", *(str(m.manifest["model"]["fingerprint"])[:12] for m in (old, new))),
        _row("data", *(str(m.manifest["data"]["fingerprint"])[:12] for m in (old, new))),
        _row("seed", *(str(m.seed) for m in (old, new))),
        _row("versions", *(str((m.manifest.get("versions") or {}).get("regard")) for m in (old, new))),
        _row("examples", *(str(len(m.examples)) for m in (old, new))),
        _row("verdict", *(str(_judgement(m).get("reading", say("unknown"))) for m in (old, new))),
        _row("share", *(_share(_judgement(m)) for m in (old, new))),
        _row("show", *(str((_judgement(m).get("graded") or {}).get("show") or "attention") for m in (old, new))),
    ]
    before, now = (_answers(_judgement(m)) for m in (old, new))
    return [*rows, *([words, before.get(words, "–"), reply] for words, reply in now.items())]


def _row(part: str, before: str, now: str) -> list[str]:
    return [say(f"evidence.change.{part}"), before, now]


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
