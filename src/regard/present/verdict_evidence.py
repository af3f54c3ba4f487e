"""Curves and examples behind a verdict, from the experiments of the run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from regard.audits.conclusions.bands import PointingCurves
from regard.audits.conclusions.other_attention import LARGEST
from regard.present import counts
from regard.present.messages.messages import say
from regard.present.palette import series_index
from regard.present.report.charts import Dot, Line, interval_chart, legend, line_chart
from regard.present.report.markup import Html, join, table, tag
from regard.present.run_reader import Material

SHOWN = 3
"""Number of examples at each end."""


def evidence_behind(verdict: Mapping[str, Any], material: Material) -> Html | None:
    """Return the evidence for a question, looked up by the prefix of the rule that answered it."""
    makers = {"Q1": _moved, "Q2": _removed, "Q4": _caps}
    make = makers.get(str(verdict["rule"])[:2])
    return make(material) if make else None


def _moved(material: Material) -> Html | None:
    """Examples whose prediction changes most and least when the weights are shuffled."""
    score = next((s for s in material.findings if s.metric == "permuted" and np.isfinite(s.values).any()), None)
    if score is None:
        return None
    able = [i for i in np.argsort(-score.values, kind="stable") if np.isfinite(score.values[i])]
    ends = [(say("verdicts.moves_most"), i) for i in able[:SHOWN]]
    ends += [(say("verdicts.moves_least"), i) for i in able[SHOWN:][-SHOWN:]]
    rows = []
    for which, i in ends:
        example = material.by_id.get(score.ids[i])
        if example is None:
            continue
        p = example.get("probability")
        words = material.answer(example["predicted"]) + ("" if p is None else f" ({float(p):.2f})")
        rows.append([which, _title(example), words, tag("td", {"class": "n"}, f"{float(score.values[i]):.3f}")])
    head = ["", *(say(f"verdicts.{name}") for name in ("example", "prediction", "moved_by"))]
    return join(tag("h4", None, say("verdicts.examples")), table(head, rows, caption=say("verdicts.moved_note")))


def _title(example: Mapping[str, Any], most: int = 110) -> str:
    units = example["units"]
    words = example["inputs"].get("text")
    if not isinstance(words, str) and units["place_kind"] == "span":
        words = " ".join(n for n, special in zip(units["names"], units["special"], strict=True) if not special)
    title = str(words or example["id"])
    return title if len(title) <= most else title[: most - 1] + "…"


def _removed(material: Material) -> Html | None:
    """The prediction without the first 0, 1, 2, ... units of each ranking, by operator."""
    figures = [_by_operator(curves) for curves in material.conclusions.pointing_curves]
    if not figures:
        return None
    return join(tag("h4", None, say("verdicts.curves")), tag("div", {"class": "cards"}, figures))


def _by_operator(curves: PointingCurves) -> Html:
    methods, lines = [band.name for band in curves.bands], list[Line]()
    for band in curves.bands:
        colour = series_index(band.name.partition(":")[0], methods)
        name = f"{band.name} ({say('results.own_operator')})" if band.own else band.name
        lines.append(Line.of(band, colour, name=name, dashed=band.name == "random" or band.own))
    n = counts.examples(size for band in curves.bands for size in band.n)
    caption = tag("figcaption", None, say("verdicts.curves_note", n=n, operator=curves.operator))
    if len(curves.grid) < 3:  # one size is no curve
        dots = [Dot(ln.name, ln.colour, ln.y[-1], ln.low[-1], ln.high[-1], hollow=ln.dashed) for ln in lines]
        before = next((float(ln.y[0]) for ln in lines if np.isfinite(ln.y[0])), None)
        return tag("figure", None, interval_chart(dots, name=say("verdicts.after_one"), reference=before), caption)
    chart = line_chart(curves.grid, lines, x_name=say("verdicts.units_removed"), y_name=say("verdicts.probability"))
    return tag("figure", None, chart, legend(lines), caption)


def _caps(material: Material) -> Html | None:
    """Return the distance of the most distant attention, by the permitted change of the prediction."""
    curve = material.conclusions.distance_curve
    if curve is None:
        return None
    line = Line.of(curve.band, 1, name=say("verdicts.divergence"))
    chart = line_chart(curve.grid, [line], x_name=say("verdicts.cap"), y_name=say("verdicts.divergence"))
    note = say("verdicts.caps_note", n=counts.examples(curve.band.n), largest=f"{LARGEST:.2f}")
    link = tag("a", {"href": "#exhibit-other"}, say("verdicts.see_exhibit"))
    caption = tag("figcaption", None, note, " ", link)
    return join(tag("h4", None, say("verdicts.caps_curve")), tag("figure", {"class": "half"}, chart, caption))
