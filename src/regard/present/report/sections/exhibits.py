"""Findings in the user's own data: other attention, words relied on, the method to show, two kinds of inputs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from regard.audits.conclusions.other_attention import CAP, LARGEST, READABLE, OtherAttention
from regard.audits.conclusions.reliance import LEAST_SHARE, OfClass, Reliance, Suspect, Unit
from regard.measures.intervals import Interval
from regard.present.decimals import at_least, decimals
from regard.present.messages.messages import count, say
from regard.present.overview import explain_command
from regard.present.report.drawings.unit_drawing import unit_drawing
from regard.present.report.exhibits.instead import Instead, instead
from regard.present.report.exhibits.mixture import mixture
from regard.present.report.markup import Attributes, Child, Html, command_line, join, tag
from regard.present.results_table import unit_kind
from regard.present.run_reader import Material
from regard.present.trust_words import trust_line
from regard.present.verdict_words import question, said
from regard.records import Floats
from regard.visible import visible

DOTS = '"..."'


def exhibits(material: Material) -> Html | None:
    """Build four cards; None if the model is broken."""
    if material.broken:
        return None
    cards = (_mixture(material), _other(material), _reliance(material), _instead(material))
    return tag("div", {"class": "exhibits"}, [card for card in cards if card is not None])


def _card(name: str, *inner: Child) -> Html:
    return tag("article", {"id": f"exhibit-{name}", "class": "exhibit"}, tag("h3", None, say(f"{name}.title")), *inner)


def written(found: Interval, sign: str = "") -> tuple[str, str]:
    """Format an estimate and its interval."""
    d = decimals(found.estimate, found.low, found.high)
    if math.isnan(found.low) and math.isnan(found.high):
        return f"{found.estimate:{sign}.{d}f}", say("graded.too_few")
    return f"{found.estimate:{sign}.{d}f}", f"[{found.low:{sign}.{d}f}, {found.high:{sign}.{d}f}]"


# ---------------------------------------------------------------------- right here, wrong there


def _mixture(material: Material) -> Html | None:
    """Show one example of each kind; no card if two kinds of inputs are not established."""
    kinds = mixture(material)
    if kinds is None:
        return None
    twins = []
    for row in (kinds.right, kinds.wrong):
        example, values = material.by_id[row.example], _attention(material, row.example)
        drawing = unit_drawing(example, values, signed=False) if values is not None else row.example
        twins.append(tag("div", {"class": "twin"}, tag("p", {"class": "soft"}, trust_line(row, example)), drawing))
    sentence = tag("p", None, tag("b", None, question(kinds.verdict)), " ", said(kinds.verdict))
    return _card("trust", sentence, tag("div", {"class": "twins"}, twins))


def _attention(material: Material, example: str) -> Floats | None:
    return material.relevance_of("attention", example) if "attention" in material.methods else None


# ---------------------------------------------------------------------- the same prediction with another attention


def _other(material: Material) -> Html:
    other = material.conclusions.other_attention
    if other is None:
        return _card("other", tag("p", {"class": "soft"}, say("other.not_searched")))
    example = material.by_id.get(other.example or "")
    if example is None:
        none = say("other.none_exact" if other.exact else "other.none_searched")
        return _card("other", tag("p", None, tag("strong", None, none)))
    drawings = [
        tag(
            "div",
            {"class": "twin"},
            tag("p", {"class": "soft"}, say(f"other.{who}")),
            unit_drawing(example, values, signed=False),
        )
        for who, values in (("own", other.own or ()), ("other", other.other or ()))
    ]
    pictures = example["units"]["place_kind"] == "box"
    lines = other_lines(other, material)
    return _card(
        "other",
        tag("div", {"class": "twins pictures" if pictures else "twins"}, drawings),
        tag("p", None, lines[0]),
        [tag("p", {"class": "soft"}, line) for line in lines[1:]],
    )


def other_lines(found: OtherAttention, material: Material) -> list[str]:
    """The other attention in words."""
    example = material.by_id.get(found.example or "", {})
    p = example.get("probability")
    texts = count(found.n, "example")
    answer = say(
        "other.said",
        predicted=material.answer(example.get("predicted")),
        probability=say("unknown") if p is None else f"{float(p):.2f}",
        change=f"{found.change:.3f}",
    )
    units = example.get("units") or {"names": (), "place_kind": ""}
    short = say("other.short") if units["place_kind"] == "span" and len(units["names"]) <= READABLE else ""
    pair = say("other.pair", distance=f"{found.distance:.2f}", largest=f"{LARGEST:.2f}", n=texts, short=short)
    (mean, interval), seed = written(found.divergence), material.manifest.get("seed", 0)
    over = say("other.over_all", far=found.far, n=texts, cap=CAP, mean=mean, interval=interval)
    kind = say("other.exact" if found.exact else "other.bound")
    shuffled = ""
    if found.shuffled is not None:
        change, interval = written(found.shuffled)
        shuffled = say("other.shuffled", mean=change, interval=interval, n=count(found.shuffled_n, "example"))
    return [
        answer,
        pair,
        say("joint").join((over, kind, say("other.seed", seed=seed))),
        say("joint").join(filter(None, (shuffled, say("other.alone")))),
    ]


# ---------------------------------------------------------------------- what the model relies on


def _reliance(material: Material) -> Html:
    reliance = material.conclusions.reliance
    if reliance is None:
        return _card("reliance", tag("p", {"class": "soft"}, say("reliance.none")))
    top = max((u.share.estimate for c in reliance.classes for u in c.units), default=0.0) or 1.0
    drawings = [_class(c, reliance, material, top) for c in reliance.classes]
    more = (
        say("reliance.more_classes", n=count(len(reliance.classes) + reliance.left_out, "class"))
        if reliance.left_out
        else ""
    )
    return _card(
        "reliance",
        tag("p", {"class": "soft"}, say("reliance.lead", method=reliance.method), f" {more}" if more else None),
        tag("div", {"class": "classes"}, drawings),
        tag("h4", None, say("reliance.suspects")),
        _suspects(reliance),
    )


def _class(c: OfClass, found: Reliance, material: Material, top: float) -> Html:
    head = join(say("reliance.of_class", name=c.name), " ", tag("small", None, say("reliance.of_n", n=c.n)))
    if c.places is not None:
        first = next(e for e in material.examples if material.label(e["predicted"]) == c.name)
        blank = {**first, "inputs": {k: v for k, v in first["inputs"].items() if k != "image"}}
        drawing = unit_drawing(blank, c.places, signed=material.relevances[found.method].signed)
        note = tag("p", {"class": "gone"}, say("reliance.map", name=c.name))
        return tag("div", {"class": "class"}, tag("p", {"class": "who"}, head), drawing, note)
    if not c.units:
        return tag(
            "div",
            {"class": "class"},
            tag("p", {"class": "who"}, head),
            tag("p", {"class": "soft"}, say("reliance.no_units", kind=unit_kind(found.kind))),
            _function_words(c),
        )
    rows = [_unit_row(u, top) for u in c.units]
    sheet = tag("table", {"class": "class"}, tag("caption", {"class": "who"}, head), tag("tbody", None, rows))
    return tag("div", None, sheet, _function_words(c))


def _unit_row(u: Unit, top: float) -> Html:
    interval = f"[{100 * u.share.low:.1f}, {100 * u.share.high:.1f}] "
    return tag(
        "tr",
        None,
        tag("th", {"scope": "row"}, u.name),
        tag("td", {"class": "bar"}, _bar(u.share.estimate / top)),
        tag(
            "td",
            {"class": "n"},
            f"{u.share.estimate:.1%} ",
            tag("small", None, interval, say("reliance.unit_in", n=u.n)),
        ),
    )


def function_words_line(c: OfClass) -> str:
    """Punctuation and function words of a class, with their shares; "" if it relies on none."""
    units = say("listed").join(
        f"“{u.name}” {u.share.estimate:.1%} [{100 * u.share.low:.1f}, {100 * u.share.high:.1f}]"
        for u in c.function_words
    )
    return say("reliance.function_words", units=units) if units else ""


def _function_words(c: OfClass) -> Html | None:
    line = function_words_line(c)
    return tag("p", {"class": "soft"}, line) if line else None


def _bar(share: float) -> Html:
    shape: Attributes = {"x": 0, "y": 2, "width": round(60 * share, 1), "height": 8, "class": "fp"}
    return tag("svg", {"viewBox": "0 0 60 12", "class": "spark", "aria-hidden": "true"}, tag("rect", shape))


def no_suspects(found: Reliance) -> str:
    """Explain an empty list for units of this kind."""
    which = {"word": "", "column": "_column"}.get(found.kind, "_place")
    return say(f"reliance.no_suspects{which}", share=f"{LEAST_SHARE:.0%}")


def _suspects(found: Reliance) -> Html:
    silent = None if found.labelled else tag("p", {"class": "soft"}, say("reliance.no_labels"))
    if not found.suspects:
        return join(tag("p", {"class": "soft"}, no_suspects(found)), silent)
    lines = [tag("li", None, suspect_line(s)) for s in found.suspects[:3]]
    return join(tag("ul", {"class": "suspects"}, lines), tag("p", {"class": "soft"}, say("reliance.check")), silent)


def suspect_line(s: Suspect) -> str:
    of = f"{s.of:.2f}" if s.why == "separates" else f"{s.of:g}"
    share = f"{s.share.estimate:.1%} [{s.share.low:.1%}, {s.share.high:.1%}]"
    base, low = f"{s.base:.0%}", at_least(s.low)
    return say(f"reliance.{s.why}", name=s.name, of=of, n=s.n, label=s.label, low=low, base=base, share=share)


# ---------------------------------------------------------------------- read this instead


def _instead(material: Material) -> Html:
    better = instead(material)
    if better is None:
        return _card("instead", tag("p", {"class": "soft"}, say("instead.nothing")))
    title, lines = instead_lines(better)
    spans = any(e["units"]["place_kind"] == "span" for e in material.examples[:1])
    code = code_lines(material.manifest, better.method, spans=spans) if better.method else ()
    return _card(
        "instead",
        tag("p", {"class": "pick-this"}, title),
        tag("p", None, lines[0]),
        [tag("p", {"class": "soft"}, line) for line in lines[1:]],
        map(command_line, code),
    )


def instead_lines(found: Instead) -> tuple[str, list[str]]:
    """(method to show, sentences behind it)."""
    if found.gain is None:
        return say("instead.none"), [said(found.verdict)]
    title = say("instead.tie", methods=say("listed").join((found.method, *found.ties))) if found.ties else found.method
    gain, interval = written(found.gain, "+")
    lines = [say("instead.margin", gain=gain, interval=interval, n=found.n)]
    pairs = (("removed", found.means.comprehensiveness), ("kept", found.means.sufficiency)) if found.means else ()
    means = [say(f"instead.{name}", ours=_fall(pair[0]), theirs=_fall(pair[1])) for name, pair in pairs if pair]
    lines += [say("joint").join(means)] if means else []
    fair = say("instead.fair", operators=found.operators, level=f"{found.gain.level:.1%}")
    tie = [say("instead.tied", method=found.method)] if found.ties else []
    return title, [*tie, *lines, say("joint").join((fair, say("instead.still")))]


def _fall(value: float) -> str:
    return say("instead.rises" if value < 0 else "instead.falls", x=f"{abs(value):.2f}")


def code_lines(manifest: Mapping[str, Any], method: str, *, spans: bool) -> tuple[str, ...]:
    """Return one line for a shell, one for Python."""
    source = str(manifest["model"].get("source") or manifest["model"]["name"])
    data = str(manifest["data"].get("source") or manifest["data"]["name"])
    example = DOTS if spans else f"list(regard.read({_literal(data)}))[0]"
    return (
        explain_command(manifest, method, spans=spans),
        f"regard.explain({_literal(source)}, {example}, [{_literal(method)}])",
    )


def _literal(text: str) -> str:
    """A Python string in double quotes."""
    return json.dumps(visible(text), ensure_ascii=False)
