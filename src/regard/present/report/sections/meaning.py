"""How to read each verdict: what every answer means, and what it does not; every verdict links to its own."""

from __future__ import annotations

from regard.present.messages.messages import catalogue, say
from regard.present.report.markup import Html, join, tag
from regard.present.run_reader import Material

QUESTIONS = tuple(
    key.split(".")[1] for key in catalogue("en") if key.startswith("meaning.") and key.endswith(".question")
)
"""Every verdict that has its own paragraph, in the order of the catalogue."""


def meaning(material: Material) -> Html | None:
    """Only where something was judged."""
    if not material.manifest.get("judgements"):
        return None
    return join(
        tag("p", None, say("meaning.holds")),
        [_one(name) for name in QUESTIONS],
    )


def _one(name: str) -> Html:
    return tag(
        "div", {"id": f"means-{name}", "class": "meaning"},
        tag("h3", None, say(f"meaning.{name}.question")),
        tag("p", None, tag("strong", None, f"{say('meaning.means')}: "), say(f"meaning.{name}.means")),
        tag("p", None, tag("strong", None, f"{say('meaning.not')}: "), say(f"meaning.{name}.not")),
    )  # fmt: skip


def anchor(question: str) -> str | None:
    """Where the paragraph about a verdict stands, by the question as the judge asks it."""
    for name in QUESTIONS:
        if catalogue("en")[f"meaning.{name}.question"] == question:
            return f"means-{name}"
    return None
