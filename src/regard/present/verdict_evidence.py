"""Curves and examples behind a verdict, from what the experiments of the run left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from regard.measures.intervals import ClusterSums, bootstrap
from regard.present import counts
from regard.present.messages.messages import say
from regard.present.palette import series_index
from regard.present.report.charts import Dot, Line, interval_chart, legend, line_chart
from regard.present.report.exhibits.other_attention import LARGEST
from regard.present.report.markup import Html, join, table, tag
from regard.present.run_reader import Material
from regard.records import Floats, Score

DRAWS = 500
SHOWN = 3
"""Examples at each end."""


def evidence_behind(verdict: Mapping[str, Any], material: Material) -> Html | None:
    """What belongs to a question, told by the beginning of the rule that answered it."""
    makers = {"Q1": _moved, "Q2": _removed, "Q4": _caps}
    make = makers.get(str(verdict["rule"])[:2])
    return make(material) if make else None


def _moved(material: Material) -> Html | None:
    """The examples whose prediction moves most and least when the weights change places."""
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
    shown = str(words or example["id"])
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def _removed(material: Material) -> Html | None:
    """What is left of the prediction without the first 0, 1, 2, ... units of each ranking, by operator."""
    found = [s for s in material.findings if s.metric == "pointing" and "removed" in s.curves]
    operators = list(dict.fromkeys(str(s.where["operator"]) for s in found))
    figures = [_by_operator([s for s in found if s.where["operator"] == o], o, material) for o in operators]
    if not figures:
        return None
    return join(tag("h4", None, say("verdicts.curves")), tag("div", {"class": "cards"}, figures))


def _by_operator(scores: Sequence[Score], operator: str, material: Material) -> Html:
    base = {e["id"]: float(e["probability"]) for e in material.examples if e.get("probability") is not None}
    grid, lines = (0.0, *scores[0].grid), []
    randoms = [s for s in scores if s.method.startswith("random")]
    named = [(s.method, s.ids, np.asarray(s.curves["removed"])) for s in scores if s not in randoms]
    if randoms:
        mean = np.mean([np.asarray(s.curves["removed"]) for s in randoms], axis=0)
        named.append(("random", randoms[0].ids, mean))
    methods, sizes = [name for name, _, _ in named], list[int]()
    for name, ids, removed in named:
        # the curve begins with the examples that it goes on with
        start = np.where(np.isnan(removed).all(1), np.nan, [base.get(i, np.nan) for i in ids])
        whole = np.column_stack([start, removed])
        sizes += (~np.isnan(whole)).sum(0).tolist()
        middle, low, high = band(whole, [material.cluster(i) for i in ids], material)
        colour = series_index(name.partition(":")[0] if ":" in name else name, methods)
        own = any(s.where.get("own") for s in scores if s.method == name)
        shown = f"{name} ({say('results.own_operator')})" if own else name
        lines.append(Line(shown, colour, middle, low, high, dashed=name == "random" or own))
    note = say("verdicts.curves_note", n=counts.examples(sizes), operator=operator)
    caption = tag("figcaption", None, note)
    if len(grid) < 3:  # one size is no curve
        dots = [Dot(ln.name, ln.colour, ln.y[-1], ln.low[-1], ln.high[-1], hollow=ln.dashed) for ln in lines]
        before = next((float(ln.y[0]) for ln in lines if np.isfinite(ln.y[0])), None)
        return tag("figure", None, interval_chart(dots, name=say("verdicts.after_one"), reference=before), caption)
    chart = line_chart(grid, lines, x_name=say("verdicts.units_removed"), y_name=say("verdicts.probability"))
    return tag("figure", None, chart, legend(lines), caption)


def _caps(material: Material) -> Html | None:
    """How far the most distant attention is, by how far the prediction may move."""
    score = next((s for s in material.findings if s.metric == "max_jsd" and "jsd" in s.curves), None)
    if score is None or len(score.grid) < 2:
        return None
    middle, low, high = band(np.asarray(score.curves["jsd"]), [material.cluster(i) for i in score.ids], material)
    line = Line(say("verdicts.divergence"), 1, middle, low, high)
    chart = line_chart(score.grid, [line], x_name=say("verdicts.cap"), y_name=say("verdicts.divergence"))
    sizes = (~np.isnan(np.asarray(score.curves["jsd"], np.float64))).sum(0).tolist()
    note = say("verdicts.caps_note", n=counts.examples(sizes), largest=f"{LARGEST:.2f}")
    link = tag("a", {"href": "#exhibit-other"}, say("verdicts.see_exhibit"))
    caption = tag("figcaption", None, note, " ", link)
    return join(tag("h4", None, say("verdicts.caps_curve")), tag("figure", {"class": "half"}, chart, caption))


def band(curves: Floats, clusters: Sequence[str], material: Material) -> tuple[Floats, Floats, Floats]:
    """Mean, low and high at every point; clusters are resampled."""
    seed = int(material.manifest.get("seed", 0))
    sums = [ClusterSums.of(curves[:, point], clusters) for point in range(curves.shape[1])]
    found = [bootstrap(s, seed=seed, draws=DRAWS) for s in sums]
    return (
        np.array([f.estimate for f in found]), np.array([f.low for f in found]), np.array([f.high for f in found])
    )  # fmt: skip
