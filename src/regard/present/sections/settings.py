"""Where the numbers came from: data notes, labels, methods with their parameters, costs, versions."""

from __future__ import annotations

import json
from typing import Any

from regard.present.markup import Html, join, table, tag
from regard.present.run_reader import Material
from regard.records import Spec

TITLE = "Data, settings and costs"


def settings(material: Material) -> Html | None:
    """Enough to repeat the run and to argue about it."""
    m = material.manifest
    return join(
        _notes(m),
        _labels(m),
        _specs(m),
        _costs(material),
        _versions(m),
    )


def _notes(m: Any) -> Html:
    notes = [str(n) for n in m["data"].get("notes") or []]
    said = [tag("li", None, n) for n in notes] or [tag("li", None, "Nothing was guessed, cut, dropped or sampled.")]
    return join(
        tag("h3", None, "Data"), tag("p", None, f"Source: {m['data'].get('source', '–')}"), tag("ul", None, said)
    )


def _labels(m: Any) -> Html | None:
    found = m.get("label_table") or m.get("label table")
    head = tag("h3", None, "Labels")
    if isinstance(found, dict):
        return join(head, table(["in the data", "in the model"], [[str(k), str(v)] for k, v in found.items()]))
    if isinstance(found, list) and found and all(isinstance(row, dict) for row in found):
        names = list(found[0])
        return join(head, table(names, [[str(row.get(n, "")) for n in names] for row in found]))
    if isinstance(found, list) and found:
        return join(head, tag("ul", None, [tag("li", None, str(row)) for row in found]))
    labels = m["model"].get("labels") or []
    return join(head, tag("p", None, ", ".join(map(str, labels)))) if labels else None


def _specs(m: Any) -> Html | None:
    specs = [Spec.from_json(s) for s in m.get("specs") or [] if isinstance(s, dict)]
    if not specs:
        return None
    rows = [[s.kind, s.name, json.dumps(dict(s.params)) if s.params else "defaults"] for s in specs]
    return join(tag("h3", None, "Methods"), table(["kind", "name", "parameters"], rows))


def _costs(material: Material) -> Html | None:
    costs = material.run.costs()
    if not costs:
        return None
    numbers = ("seconds", "forwards", "backwards", "share")
    rows = []
    for cost in costs:
        shown = [f"{cost['seconds']:.1f}", f"{cost['forwards']}", f"{cost['backwards']}", f"{cost['share']:.0%}"]
        rows.append([str(cost["method"]), *(tag("td", {"class": "n"}, s) for s in shown)])
    caption = "A forward pass that several methods need is computed once and counted for whoever asked first."
    return join(tag("h3", None, "Costs"), table(["method", *numbers], rows, caption=caption, numeric=True))


def _versions(m: Any) -> Html:
    rows = [[str(k), str(v)] for k, v in (m.get("versions") or {}).items()]
    command = m.get("command") or []
    line = " ".join(map(str, command)) if isinstance(command, list) else str(command)
    rows += [["command", tag("td", None, tag("code", None, line))]] if line else []
    rows += [["model fingerprint", tag("td", None, tag("code", None, str(m["model"].get("fingerprint", "–"))))]]
    rows += [["model source", tag("td", None, tag("code", None, str(m["model"].get("source", "–"))))]]
    rows += [["data fingerprint", tag("td", None, tag("code", None, str(m["data"].get("fingerprint", "–"))))]]
    return join(tag("h3", None, "Versions"), table(["what", "which"], rows))
