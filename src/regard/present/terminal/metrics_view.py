"""The metrics of a run: methods down, settings and classes across, baseline and ceiling marked.

Also shows the stability of the order of the methods between removal operators.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from regard.audits.conclusions.rank_stability import Between
from regard.audits.conclusions.settings import setting
from regard.errors import UnknownName
from regard.present import counts
from regard.present.messages.messages import columns, method_words, say
from regard.present.results_table import Column, metric_title, shown
from regard.present.terminal.terminal import plain_table
from regard.records import Summary
from regard.registry import entry
from regard.store.run import summary_to_json

FAMILIES = ("faithfulness", "agreement", "plausibility", "robustness", "randomisation", "polarity", "complexity")
GAP, INTERVAL = 2, 16
"""Characters between columns, and of an interval."""


def metrics_view(
    summaries: Sequence[Summary], stable: Sequence[Between], methods: Sequence[str], *, width: int = 120
) -> RenderableType:
    """Build a table for each metric, by family, and the table of rank stability."""
    parts: list[RenderableType] = []
    names = list(dict.fromkeys(s.metric for s in summaries))
    for metric in sorted(names, key=lambda name: FAMILIES.index(_fact(name, "family", FAMILIES[0]))):
        parts += [*_metric(metric, [s for s in summaries if s.metric == metric], methods, width), Text("")]
    if stable:
        parts += _stability(stable)
    return Group(*parts)


def _metric(metric: str, own: Sequence[Summary], methods: Sequence[str], width: int) -> list[RenderableType]:
    settings = list(dict.fromkeys(_heading(s) for s in own))
    cells = {(s.method, _heading(s)): s for s in own}
    order = [m for m in methods if any(s.method == m for s in own)]
    roles = {m: {s.role for s in own if s.method == m} for m in order}
    order.sort(key=lambda m: ("baseline" in roles[m]) - ("ceiling" in roles[m]))
    first = next((s for s in own if s.n), own[0])
    better, family = say(f"term.metrics.{first.better}"), _fact(metric, "family", "")
    name = metric_title(metric)
    heading = say(
        "term.metrics.title", metric=name, better=better, family=say(f"term.family.{family}") if family else "–"
    )
    title = Text(heading)
    title.stylize("bold", 0, len(name))
    names = {m: say("term.metrics.baseline_of", method=m) if "baseline" in roles[m] else m for m in order}
    common = {c: counts.largest(counts.size(s) for (_, at), s in cells.items() if at == c) for c in settings}
    apart = len({n for n in common.values() if n[0]}) > 1
    heads = {c: "\n".join((c, say("results.n_is", n=counts.written(common[c])))) if apart else c for c in settings}
    tables: list[RenderableType] = []
    for part in _fitting(settings, width - max(map(len, names.values()), default=0)):
        rows = [[names[m], *(_cell(cells.get((m, c)), common[c]) for c in part)] for m in order]
        tables.append(
            plain_table([say("term.metrics.method"), *(heads[c] for c in part)], rows, right=range(1, len(part) + 1))
        )
    ceiling = _fact(metric, "ceiling", "")
    caption = say(
        "term.metrics.said",
        level=f"{first.level:.0%}",
        n=_n_of(own, apart=apart),
        seed=first.seed,
        baseline=_fact(metric, "baseline", "random"),
    )
    caption += say("term.metrics.ceiling", ceiling=ceiling) if ceiling else ""
    chance = first.where.get("null_sd")
    if isinstance(chance, float):
        caption += say("term.metrics.chance", x=f"{chance:.2f}")
    caption += _random_order(own)
    return [title, *tables, Text(caption, style="dim italic")]


def _random_order(own: Sequence[Summary]) -> str:
    """Return the score of the same values in random order, if the metric knows it."""
    chances = [s.where["chance"] for s in own if s.n and "chance" in s.where]
    levels = sorted(f"{x:.2f}" for x in chances if isinstance(x, float))
    if not levels:
        return ""
    same = levels[0] == levels[-1]
    x = levels[0] if same else say("counts.range", least=levels[0], most=levels[-1])
    return say("term.metrics.random_order", x=x)


def _n_of(own: Sequence[Summary], *, apart: bool) -> str:
    """Return one n for the table, or the range of those in its heads."""
    return counts.between(s.n for s in own) if apart else counts.in_caption(map(counts.size, own))


def _fitting(columns: Sequence[str], room: int) -> list[list[str]]:
    """Group the columns to fit beside the names of the methods."""
    groups: list[list[str]] = [[]]
    width_used = 0
    for column in columns:
        wide = GAP + max(INTERVAL, *map(len, column.split("\n")))
        if groups[-1] and width_used + wide > room:
            groups.append([])
            width_used = 0
        groups[-1].append(column)
        width_used += wide
    return groups


def _heading(s: Summary) -> str:
    detail = Column(s.metric, setting(s.where), s.better).detail
    part = ", ".join(f"{say(f'column.{k}')} {s.where[k]}" for k in ("class", "slice") if k in s.where)
    return "\n".join(filter(None, (detail, part))) or say("all")


def _cell(s: Summary | None, common: counts.Size) -> str:
    estimate, interval = shown(s)
    if s is None or not s.n:
        return estimate
    notes = [own] if (own := counts.own(counts.size(s), common)) else []
    notes += [say("term.metrics.undefined", n=s.undefined)] if s.undefined else []
    notes += [say("term.metrics.is_ceiling")] if s.role == "ceiling" else []
    return "\n".join([estimate, interval, *notes])


def _stability(stable: Sequence[Between]) -> list[RenderableType]:
    rows = []
    for b in stable:
        name = metric_title(b.metric) + (f" ({b.setting})" if b.setting else "")
        interval = (
            f"[{b.stability.low:.2f}, {b.stability.high:.2f}]"
            if math.isfinite(b.stability.low)
            else say("term.metrics.no_interval")
        )
        same = f"{b.stability.same_best:.0%}" if math.isfinite(b.stability.same_best) else "–"
        rows.append(
            (name, " / ".join(b.operators), f"{b.stability.tau:.2f} {interval}", *b.best, same, str(b.stability.n))
        )
    title, note = Text(say("term.metrics.stability"), style="bold"), say("term.metrics.stability_note")
    table = plain_table(columns("term.metrics.stability_columns"), rows, right=(2, 5, 6))
    return [title, table, Text(note, style="dim italic")]


def metrics_json(summaries: Sequence[Summary], stable: Sequence[Between]) -> dict[str, Any]:
    """The metrics of a run as JSON."""
    names = dict.fromkeys(s.metric for s in summaries)
    facts = ("family", "better", "formula", "cite", "baseline", "ceiling", "cost", "misleads")
    return {
        "metrics": {name: {fact: _fact(name, fact, "") for fact in facts} for name in names},
        "summaries": [summary_to_json(s) for s in summaries],
        "rank_stability": [b.to_json() for b in stable],
    }


def _fact(metric: str, name: str, otherwise: str) -> str:
    try:
        return method_words(f"{name}.metric", metric, entry("metric", metric).facts.get(name, otherwise))
    except UnknownName:  # a score that was made elsewhere
        return otherwise
