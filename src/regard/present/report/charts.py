"""Two charts as plain SVG: lines with bands, and estimates with intervals. Every chart also has its table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.audits.conclusions.bands import Band
from regard.present.messages.messages import say
from regard.present.report.markup import Attributes, Html, tag
from regard.records import Floats

WIDTH, HEIGHT = 460, 260
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 10, 40


@dataclass(frozen=True, slots=True)
class Line:
    """Curve with its interval; `colour` is a 1-based series number."""

    name: str
    colour: int
    y: Floats
    low: Floats
    high: Floats
    dashed: bool = False

    @staticmethod
    def of(band: Band, colour: int, *, name: str | None = None, dashed: bool = False) -> Line:
        """Draw a stored band."""
        y, low, high = (np.array(values) for values in (band.estimate, band.low, band.high))
        return Line(band.name if name is None else name, colour, y, low, high, dashed=dashed)


@dataclass(frozen=True, slots=True)
class Dot:
    """Estimate with its interval."""

    name: str
    colour: int
    estimate: float
    low: float
    high: float
    hollow: bool = False


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers between two ends.

    >>> ticks(-0.04, 0.52)
    [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
    """
    span = (high - low) or 1.0
    step = 10.0 ** np.floor(np.log10(span / about))
    step *= next(m for m in (1, 2, 5, 10) if span / (step * m) <= about + 1)
    first, last = int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9))
    return [round(float(i * step), 10) + 0.0 for i in range(first, last + 1)]


def line_chart(x: Sequence[float], lines: Sequence[Line], *, x_name: str, y_name: str) -> Html:
    """Curves over a common grid, each with its band."""
    grid = np.asarray(x, np.float64)
    ends = np.concatenate([np.concatenate([line.low, line.high, line.y]) for line in lines])
    ends = ends[np.isfinite(ends)]
    low, high = float(ends.min(initial=0.0)), float(ends.max(initial=0.0))
    pad = 0.04 * ((high - low) or 1.0)
    low, high = low - pad, high + pad

    def px(v: float) -> float:
        span = float(grid[-1] - grid[0]) or 1.0
        return LEFT + (WIDTH - LEFT - RIGHT) * (v - float(grid[0])) / span

    def py(v: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - v) / (high - low)

    parts: list[Html] = []
    for y in ticks(low, high):
        parts.append(tag("line", {"x1": LEFT, "x2": WIDTH - RIGHT, "y1": py(y), "y2": py(y), "class": "grid"}))
        parts.append(tag("text", {"x": LEFT - 6, "y": py(y) + 4, "class": "end"}, f"{y:g}"))
    for v in ticks(float(grid[0]), float(grid[-1])):
        parts.append(tag("text", {"x": px(v), "y": HEIGHT - BOTTOM + 16, "class": "mid"}, f"{v:g}"))
    for line in lines:
        upper = [*zip(grid, line.high, strict=True)]
        back = [*zip(grid, line.low, strict=True)][::-1]
        corners = " ".join(f"{px(a):.1f},{py(b):.1f}" for a, b in upper + back if np.isfinite(b))
        parts.append(tag("polygon", {"points": corners, "class": f"band c{line.colour}"}))
    for line in lines:
        points = " ".join(f"{px(a):.1f},{py(b):.1f}" for a, b in zip(grid, line.y, strict=True) if np.isfinite(b))
        css = f"line s{line.colour}{' dashed' if line.dashed else ''}"
        parts.append(tag("polyline", {"points": points, "class": css}, tag("title", None, line.name)))
    middle = LEFT + (WIDTH - LEFT - RIGHT) / 2
    parts.append(tag("text", {"x": middle, "y": HEIGHT - 6, "class": "mid"}, x_name))
    turned: Attributes = {
        "x": -(TOP + (HEIGHT - TOP - BOTTOM) / 2),
        "y": 12,
        "transform": "rotate(-90)",
        "class": "mid",
    }
    parts.append(tag("text", turned, y_name))
    label = say("removal_curves.described", y=y_name, x=x_name, lines=", ".join(line.name for line in lines))
    return tag("svg", {"viewBox": f"0 0 {WIDTH} {HEIGHT}", "class": "chart", "role": "img", "aria-label": label}, parts)


def legend(lines: Sequence[Line]) -> Html:
    """Name each line, as text beside a sample of it."""
    entries = []
    for line in lines:
        css = f"line s{line.colour}{' dashed' if line.dashed else ''}"
        sample = tag(
            "svg",
            {"viewBox": "0 0 28 8", "class": "sample", "aria-hidden": "true"},
            tag("line", {"x1": 0, "x2": 28, "y1": 4, "y2": 4, "class": css}),
        )
        entries.append(tag("li", None, sample, line.name))
    return tag("ul", {"class": "legend"}, entries)


@dataclass(frozen=True, slots=True)
class Axis:
    """Horizontal axis over all values, with some room at both ends; `height`: that of the rows."""

    low: float
    high: float
    left: float
    right: float
    height: float

    @staticmethod
    def over(ends: Sequence[float], *, left: float, right: float, height: float) -> Axis:
        pad = 0.05 * ((max(ends) - min(ends)) or 1.0)
        return Axis(min(ends) - pad, max(ends) + pad, left, right, height)

    def px(self, v: float) -> float:
        return self.left + (self.right - self.left) * (v - self.low) / (self.high - self.low)

    def grid(self, about: int) -> list[Html]:
        """Draw lines at round numbers, with the numbers below them."""
        parts: list[Html] = []
        for v in ticks(self.low, self.high, about):
            x = self.px(v)
            parts.append(tag("line", {"x1": x, "x2": x, "y1": 0, "y2": self.height, "class": "grid"}))
            parts.append(tag("text", {"x": x, "y": self.height + 16, "class": "mid"}, f"{v:g}"))
        return parts


def interval_chart(dots: Sequence[Dot], *, name: str, reference: float | None) -> Html:
    """Draw one row per estimate: a dot, its interval, and a dashed line at the reference (the random baseline)."""
    row, left, right, bottom = 22, 12 + max(138, 7 * max((len(d.name) for d in dots), default=0)), 12, 34
    ends = [v for d in dots for v in (d.low, d.high, d.estimate) if np.isfinite(v)]
    ends.append(reference if reference is not None and np.isfinite(reference) else 0.0)
    axis = Axis.over(ends, left=left, right=WIDTH - right, height=row * len(dots))
    px, height = axis.px, row * len(dots) + bottom
    parts = axis.grid(4)
    if reference is not None and np.isfinite(reference):
        at = px(reference)
        parts.append(tag("line", {"x1": at, "x2": at, "y1": 0, "y2": height - bottom, "class": "reference"}))
    for i, dot in enumerate(dots):
        y = row * i + row / 2
        parts.append(tag("text", {"x": left - 8, "y": y + 4, "class": "end"}, dot.name))
        if not np.isfinite(dot.estimate):
            parts.append(tag("text", {"x": px(axis.low) + 4, "y": y + 4}, say("results.undefined")))
            continue
        ends_at = {"x1": px(dot.low), "x2": px(dot.high), "y1": y, "y2": y}
        parts.append(tag("line", {**ends_at, "class": f"whisker s{dot.colour}"}))
        css = f"dot s{dot.colour} {'hollow' if dot.hollow else f'c{dot.colour}'}"
        parts.append(
            tag(
                "circle",
                {"cx": px(dot.estimate), "cy": y, "r": 4, "class": css},
                tag("title", None, f"{dot.name}: {dot.estimate:.3f} [{dot.low:.3f}, {dot.high:.3f}]"),
            )
        )
    middle, long = left + (WIDTH - left - right) / 2, sum(11 if ch > "\u1100" else 6.2 for ch in name)
    fits = middle + long / 2 <= WIDTH
    parts.append(
        tag("text", {"x": middle if fits else WIDTH - 2, "y": height - 4, "class": "mid" if fits else "end"}, name)
    )
    frame = {
        "viewBox": f"0 0 {WIDTH} {height}",
        "class": "chart",
        "role": "img",
        "aria-label": say("results.by_method", name=name),
    }
    return tag("svg", frame, parts)
