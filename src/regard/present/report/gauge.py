"""The gauge of the first page: random units at 0, the best method at 100, attention with its interval between them."""

from __future__ import annotations

from regard.present.messages.messages import say
from regard.present.overview import Gauge
from regard.present.report.markup import Attributes, Html, join, tag
from regard.present.verdict_words import interval, whole_percent

WIDTH, HEIGHT, EDGE, LINE = 720, 114, 20, 46
"""Width of the drawing, margin at each side, and height of the axis."""
LEAST, MOST = -0.1, 1.15
"""Shares at the ends of the axis; a longer interval gets an arrow."""


def gauge_drawing(gauge: Gauge) -> Html:
    """Draw the gauge as an SVG with its numbers in words for screen readers."""
    parts: list[Html] = [
        _line("axis", _x(LEAST), LINE, _x(MOST), LINE),
        *_mark(0.0, say("gauge.random"), "0", align="start", below=35),
        *_mark(1.0, say("gauge.best", method=gauge.best), "100", align="end", below=60),  # long: a line of its own
        _line("threshold", _x(gauge.threshold), LINE - 18, _x(gauge.threshold), LINE + 18),
        _text("mid", _x(gauge.threshold), LINE + 35, say("gauge.threshold", x=whole_percent(gauge.threshold))),
    ]
    if gauge.share is not None:
        parts += _attention(gauge)
    shape: Attributes = {
        "viewBox": f"0 0 {WIDTH} {HEIGHT}",
        "class": "gauge",
        "role": "img",
        "aria-label": gauge_words(gauge),
    }
    return tag("svg", shape, parts)


def gauge_line(gauge: Gauge) -> str:
    """The numbers of the gauge in one line."""
    return _in_words("gauge.line", gauge)


def gauge_words(gauge: Gauge) -> str:
    """The gauge in one sentence."""
    return _in_words("gauge.words", gauge)


def _in_words(key: str, gauge: Gauge) -> str:
    threshold = whole_percent(gauge.threshold)
    if gauge.share is None:
        return say("gauge.no_share" if gauge.has_map else "gauge.no_map", threshold=threshold, n=gauge.n)
    ends = interval(gauge.low, gauge.high)
    return say(key, share=whole_percent(gauge.share), interval=ends, threshold=threshold, best=gauge.best, n=gauge.n)


def _attention(gauge: Gauge) -> list[Html]:
    low = LEAST if gauge.low is None else max(gauge.low, LEAST)
    high = MOST if gauge.high is None else min(gauge.high, MOST)
    share = min(max(gauge.share or 0.0, LEAST), MOST)
    span: Attributes = {
        "class": "span",
        "x": _x(low),
        "y": LINE - 6,
        "width": _x(high) - _x(low),
        "height": 12,
        "rx": 3,
    }
    dot: Attributes = {"class": "here", "cx": _x(share), "cy": LINE, "r": 8}
    words = say("gauge.attention", share=whole_percent(gauge.share or 0.0))
    align = "start" if share < 0.15 else "end" if share > 0.9 else "mid"
    return [tag("rect", span), tag("circle", dot), _text(f"{align} strong", _x(share), LINE - 26, words)]


def _mark(share: float, name: str, number: str, *, align: str, below: int) -> tuple[Html, Html]:
    tick = _line("axis", _x(share), LINE - 6, _x(share), LINE + 6)
    label = join(tag("tspan", {"class": "strong"}, number), " ", name)
    return tick, tag("text", {"class": align, "x": _x(share), "y": LINE + below}, label)


def _x(share: float) -> float:
    return round(EDGE + (WIDTH - 2 * EDGE) * (share - LEAST) / (MOST - LEAST), 1)


def _line(css: str, x1: float, y1: float, x2: float, y2: float) -> Html:
    return tag("line", {"class": css, "x1": x1, "y1": y1, "x2": x2, "y2": y2})


def _text(css: str, x: float, y: float, words: str) -> Html:
    return tag("text", {"class": css, "x": x, "y": y}, words)
