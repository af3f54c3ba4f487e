"""Problems: skipped methods, failed examples."""

from __future__ import annotations

from regard.audits.conclusions.settings import of_a_part, other_method
from regard.present.messages.messages import count, render, say
from regard.present.report.markup import Html, join, table, tag
from regard.present.run_reader import Material

MOST = 30


def troubles(material: Material) -> Html | None:
    """List the problems; the section is always shown, because an empty list is informative too."""
    skipped = dict(material.manifest.get("skipped") or {})
    problems = material.run.problems()
    parts: list[Html] = []
    if skipped:
        head = [say("troubles.method"), say("troubles.why")]
        parts.append(table(head, [[k, render(str(v))] for k, v in skipped.items()]))
    if problems:
        rows = [[str(p["id"]) or say("troubles.whole"), str(p["stage"]), str(p["message"])] for p in problems[:MOST]]
        cut, number = len(problems) > MOST, count(len(problems), "problem")
        caption = say("troubles.caption_cut" if cut else "troubles.caption", count=number, most=MOST, n=len(problems))
        parts.append(table([say(f"troubles.{k}") for k in ("example", "stage", "message")], rows, caption=caption))
    # a method compared with itself is no missing value, and a class's values are counted among all of them already
    undefined = sum(
        s.undefined for s in material.summaries if not of_a_part(s.where) and other_method(s.where) != s.method
    )
    if undefined:
        parts.append(tag("p", None, say("troubles.undefined", count=count(undefined, "value"))))
    if not parts:
        parts.append(tag("p", None, say("troubles.none")))
    return join(parts)
