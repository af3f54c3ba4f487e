"""Do the methods rank the same units first? Kendall's tau between every two of them."""

from __future__ import annotations

import math

from regard.present.evidence import CLASS, other_method
from regard.present.markup import Html, join, table, tag
from regard.present.palette import level, side
from regard.present.run_reader import Material
from regard.present.wording import plain
from regard.records import Summary

TITLE = "Do the methods agree?"


def agreement_matrix(material: Material) -> Html | None:
    """Methods by methods: estimate, interval, and what chance and the ceiling would give."""
    made = [_matrix(metric, material) for metric in sorted({s.metric for s in _pairs(material)})]
    return join(made) if made else None


def _pairs(material: Material) -> list[Summary]:
    return [s for s in material.summaries if other_method(s.where) is not None and CLASS not in s.where]


def _matrix(metric: str, material: Material) -> Html:
    here = [s for s in _pairs(material) if s.metric == metric]
    cells: dict[tuple[str, str], Summary] = {}
    for s in here:
        other = other_method(s.where) or ""
        cells[s.method, other] = s
        cells.setdefault((other, s.method), s)
    named = {name for pair in cells for name in pair}
    names = [m for m in material.methods if m in named] + sorted(named - set(material.methods))
    rows = [[plain(a), *(_cell(cells.get((a, b)), same=a == b) for b in names)] for a in names]
    first = here[0]
    caption = (
        f"{metric.replace('_', ' ').capitalize()} (Kendall's tau-b over the units of an example, mean over examples), "
        f"{first.level:.0%} interval, n = {max(s.n for s in here)}, seed {first.seed}. 1: same ranking; 0: unrelated; "
        "-1: reversed."
    )
    return join(table(["", *(plain(n) for n in names)], rows, caption=caption), _frame(here))


def _cell(summary: Summary | None, *, same: bool) -> Html:
    if same:
        return tag("td", {"class": "n soft"}, "·")
    if summary is None or not math.isfinite(summary.estimate):
        return tag("td", {"class": "n"}, "–")
    interval = f"[{summary.low:.2f}, {summary.high:.2f}]" if math.isfinite(summary.low) else "no interval"
    css = f"n {side(summary.estimate, signed=True)}{level(summary.estimate, 1.0) // 2}"
    return tag("td", {"class": css}, f"{summary.estimate:.2f}", tag("small", None, interval))


def _frame(here: list[Summary]) -> Html | None:
    """Chance and ceiling, the two marks between which an agreement is to be read."""
    parts = []
    spreads = [v for s in here for k, v in s.where.items() if "null" in k and isinstance(v, float) and math.isfinite(v)]
    if spreads:
        parts.append(
            f"Chance: for one example, the tau of two unrelated rankings has a spread (standard deviation) of about "
            f"{sum(spreads) / len(spreads):.2f} around 0; short examples have more."
        )
    for s in here:
        if s.role == "ceiling" and math.isfinite(s.estimate):
            parts.append(
                f"Ceiling: {plain(s.method)} with {plain(other_method(s.where) or '')} reaches {s.estimate:.2f} "
                f"[{s.low:.2f}, {s.high:.2f}]; no pair should be expected to do better than that."
            )
    return tag("ul", None, [tag("li", None, p) for p in parts]) if parts else None
