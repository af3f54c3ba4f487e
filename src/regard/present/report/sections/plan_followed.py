"""Comparison of the run with the plan written before it."""

from __future__ import annotations

from regard.audits.preregistration import deviations
from regard.present.messages.messages import say
from regard.present.report.markup import Html, join, table, tag
from regard.present.run_reader import Material


def plan_followed(material: Material) -> Html | None:
    """Write one sentence and, if the run deviates, a table of every deviation; None for a run without a plan."""
    lines = plan_lines(material)
    if lines is None:
        return None
    sentence, rows = lines
    head = [say(f"plan_followed.{name}") for name in ("part", "planned", "actual")]
    return join(tag("p", {"class": "warn"} if rows else None, sentence), table(head, rows) if rows else None)


def plan_lines(material: Material) -> tuple[str, list[list[str]]] | None:
    """The sentence, and (part, planned, actual) of every deviation."""
    stored = material.manifest.get("plan")
    if not stored:
        return None
    plan = stored["plan"]
    rows = [[row.part, row.planned, row.actual] for row in deviations(plan, material.manifest, stored["identity"])]
    facts = {"digest": str(plan.get("sha256"))[:12], "date": str(plan["created"])[:19]}
    return say("plan_followed.no" if rows else "plan_followed.yes", n=len(rows), **facts), rows
