"""An atlas as one HTML page: the matrix of sentences and passages, then pyramids on a canvas. Nothing is fetched."""

from __future__ import annotations

import base64
import gzip
import hashlib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.present.messages.messages import catalogue, language, render, say
from regard.present.palette import AMOUNT
from regard.present.report.markup import Html, data, page, table, tag

STYLE = """
:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:64rem;margin:1.5rem auto;padding:0 1rem;
color:light-dark(#1a1a1a,#e8e8e8);background:light-dark(#fff,#14161a)}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:1.6rem}table{border-collapse:collapse}
th,td{padding:.2rem .5rem;border-bottom:1px solid light-dark(#ddd,#444);text-align:left;vertical-align:top}
td{font-variant-numeric:tabular-nums}.scroll{overflow-x:auto}figure{margin:0}
td button{all:unset;cursor:pointer;display:block}td button:focus-visible{outline:2px solid #0072b2}
small,.quiet{color:light-dark(#555,#aaa)}#stage{max-width:640px;flex:1 1 20rem;min-width:0}
.row{display:flex;flex-wrap:wrap;gap:.6rem 1rem;align-items:flex-start}
label{display:inline-flex;gap:.4rem;align-items:center}select,input,.row>button{font:inherit;max-width:100%}
canvas{image-rendering:pixelated;border:1px solid light-dark(#ccc,#444);touch-action:none;display:block}
#stage{margin-top:.6rem}#mini{margin-top:.6rem}#map{cursor:crosshair}#readout{min-height:4.5em;overflow-wrap:anywhere}
.chip{display:inline-block;width:.8em;height:.8em;margin-right:.35em;border-radius:2px}ol{padding-left:1.6rem}
li{margin:.2rem 0;overflow-wrap:anywhere}
"""
SHORT = 160
"""Maximum characters of a passage in the list."""


def atlas_page(facts: Mapping[str, Any], pyramids: Sequence[tuple[NDArray[Any], NDArray[Any]]]) -> str:
    """Return the page for the JSON of an atlas and its base levels (sums, maxima), each (head, row, column)."""
    script = files("regard.present.report").joinpath("atlas.js").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    title = say("atlas.title", model=facts["model"])
    layers, chunks = _layers(facts, pyramids)
    return page(
        title,
        STYLE,
        policy,
        tag("p", None, tag("strong", None, say("atlas.caveat"))),
        tag("h2", None, say("atlas.matrix")),
        _matrix(facts),
        tag("p", None, tag("small", None, say("atlas.matrix_note", n=len(facts["tokens"])))),
        tag("h2", None, say("atlas.map")),
        _controls(),
        tag("div", {"class": "row"}, _stage(facts), _side(facts)),
        [tag("p", None, tag("small", None, render(note))) for note in facts["notes"]],
        tag("script", {"type": "application/json", "id": "atlas-data"}, data(_drawn(facts, layers))),
        chunks,
        tag("script", {"type": "module"}, Html(script)),
        viewport="width=device-width, initial-scale=1",
    )


def _drawn(facts: Mapping[str, Any], layers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the data for the script."""
    keys = {key.removeprefix("atlas.js."): text for key, text in catalogue(language()).items() if "atlas.js." in key}
    names = ("tokens", "answer_start", "sentences", "passages")
    return {"words": keys, "layers": list(layers), **{name: facts[name] for name in names}}


def _layers(
    facts: Mapping[str, Any], pyramids: Sequence[tuple[NDArray[Any], NDArray[Any]]]
) -> tuple[list[dict[str, Any]], list[Html]]:
    layers, chunks = [], []
    for number, (layer, arrays) in enumerate(zip(facts["layers"], pyramids, strict=True)):
        tops = {}
        for kind, values in zip(("sum", "max"), arrays, strict=True):
            coded, tops[kind] = coded_values(values)
            content = base64.b64encode(gzip.compress(coded.astype("<u2").tobytes(), 6, mtime=0)).decode("ascii")
            chunks.append(tag("script", {"type": "application/gzip", "id": f"{kind}-{number}"}, Html(content)))
        layers.append({**layer, "side": int(arrays[0].shape[1]), "tops": tops})
    return layers, chunks


def coded_values(values: NDArray[Any]) -> tuple[NDArray[np.uint16], list[float]]:
    """Return the square roots of (head, row, column) values in 16 bits, and the largest value of each head."""
    tops = np.maximum(values.max((1, 2)), 1e-12)
    coded = np.round(np.sqrt(np.clip(values / tops[:, None, None], 0, 1)) * 65535)
    return coded.astype(np.uint16), [float(top) for top in tops]


def _matrix(facts: Mapping[str, Any]) -> Html:
    """Sentences by passages, with the shares of uniform attention below; a cell leads to its place on the map."""
    numbers = [f"[{i + 1}]" for i in range(len(facts["passages"]))]
    top = max((value for row in facts["matrix"] for value in row[:-1]), default=0.0) or 1.0
    rows = []
    for i, sentence in enumerate(facts["sentences"]):
        values = facts["matrix"][i]
        cells = [_cell(facts, i, j, value / top) for j, value in enumerate(values[:-1])]
        rows.append([sentence["text"], *cells, f"{values[-1]:.1%}"])
    counts = [sum(stop - start for start, stop in passage["runs"]) for passage in facts["passages"]]
    shares = [count / len(facts["tokens"]) for count in (*counts, len(facts["tokens"]) - sum(counts))]
    rows.append([say("atlas.uniform"), *(f"{share:.1%}" for share in shares)])
    return table([say("atlas.sentence"), *numbers, say("atlas.elsewhere")], rows)


def _cell(facts: Mapping[str, Any], sentence: int, passage: int, share: float) -> Html:
    red, green, blue = AMOUNT
    strongest = say(
        "atlas.strongest", head=facts["strongest_heads"][sentence][passage], share=facts["strongest"][sentence][passage]
    )
    button = tag(
        "button",
        {"type": "button", "data-sentence": str(sentence), "data-passage": str(passage), "title": strongest},
        f"{facts['matrix'][sentence][passage]:.1%}",
    )
    return tag("td", {"style": f"background:rgba({red},{green},{blue},{0.6 * share:.2f})"}, button)


def _controls() -> Html:
    chooser = tag(
        "select",
        {"id": "kind"},
        tag("option", {"value": "max"}, say("atlas.max")),
        tag("option", {"value": "sum"}, say("atlas.sum")),
    )
    return tag(
        "div",
        {"class": "row"},
        tag("label", None, say("atlas.layer"), tag("select", {"id": "layer"})),
        tag("label", None, say("atlas.head"), tag("select", {"id": "head"})),
        tag("label", None, say("atlas.pyramid"), chooser),
        tag("label", None, say("atlas.search"), tag("input", {"id": "search", "type": "search"})),
        tag("span", {"id": "hits", "class": "quiet", "role": "status"}),
        tag("button", {"type": "button", "id": "closer"}, say("atlas.closer")),
        tag("button", {"type": "button", "id": "farther"}, say("atlas.farther")),
        tag("button", {"type": "button", "id": "everything"}, say("atlas.everything")),
    )


def _stage(facts: Mapping[str, Any]) -> Html:
    errors = [layer for layer in facts["layers"] if layer["every"] > 1]
    sampled = [
        tag("p", None, tag("small", None, say("atlas.sampled", layer=e["layer"], every=e["every"], error=e["error"])))
        for e in errors
    ]
    block = facts["layers"][0]["block"] if facts["layers"] else 1
    return tag(
        "div",
        {"id": "stage"},
        tag("canvas", {"id": "map", "tabindex": "0", "role": "img", "aria-label": say("atlas.map")}),
        tag("p", {"id": "readout", "aria-live": "polite"}, say("atlas.hover")),
        tag("p", None, tag("small", None, say("atlas.map_note", block=block))),
        sampled,
    )


def _side(facts: Mapping[str, Any]) -> Html:
    items = [
        tag(
            "li",
            None,
            tag("span", {"class": "chip", "style": f"background:hsl({(i * 137.5 + 30) % 360:.1f} 65% 50%)"}),
            passage["text"] if len(passage["text"]) <= SHORT else passage["text"][: SHORT - 1] + "…",
        )
        for i, passage in enumerate(facts["passages"])
    ]
    return tag(
        "div",
        {"style": "flex:1 1 14rem;min-width:0"},
        tag("canvas", {"id": "mini", "width": "128", "height": "128", "role": "img", "aria-label": say("atlas.mini")}),
        tag("h2", None, say("atlas.passages")),
        tag("ol", None, items),
    )
