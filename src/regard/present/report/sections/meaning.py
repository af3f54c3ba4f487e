"""Guide to each verdict: the meaning of every answer, and its limits; every verdict links to its own."""

from __future__ import annotations

import re

from regard.present.messages.messages import catalogue, say
from regard.present.report.markup import Html, join, tag
from regard.present.run_reader import Material
from regard.present.verdict_words import question

QUESTIONS = tuple(key.split(".")[1] for key in catalogue("en") if re.fullmatch(r"meaning\.\w+\.means", key))
"""Verdicts with their own paragraph, in the order of the catalogue."""


def meaning(material: Material) -> Html | None:
    """Build the section, if something was judged."""
    if not material.manifest.get("judgements"):
        return None
    return join(tag("p", None, say("meaning.holds")), [_one(name) for name in QUESTIONS])


def _one(name: str) -> Html:
    return tag(
        "div",
        {"id": f"means-{name}", "class": "meaning"},
        tag("h3", None, question({"question": name})),
        tag("p", None, tag("strong", None, f"{say('meaning.means')}: "), say(f"meaning.{name}.means")),
        tag("p", None, tag("strong", None, f"{say('meaning.not')}: "), say(f"meaning.{name}.not")),
    )


def anchor(name: str) -> str | None:
    """Return the anchor of the paragraph about a verdict, by the id of its question."""
    return f"means-{name}" if name in QUESTIONS else None
