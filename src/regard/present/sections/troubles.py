"""What did not work: methods that were skipped, examples that failed."""

from __future__ import annotations

from regard.present.evidence import of_a_part, other_method
from regard.present.markup import Html, join, table, tag
from regard.present.run_reader import Material
from regard.present.wording import count

TITLE = "Problems and skipped methods"
MOST = 30


def troubles(material: Material) -> Html | None:
    """Always shown: an empty list is a statement too."""
    skipped = dict(material.manifest.get("skipped") or {})
    problems = material.run.problems()
    parts: list[Html] = []
    if skipped:
        parts.append(table(["method", "why it was skipped"], [[k, str(v)] for k, v in skipped.items()]))
    if problems:
        rows = [[str(p["id"]) or "whole run", str(p["stage"]), str(p["message"])] for p in problems[:MOST]]
        more = f"; the first {MOST} of {len(problems)}" if len(problems) > MOST else ""
        parts.append(table(["example", "stage", "message"], rows, caption=f"{count(len(problems), 'problem')}{more}."))
    # a method compared with itself is no missing value, and a class's values are counted among all of them already
    undefined = sum(
        s.undefined for s in material.summaries if not of_a_part(s.where) and other_method(s.where) != s.method
    )
    if undefined:
        words = f"{count(undefined, 'value')} could not be defined (for instance a ranking of equal values): "
        words += "counted, never averaged in."
        parts.append(tag("p", None, words))
    if not parts:
        parts.append(tag("p", None, "None: every method ran on every example, and every value was defined."))
    return join(parts)
