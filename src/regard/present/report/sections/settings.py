"""Origin of the numbers: data notes, labels, methods with their parameters, costs, versions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from regard.present.messages.messages import id_words, known, render, say
from regard.present.prediction_facts import prediction_lines
from regard.present.report.markup import Html, join, table, tag
from regard.present.run_reader import Material
from regard.records import Spec


def settings(material: Material) -> Html | None:
    """Data, labels, predictions, methods, costs and versions: enough to repeat the run."""
    m = material.manifest
    return join(_notes(m), _labels(m), _predictions(material), _specs(m), _costs(material), _versions(m))


def _notes(m: Any) -> Html:
    notes = m["data"].get("notes") or []
    items = [tag("li", None, render(n)) for n in notes] or [tag("li", None, say("settings.nothing"))]
    return join(
        tag("h3", None, say("settings.data")),
        tag("p", None, say("settings.source", source=m["data"].get("source", say("unknown")))),
        tag("ul", None, items),
    )


def _labels(m: Any) -> Html | None:
    label_table = m.get("label_table")
    head = tag("h3", None, say("settings.labels"))
    if isinstance(label_table, dict):
        both = [say("settings.in_data"), say("settings.in_model")]
        return join(head, table(both, [[str(k), str(v)] for k, v in label_table.items()]))
    if isinstance(label_table, list) and label_table and all(isinstance(row, dict) for row in label_table):
        return join(head, table(*label_cells(label_table)))
    if isinstance(label_table, list) and label_table:
        return join(head, tag("ul", None, [tag("li", None, str(row)) for row in label_table]))
    labels = m["model"].get("labels") or []
    return join(head, tag("p", None, ", ".join(map(str, labels)))) if labels else None


def _predictions(material: Material) -> Html | None:
    lines = prediction_lines(material)
    if not lines:
        return None
    return join(tag("h3", None, say("predictions.title")), tag("ul", None, [tag("li", None, line) for line in lines]))


def label_cells(rows: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Return the head and the cells of a stored label table, in the current language."""
    names = list(rows[0])
    return [_head(name) for name in names], [[_label_cell(name, row.get(name, "")) for name in names] for row in rows]


def _label_cell(name: str, value: object) -> str:
    key = f"settings.match.{str(value).replace(' ', '_')}"
    return say(key) if name == "matched by" and known(key) else str(value)


def _head(name: str) -> str:
    key = f"settings.{name.replace(' the ', '_').replace(' ', '_')}"
    return say(key) if known(key) else name


def _specs(m: Any) -> Html | None:
    specs = [Spec.from_json(s) for s in m.get("specs") or [] if isinstance(s, dict)]
    if not specs:
        return None
    rows = [
        [id_words("errors.noun", s.kind), s.name, json.dumps(dict(s.params)) if s.params else say("settings.defaults")]
        for s in specs
    ]
    head = [say(f"settings.{name}") for name in ("kind", "name", "parameters")]
    return join(tag("h3", None, say("settings.methods")), table(head, rows))


def _costs(material: Material) -> Html | None:
    costs = material.run.costs()
    if not costs:
        return None
    rows = []
    for cost in costs:
        limit = say("settings.no_limit") if cost.get("limit") is None else f"{cost['limit']:.0%}"
        texts = [f"{cost['seconds']:.1f}", f"{cost['forwards']}", f"{cost['backwards']}", f"{cost['share']:.0%}", limit]
        rows.append([id_words("settings.cost_of", str(cost["method"])), *(tag("td", {"class": "n"}, s) for s in texts)])
    head = [say(f"settings.{name}") for name in ("method", "seconds", "forwards", "backwards", "share", "limit")]
    return join(
        tag("h3", None, say("settings.costs")), table(head, rows, caption=say("settings.cost_caption"), numeric=True)
    )


def _versions(m: Any) -> Html:
    rows: list[list[str]] = [[_head(str(k)), str(v)] for k, v in (m.get("versions") or {}).items()]
    command = m.get("command") or []
    line = " ".join(map(str, command)) if isinstance(command, list) else str(command)
    rows += [[say("settings.command"), _code(line)]] if line else []
    rows += [[say("settings.model_fingerprint"), _code(m["model"].get("fingerprint"))]]
    rows += [[say("settings.model_source"), _code(m["model"].get("source"))]]
    rows += [[say("settings.data_fingerprint"), _code(m["data"].get("fingerprint"))]]
    return join(tag("h3", None, say("settings.versions")), table([say("settings.what"), say("settings.which")], rows))


def _code(value: Any) -> Html:
    return tag("td", None, tag("code", None, str(value) if value else say("unknown")))
