"""Chart of the comparisons of a verdict: estimate, interval, and margin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from regard.present.messages.messages import render, say
from regard.present.report.charts import Axis
from regard.present.report.markup import Html, tag
from regard.present.verdict_words import contrast, contrast_about

MOST = 10
WIDTH, LEFT, RIGHT, ROW, BOTTOM = 780, 470, 14, 22, 26
LONGEST = 72
"""Maximum characters of a name."""


def contrast_chart(contrasts: Sequence[Mapping[str, Any]]) -> Html | None:
    """Draw one row per quantity with all its margins, the clearest first; None if none has an interval."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for c in contrasts:
        if c["low"] is not None and c["high"] is not None:
            groups.setdefault((render(c["name"]), contrast_about(c)), []).append(c)
    groups_shown = sorted(groups.items(), key=lambda g: min(1.0 if c["p"] is None else c["p"] for c in g[1]))[:MOST]
    if not groups_shown:
        return None
    ends = [float(v) for _, members in groups_shown for c in members for v in (c["low"], c["high"], c["margin"])] + [
        0.0
    ]
    axis = Axis.over(ends, left=LEFT, right=WIDTH - RIGHT, height=ROW * len(groups_shown))
    px, height = axis.px, ROW * len(groups_shown) + BOTTOM
    parts = axis.grid(5)
    for i, ((name, about), members) in enumerate(groups_shown):
        y, c = ROW * i + ROW / 2, members[0]
        words = name + about
        words = words if len(words) <= LONGEST else words[: LONGEST - 1] + "…"
        title = tag("title", None, " / ".join(contrast(x) for x in members))
        parts.append(tag("text", {"x": LEFT - 8, "y": y + 4, "class": "end"}, words, title))
        parts.append(tag("line", {"x1": px(c["low"]), "x2": px(c["high"]), "y1": y, "y2": y, "class": "whisker s4"}))
        parts.append(tag("circle", {"cx": px(c["estimate"]), "cy": y, "r": 4, "class": "dot s4 c4"}, title))
        for margin in sorted({float(x["margin"]) for x in members}):
            at = px(margin)
            parts.append(tag("line", {"x1": at, "x2": at, "y1": y - 7, "y2": y + 7, "class": "margin"}))
    label = say("verdicts.margin_caption")
    frame = {"viewBox": f"0 0 {WIDTH} {height}", "class": "chart wide", "role": "img", "aria-label": label}
    return tag("svg", frame, parts)
