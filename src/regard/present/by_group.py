"""Main numbers by class or slice, because an average may hide that one of them behaves differently."""

from __future__ import annotations

from regard.audits.conclusions.settings import Setting, other_method, setting
from regard.present import counts
from regard.present.messages.messages import say
from regard.present.report.markup import Html, join, small, table, tag
from regard.present.results_table import metric_title, shown
from regard.present.run_reader import Material
from regard.records import Summary

MOST = 12


def parts_tables(material: Material, kind: str) -> Html | None:
    """Build one table per metric (preferred setting): methods down, parts of that kind ("class" or "slice") across."""
    first: dict[str, Setting] = {}
    groups: dict[str, list[Summary]] = {}
    for s in material.summaries:
        place = setting(s.where)
        alone = kind in s.where and other_method(s.where) is None
        if alone and first.setdefault(s.metric, place) == place:
            groups.setdefault(s.metric, []).append(s)
    if not groups:
        return None
    return tag("div", {"class": "cards"}, [_table(m, first[m], found, kind) for m, found in groups.items()])


def _table(metric: str, place: Setting, found: list[Summary], kind: str) -> Html:
    parts = sorted({str(s.where[kind]) for s in found})
    cells = {(s.method, str(s.where[kind])): s for s in found}
    sizes = {name: counts.largest(counts.size(s) for s in found if str(s.where[kind]) == name) for name in parts}
    columns = sorted(parts, key=lambda name: -sizes[name][0])[:MOST]
    head = [
        say("results.method"),
        *(join(name, tag("small", None, say("results.n_is", n=counts.written(sizes[name])))) for name in columns),
    ]
    methods = list(dict.fromkeys(s.method for s in found))
    rows = [[m, *(_cell(cells.get((m, name)), sizes[name]) for name in columns)] for m in methods]
    where = say("words.where", detail=", ".join(v for _, v in place)) if place else ""
    more = say("parts.more", most=MOST, n=len(parts)) if len(parts) > MOST else ""
    level, seed, title = f"{found[0].level:.0%}", found[0].seed, metric_title(metric).capitalize()
    caption = say("parts.caption", title=title, where=where, level=level, seed=seed, more=more)
    return table(head, rows, caption=caption, numeric=True)


def _cell(summary: Summary | None, common: counts.Size) -> Html:
    estimate, interval = shown(summary)
    own = "" if summary is None else counts.own(counts.size(summary), common)
    note = small(own)
    return tag("td", {"class": "n"}, estimate, tag("small", None, interval), note)
