"""How the model's answer changes while units are removed, most relevant first."""

from __future__ import annotations

import numpy as np

from regard.measures.intervals import ClusterSums, bootstrap
from regard.present import counts
from regard.present.messages.messages import say
from regard.present.palette import series_index
from regard.present.report.charts import Line, legend, line_chart
from regard.present.report.markup import Html, join, small, table, tag
from regard.present.results_table import metric_title, setting
from regard.present.run_reader import Material
from regard.records import Floats, Score

DRAWS = 500
"""Resamples per point of a curve: a band is looked at, not read off to three digits."""


def removal_curves(material: Material) -> Html | None:
    """One chart per metric and setting that kept curves: mean over examples, 95 % band over clusters."""
    groups: dict[tuple[str, str, str], list[Score]] = {}
    for score in material.scores:
        for name, values in score.curves.items():
            if len(score.grid) >= 2 and np.shape(values)[-1:] == (len(score.grid),):
                place = ", ".join(value for _, value in setting(score.where))
                groups.setdefault((score.metric, place, name), []).append(score)
    if not groups:
        return None
    figures = [_figure(key, scores, material) for key, scores in groups.items()]
    seed = material.manifest.get("seed", 0)
    return join(
        tag("p", {"class": "soft"}, say("removal_curves.note", seed=seed)), tag("div", {"class": "cards"}, figures)
    )


def _figure(key: tuple[str, str, str], scores: list[Score], material: Material) -> Html:
    metric, place, name = key
    lines, sizes = list[Line](), dict[str, list[counts.Size]]()
    baselines = {s.method for s in material.summaries if s.role == "baseline"}
    for score in scores:
        middle, low, high, sizes[score.method] = _band(np.asarray(score.curves[name], np.float64), score, material)
        colour = series_index(score.method, material.methods)
        lines.append(Line(score.method, colour, middle, low, high, dashed=score.method in baselines))
    grid = scores[0].grid
    title = metric_title(metric) + (f", {place}" if place else "")
    wording = name.replace("_", " ")
    chart = line_chart(grid, lines, x_name=say("removal_curves.share"), y_name=wording)
    head = [say("results.method"), *(f"{x:g}" for x in grid)]
    every = [size for some in sizes.values() for size in some]
    common = counts.largest(every)
    rows = []
    for line in lines:
        points = zip(line.y, line.low, line.high, sizes[line.name], strict=True)
        rows.append([line.name, *(_numbers(m, lo, hi, counts.own(size, common)) for m, lo, hi, size in points)])
    numbers = tag(
        "details",
        None,
        tag("summary", None, say("page.numbers")),
        table(head, rows, caption=say("removal_curves.caption", title=title, n=counts.in_caption(every)), numeric=True),
    )
    return tag(
        "figure",
        None,
        tag("h3", None, title),
        chart,
        legend(lines),
        tag("figcaption", None, say("removal_curves.n", n=counts.between(n for n, _ in every))),
        numbers,
    )


def _numbers(middle: float, low: float, high: float, own: str) -> Html:
    if not np.isfinite(middle):
        return tag("td", {"class": "n"}, say("unknown"))
    interval = f"[{low:.3f}, {high:.3f}]" if np.isfinite(low) else say("results.no_interval")
    note = small(own)
    return tag("td", {"class": "n"}, f"{middle:.3f}", tag("small", None, interval), note)


def _band(curves: Floats, score: Score, material: Material) -> tuple[Floats, Floats, Floats, list[counts.Size]]:
    """Mean, low, high and size at every point."""
    clusters = [material.cluster(name) for name in score.ids]
    seed = int(material.manifest.get("seed", 0))
    sums = [ClusterSums.of(curves[:, point], clusters) for point in range(curves.shape[1])]
    ends = [bootstrap(s, seed=seed, draws=DRAWS) for s in sums]
    middle, low, high = (np.asarray([getattr(e, name) for e in ends]) for name in ("estimate", "low", "high"))
    return middle, low, high, [(s.n, len(s.names)) for s in sums]
