"""Some examples with the relevance of every method."""

from __future__ import annotations

from typing import Any

import numpy as np

from regard.present.messages.messages import count, say
from regard.present.report.drawings.boxes import plain_picture
from regard.present.report.drawings.unit_drawing import unit_drawing
from regard.present.report.markup import Html, join, table, tag
from regard.present.results_table import metric_title, unit_kind
from regard.present.run_reader import Material
from regard.present.trust_words import trust_line

MOST = 12
MOST_NUMBERS = 60
"""Maximum units in a table of numbers; beyond, only the strongest."""


def worked_examples(material: Material) -> Html | None:
    """Show up to twelve examples, those with stored attention first."""
    kept_ids = [name for name in material.run.kept() if name in material.by_id]
    ids = [*kept_ids, *(name for name in material.by_id if name not in set(kept_ids))][:MOST]
    if not ids:
        return None
    signs = [
        tag("span", {"class": "key p8"}, say("worked_examples.for")),
        " ",
        tag("span", {"class": "key m8"}, say("worked_examples.against")),
        " ",
        tag("span", {"class": "key a8"}, say("worked_examples.amount")),
    ]
    more = "" if len(kept_ids) >= len(ids) else say("worked_examples.chosen_more")
    choice_note = say("worked_examples.chosen_kept", more=more) if kept_ids else say("worked_examples.chosen_first")
    blocks = [_example(material.by_id[name], material, is_open=i < 2) for i, name in enumerate(ids)]
    return join(
        tag("p", None, signs),
        tag("p", {"class": "soft"}, f"{choice_note} {say('colour_scale')}"),
        tag("p", {"class": "note"}, say("caveat")),
        tag("div", {"class": "examples"}, blocks),
    )


def _example(example: dict[str, Any], material: Material, *, is_open: bool) -> Html:
    rows: list[Html] = []
    pictures = example["units"]["place_kind"] == "box"
    original = plain_picture(example) if pictures else None
    if original is not None:
        rows.append(tag("div", None, original, tag("div", {"class": "who"}, tag("b", None, str(example["id"])))))
    for method in material.methods:
        values = material.relevance_of(method, example["id"])
        if values is None:
            continue
        drawing = unit_drawing(example, values, signed=material.relevances[method].signed)
        who = tag("div", {"class": "who"}, tag("b", None, method), _scores(method, example["id"], material))
        rows.append(tag("div", None, drawing, who) if pictures else join(who, tag("div", None, drawing)))
    grid = tag("div", {"class": "rows pictures" if pictures else "rows"}, rows)
    return tag(
        "details",
        {"open": "" if is_open else None},
        tag("summary", None, _title(example, material)),
        _trust(example, material),
        grid,
        _numbers(example, material),
    )


def _trust(example: dict[str, Any], material: Material) -> Html | None:
    """State whether the map can be trusted here, by text and symbol, without colour."""
    rows = [row for row in material.conclusions.trust_of_examples if row.example == example["id"]]
    return tag("p", {"class": "soft"}, say("trust.label"), " ", trust_line(rows[0], example)) if rows else None


def _title(example: dict[str, Any], material: Material) -> Html:
    words = str(example["inputs"].get("text") or example["id"])
    snippet = words if len(words) <= 90 else words[:88] + "…"
    name, p = material.answer(example["predicted"]), example.get("probability")
    sentence = say("worked_examples.predicted", label=name)
    if p is not None:
        sentence = say("worked_examples.predicted_p", label=name, p=f"{float(p):.2f}")
    label = example.get("label")
    if label is not None:
        right = material.label(label) == material.label(example["predicted"])
        sentence += say("worked_examples.right" if right else "worked_examples.wrong", label=material.label(label))
    return join(snippet, " ", tag("span", {"class": "soft"}, sentence))


def _scores(method: str, example_id: str, material: Material) -> Html:
    """List this example's own scores, in the first setting of every metric."""
    lines: dict[str, str] = {}
    for score in material.scores:
        if score.method == method and score.metric not in lines and example_id in score.ids:
            value = float(score.values[score.ids.index(example_id)])
            if np.isfinite(value):
                lines[score.metric] = f"{metric_title(score.metric)} {value:.2f}"
    return join(tag("span", None, line) for line in lines.values())


def _numbers(example: dict[str, Any], material: Material) -> Html:
    units = example["units"]
    columns = {m: v for m in material.methods if (v := material.relevance_of(m, example["id"])) is not None}
    free = [i for i in range(len(units["names"])) if not units["special"][i]]
    if len(free) > MOST_NUMBERS:
        scaled = [np.abs(v) / (np.abs(v).max(initial=0.0) or 1.0) for v in columns.values()]
        top = np.max(np.stack(scaled), axis=0)
        free = sorted(sorted(free, key=lambda i: -float(top[i]))[:MOST_NUMBERS])
    rows = [[units["names"][i], *(tag("td", {"class": "n"}, f"{v[i]:.4f}") for v in columns.values())] for i in free]
    hidden = len(units["names"]) - sum(map(bool, units["special"])) - len(free)
    caption = say("worked_examples.relevance_of", kind=unit_kind(str(units["kind"])))
    caption += say("worked_examples.left_out", weaker=count(hidden, "weaker")) if hidden else ""
    inner = table([unit_kind(str(units["kind"])), *(m for m in columns)], rows, caption=caption, numeric=True)
    return tag("details", None, tag("summary", None, say("worked_examples.numbers")), inner)
