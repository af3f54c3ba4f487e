"""Change of the prediction while units are removed, most relevant first."""

from __future__ import annotations

import math

from regard.audits.conclusions.bands import RemovalCurves
from regard.present import counts
from regard.present.messages.messages import id_words, known, say
from regard.present.palette import series_index
from regard.present.report.charts import Line, legend, line_chart
from regard.present.report.markup import Html, join, small, table, tag
from regard.present.results_table import metric_title
from regard.present.run_reader import Material


def removal_curves(material: Material) -> Html | None:
    """Draw one chart per metric and setting that has curves: mean over examples, 95 % band over clusters."""
    if not material.conclusions.removal_curves:
        return None
    figures = [_figure(curves, material) for curves in material.conclusions.removal_curves]
    note = tag("p", {"class": "soft"}, say("removal_curves.note", seed=material.seed))
    return join(note, tag("div", {"class": "cards"}, figures))


def _figure(curves: RemovalCurves, material: Material) -> Html:
    lines, sizes = list[Line](), dict[str, list[counts.Size]]()
    for band in curves.bands:
        sizes[band.name] = list(zip(band.n, band.clusters, strict=True))
        colour, dashed = series_index(band.name, material.methods), band.name in material.baselines
        lines.append(Line.of(band, colour, dashed=dashed))
    grid, place = curves.grid, curves.setting
    title = metric_title(curves.metric) + (f", {place}" if place else "")
    x_key = f"removal_curves.x.{curves.curve}"  # draws and depths are no shares of units
    x_name = say(x_key) if known(x_key) else say("removal_curves.share")
    chart = line_chart(grid, lines, x_name=x_name, y_name=id_words("removal_curves.y", curves.curve))
    head = [say("results.method"), *(f"{x:g}" for x in grid)]
    every = [size for own in sizes.values() for size in own]
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
    if not math.isfinite(middle):
        return tag("td", {"class": "n"}, say("unknown"))
    interval = f"[{low:.3f}, {high:.3f}]" if math.isfinite(low) else say("results.no_interval")
    note = small(own)
    return tag("td", {"class": "n"}, f"{middle:.3f}", tag("small", None, interval), note)
