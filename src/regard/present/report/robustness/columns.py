"""Means over findings as cells of a table and as words."""

from __future__ import annotations

import math
from collections.abc import Iterable

from regard.audits.conclusions.finding_means import Measured
from regard.present import counts
from regard.present.messages.messages import say
from regard.present.report.markup import Html, small, tag


def largest_n(cells: Iterable[Measured]) -> int:
    """n in the caption of a table of these."""
    return counts.largest(counts.alike(c.n for c in cells))[0]


def n_in_caption(cells: Iterable[Measured]) -> str:
    return counts.in_caption(counts.alike(c.n for c in cells))


def cell(found: Measured, usual: int | None = None, digits: int = 3) -> Html:
    """Render a number and its interval for a table; with its n, if it differs from the caption."""
    interval = found.interval
    if math.isnan(interval.estimate):
        return tag("td", {"class": "n"}, say("unknown"))
    ends = (
        f"[{interval.low:.{digits}f}, {interval.high:.{digits}f}]"
        if math.isfinite(interval.low)
        else say("results.few")
    )
    own = "" if usual is None else counts.own((found.n, found.n), (usual, usual))
    return tag("td", {"class": "n"}, f"{interval.estimate:.{digits}f}", small(ends), small(own))


def in_words(found: Measured, usual: int | None = None, *, percent: bool = True) -> str:
    """
    >>> from regard.measures.intervals import Interval
    >>> in_words(Measured(Interval(0.775, 0.672, 0.853, 0.95), 80))
    '78 % [67, 85]'
    >>> in_words(Measured(Interval(0.775, 0.672, 0.853, 0.95), 80), 90)
    '78 % [67, 85] (n = 80)'
    """
    interval, digits, scale = found.interval, 0 if percent else 2, 100 if percent else 1
    if math.isnan(interval.estimate):
        return say("unknown")
    estimate_text = f"{scale * interval.estimate:.{digits}f}" + (" %" if percent else "")
    own = "" if usual is None else counts.own((found.n, found.n), (usual, usual))
    if not math.isfinite(interval.low):
        return f"{estimate_text} ({say('results.few')}{say('listed') if own else ''}{own})"
    ends = f"[{scale * interval.low:.{digits}f}, {scale * interval.high:.{digits}f}]"
    return f"{estimate_text} {ends}" + (f" ({own})" if own else "")
