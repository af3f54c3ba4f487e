"""Answer with its citations as one static HTML page without scripts; every text is escaped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regard.present.citation_words import citation_errors, meaning_of_numbers, unclear_reasons
from regard.present.messages.messages import render, say
from regard.present.palette import MINUS, PLUS
from regard.present.report.markup import Html, join, page, table, tag

STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}table{border-collapse:collapse}
th,td{padding:.25rem .6rem;border-bottom:1px solid #ddd;text-align:left;vertical-align:top}
td{font-variant-numeric:tabular-nums}.scroll{overflow-x:auto}figure{margin:0}
.answer span{padding:.1rem 0}.cite,.either,.traced{border-bottom:2px solid #d55e00}.none{border-bottom:2px dotted #666}
.unclear{border-bottom:2px dashed #0072b2}sup{margin:0 .3rem 0 .1rem}small{color:#555}li{white-space:pre-wrap}
.region{fill:none;stroke:#555}.cited{fill:#d55e00;fill-opacity:.3}
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def citations_page(facts: Mapping[str, Any]) -> str:
    """Return the page for the JSON of a cited answer, in the current language."""
    title = say("cite.page.title")
    cost = say("term.cite.cost", passes=facts["passes"], tokens=facts["prompt_tokens"], ranking=facts["ranking_passes"])
    return page(
        title,
        STYLE,
        POLICY,
        tag("p", None, tag("strong", None, say("term.cite.caveat"))),
        tag("h2", None, f"{say('cite.page.answer')} ({facts['model']})"),
        tag("p", {"class": "answer"}, [_sentence(sentence) for sentence in facts["sentences"]]),
        tag("p", None, say("term.cite.generated", model=facts["model"])) if facts["generated"] else None,
        tag("h2", None, say("cite.page.matrix")),
        _matrix(facts),
        [tag("p", None, line) for line in unclear_reasons(facts)],
        tag("p", None, tag("small", None, f"{meaning_of_numbers(facts)} {cost}")),
        [tag("p", None, tag("small", None, line)) for line in citation_errors(facts)],
        [tag("p", None, tag("small", None, render(note))) for note in facts["notes"]],
        tag("h2", None, say("term.cite.sources_title")),
        _regions(facts),
        tag("ol", None, [tag("li", {"id": f"s{i + 1}"}, source["text"]) for i, source in enumerate(facts["sources"])]),
    )


def _regions(facts: Mapping[str, Any]) -> Html | None:
    """Return the regions of the picture, numbered as in the table; the cited ones are filled."""
    if facts.get("picture") is None:
        return None
    height, width = facts["picture"]
    scale = 320 / max(height, width)
    shapes = []
    for number, source in enumerate(facts["sources"]):
        top, left, bottom, right = (round(scale * edge, 1) for edge in source["box"])
        cited = any(number in sentence["cited"] for sentence in facts["sentences"])
        box = {"x": left, "y": top, "width": right - left, "height": bottom - top}
        shapes.append(tag("rect", {**box, "class": "region cited" if cited else "region"}))
        shapes.append(tag("text", {"x": left + 6, "y": top + 20}, f"[{number + 1}]"))
    size = {"width": round(scale * width), "height": round(scale * height)}
    return tag("svg", {**size, "role": "img", "aria-label": say("term.cite.sources_title")}, shapes)


def _sentence(sentence: Mapping[str, Any]) -> Html:
    status = sentence["status"]
    sources = sentence["trace"]["sources"] if sentence["trace"] else sentence["cited"]
    links = [tag("a", {"href": f"#s{c + 1}"}, f"[{c + 1}]") for c in sources]
    words = say(f"cite.status.{status}")
    marks = links if status == "cite" else [*links, tag("small", None, words)]
    text = tag("span", {"class": status, "title": words}, sentence["text"])
    return join(text, tag("sup", None, marks), " ")


def _matrix(facts: Mapping[str, Any]) -> Html:
    """Sentences by sources; the colour grows up to four times the threshold."""
    numbers = [f"[{i + 1}]" for i in range(len(facts["sources"]))]
    rows = []
    for i, sentence in enumerate(facts["sentences"]):
        cells = [_cell(effect, facts["delta"]) for effect in sentence["effects"]]
        whole, status = _cell(sentence["whole"], facts["delta"]), say(f"cite.status.{sentence['status']}")
        rows.append([f"{i + 1}", *cells, whole, status])
    return table([say("cite.page.sentence"), *numbers, say("cite.page.all_sources"), ""], rows)


def _cell(effect: float | None, delta: float) -> Html:
    if effect is None:
        return tag("td", None, "·")
    red, green, blue = PLUS if effect >= 0 else MINUS
    share = min(1.0, abs(effect) / (4 * delta))
    return tag("td", {"style": f"background:rgba({red},{green},{blue},{0.6 * share:.2f})"}, f"{effect:.1f}")
