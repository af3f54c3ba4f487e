"""Attention of the kept examples: a map per site and head, with its strongest links as a table."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from regard.present.attention_maps import ExampleMaps, SiteMap, attention_maps
from regard.present.markup import Html, data, join, table, tag
from regard.present.run_reader import Material
from regard.present.saying import say
from regard.records import Json

LEFT, ABOVE, CELL = 92, 74, 14


def attention_view(material: Material) -> Html | None:
    """The last site of the first example is drawn here; a few lines of script redraw it for the others."""
    maps, notes = attention_maps(material)
    if not maps:
        return None
    return join(
        tag("p", {"class": "note"}, say("caveat")),
        tag("div", {"id": "attention-view"}, _pickers(), _first(maps[0])),
        [tag("p", {"class": "soft"}, note) for note in notes],
        tag("script", {"type": "application/json", "id": "attention-data"}, data([_json(m) for m in maps])),
    )


def _json(maps: ExampleMaps) -> Json:
    return {"name": maps.title, "sites": [s.to_json() for s in maps.sites]}


def _pickers() -> Html:
    labels = [
        tag("label", None, name, tag("select", None, ""))
        for name in (say("attention_view.example"), say("attention_view.site"), say("attention_view.head"))
    ]
    return tag("div", {"class": "pick", "hidden": ""}, labels)


def _first(maps: ExampleMaps) -> Html:
    site = maps.sites[-1]
    mean = site.weights.mean(axis=0)
    shown = say("attention_view.mean_of_heads") if len(site.weights) > 1 else say("attention_view.head_n", n=0)
    caption = say("attention_view.caption")
    drawn = tag("noscript", None, tag("p", {"class": "soft"}, f"{maps.title}: {site.name}, {shown}"))
    return tag(
        "div",
        {"class": "sides"},
        tag("figure", None, drawn, _map(site, mean), tag("figcaption", None, caption)),
        tag("div", None, tag("p", {"class": "readout soft", "aria-live": "polite"}, ""), _links(site, mean)),
    )


def _map(site: SiteMap, weights: NDArray[np.float32]) -> Html:
    rows, columns = weights.shape
    top = float(weights.max(initial=0.0)) or 1.0
    parts: list[Html] = []
    for i, name in enumerate(site.queries):
        parts.append(tag("text", {"x": LEFT - 4, "y": ABOVE + (i + 0.7) * CELL, "class": "end"}, name))
    for j, name in enumerate(site.keys):
        x, y = LEFT + (j + 0.7) * CELL, ABOVE - 4
        parts.append(tag("text", {"x": x, "y": y, "transform": f"rotate(-60 {x:g} {y:g})"}, name))
    for i in range(rows):
        for j in range(columns):
            strength = float(np.sqrt(max(0.0, float(weights[i, j])) / top))
            if strength >= 0.004:
                place = {"x": LEFT + j * CELL, "y": ABOVE + i * CELL, "width": CELL, "height": CELL}
                parts.append(tag("rect", {**place, "class": "cell", "fill-opacity": round(strength, 3)}))
    edge = {"x": LEFT, "y": ABOVE, "width": columns * CELL, "height": rows * CELL, "class": "mapframe"}
    parts.append(tag("rect", edge))
    width, height = LEFT + columns * CELL + 40, ABOVE + rows * CELL + 1
    frame = {
        "viewBox": f"0 0 {width} {height}",
        "width": width,
        "height": height,
        "class": "map",
        "role": "img",
        "aria-label": say("attention_view.described"),
        "data-left": LEFT,
        "data-above": ABOVE,
        "data-cell": CELL,
    }
    return tag("svg", frame, parts)


def _links(site: SiteMap, weights: NDArray[np.float32]) -> Html:
    order = np.argsort(-weights, axis=None, kind="stable")[:8]
    rows = []
    for flat in order:
        i, j = (int(v) for v in np.unravel_index(int(flat), weights.shape))
        number = tag("td", {"class": "n"}, f"{float(weights[i, j]):.3f}")
        rows.append([tag("td", None, site.queries[i]), site.keys[j], number])
    return table(
        [say(f"attention_view.{name}") for name in ("query", "key", "weight")],
        rows,
        caption=say("attention_view.links"),
    )
