"""Preconditions: defects of the attention itself, shown before any map of it."""

from __future__ import annotations

from regard.present.messages.messages import count, render, say
from regard.present.report.markup import Html, join, tag
from regard.present.run_reader import Material


def preconditions(material: Material) -> Html | None:
    """Show a warning for every defect, one quiet line if there is none, nothing if it was not tested."""
    facts = material.manifest.get("preconditions")
    if not facts:
        return None
    warnings = [tag("p", {"class": "warn", "role": "status"}, render(d["sentence"])) for d in facts["defects"]]
    notes = [tag("p", {"class": "soft"}, render(note)) for note in facts["notes"]]
    if warnings or not facts["n"]:
        return join(warnings, notes) if warnings or notes else None
    sentence = say("preconditions.none", n=count(facts["n"], "example"), sites=count(facts["sites"], "site"))
    return join(tag("p", None, sentence), notes)
