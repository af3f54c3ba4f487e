"""Results: the table of the audit, and a chart of the same estimates with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence

from regard.audits.conclusions.differences import Difference
from regard.present import counts
from regard.present.messages.messages import say
from regard.present.palette import series_index
from regard.present.report.charts import Dot, interval_chart
from regard.present.report.markup import Html, join, small, table, tag
from regard.present.results_table import Column, Evidence, evidence, main_settings, shown
from regard.present.run_reader import Material


def results(material: Material) -> Html | None:
    """Methods down, metrics across, with two removal operators; then the other settings."""
    results = evidence(material.summaries, material.methods, material.own_operators)
    if not results.cells:
        return tag("p", None, say("results.none"))
    main = main_settings(results.columns)
    rest = [c for c in results.columns if c not in main]
    charts = [tag("figure", None, _chart(results, column, material)) for column in main]
    more = None
    if rest:
        inner = _table(results, tuple(rest), say("results.other_caption", n=counts.in_caption(_sizes(results, rest))))
        more = tag("details", None, tag("summary", None, say("results.other_settings")), inner)
    return join(
        _table(results, main, _caption(results, main)),
        tag("div", {"class": "cards"}, charts),
        _against(material, main),
        more,
    )


def _against(material: Material, main: tuple[Column, ...]) -> Html | None:
    """Every method minus the random baseline on the same examples."""
    differences = {
        (d.method, c): d
        for d in material.conclusions.differences
        for c in main
        if (d.metric, d.setting) == (c.metric, c.setting)
    }
    if not differences:
        return None
    columns = [c for c in main if any(c == column for _, column in differences)]
    sizes = counts.alike(d.n for d in differences.values())
    common = counts.largest(sizes)
    rows = []
    for method in dict.fromkeys(method for method, _ in differences):
        rows.append([method, *(_difference(differences.get((method, column)), common) for column in columns)])
    seed, level = material.manifest.get("seed", 0), next(iter(differences.values())).level
    caption = say(
        "results.difference_caption",
        n=counts.in_caption(sizes),
        seed=seed,
        level=f"{100 * level:.5g}",
        count=len(differences),
    )
    return join(
        tag("h3", None, say("results.difference")),
        table([say("results.method"), *(_head(c) for c in columns)], rows, caption=caption, numeric=True),
    )


def _difference(d: Difference | None, common: counts.Size) -> Html:
    if d is None or not d.n:
        return tag("td", {"class": "n"}, say("unknown"), tag("small", None, say("results.not_computed")))
    own = counts.own((d.n, d.n), common)
    note = small(own)
    if not math.isfinite(d.low):
        return tag("td", {"class": "n"}, say("unknown"), tag("small", None, say("results.no_interval")), note)
    return tag(
        "td",
        {"class": "n"},
        f"{d.estimate:+.3f}",
        tag("small", None, f"[{d.low:+.3f}, {d.high:+.3f}]"),
        tag("small", None, say(f"results.reading.{d.reading.replace(' ', '_')}")),
        note,
    )


def _sizes(found: Evidence, columns: Sequence[Column]) -> list[counts.Size]:
    return [counts.size(s) for (_, column), s in found.cells.items() if column in columns]


def _caption(found: Evidence, columns: Sequence[Column]) -> str:
    summary = next(iter(found.cells.values()))
    # what the word in a cell means, where it stands in one: a yardstick, not a bound
    ceiling = any(s.role == "ceiling" for s in found.cells.values())
    return say(
        "results.caption",
        level=f"{summary.level:.0%}",
        n=counts.in_caption(_sizes(found, columns)),
        seed=summary.seed,
        ceiling=say("results.ceiling_caption") if ceiling else "",
    )


def _table(found: Evidence, columns: tuple[Column, ...], caption: str) -> Html:
    head = [tag("span", None, say("results.method")), *(_head(c) for c in columns)]
    rows = []
    common = counts.largest(_sizes(found, columns))
    shaded = {i for i, method in enumerate(found.methods) if found.role(method) == "baseline"}
    for i, method in enumerate(found.methods):
        part = tag("small", None, say("results.baseline")) if i in shaded else None
        rows.append([tag("th", {"scope": "row"}, method, part), *(_cell(found, method, c, common) for c in columns)])
    return table(head, rows, caption=caption, shaded=shaded, numeric=True)


def _head(column: Column) -> Html:
    better = say(f"results.{column.better}" if column.better != "none" else "results.no_direction")
    detail = f"{column.detail}; {better}" if column.detail else better
    return join(column.title, tag("small", None, detail))


def _cell(found: Evidence, method: str, column: Column, common: counts.Size) -> Html:
    summary = found.cells.get((method, column))
    estimate, interval = shown(summary)
    notes = []
    if summary is not None and found.judged_by_itself(method, column):
        notes.append(say("results.own_operator"))
    if summary is not None and summary.role == "ceiling":
        notes.append(say("results.ceiling"))
    if summary is not None and summary.undefined and summary.n:
        notes.append(say("results.n_undefined", n=summary.undefined))
    if summary is not None and (own := counts.own(counts.size(summary), common)):
        notes.append(own)
    css = "n best" if found.best(column) == method else "n"
    return tag("td", {"class": css}, estimate, tag("small", None, interval), [tag("small", None, n) for n in notes])


def _chart(found: Evidence, column: Column, material: Material) -> Html:
    dots = []
    for method in found.methods:
        s = found.cells.get((method, column))
        if s is None or not s.n:  # compared with itself: nothing to draw, the table says so
            continue
        ends = (s.low, s.high) if math.isfinite(s.low) else (s.estimate, s.estimate)
        colour = series_index(method, material.methods)
        dots.append(Dot(method, colour, s.estimate, *ends, hollow=s.role == "baseline"))
    base = found.baseline(column)
    where = f", {column.detail}" if column.detail else ""
    better = say("words.where", detail=say(f"results.{column.better}")) if column.better != "none" else ""
    return interval_chart(dots, name=f"{column.title}{where}{better}", reference=base.estimate if base else None)
