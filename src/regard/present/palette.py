"""Colours for any colour vision (after Okabe and Ito), for pages and terminals."""

from __future__ import annotations

PLUS = (213, 94, 0)
"""Colour of units that support the answer."""
MINUS = (0, 114, 178)
"""Colour of units that oppose the answer."""
AMOUNT = (123, 79, 163)
"""Colour of amounts without direction."""
LEVELS = 10
SERIES = ("attention", "rollout", "input_x_gradient", "integrated_gradients", "leave_one_out", "random")
"""Methods with a fixed colour in every report; others take the free ones in order."""
SERIES_COLOURS = 8

Colour = tuple[int, int, int]


def level(value: float, largest: float) -> int:
    """Level 0..LEVELS for colouring; any non-zero value is at least 1, to be visible.

    >>> level(0.5, 1.0), level(-1.0, 1.0), level(1e-9, 1.0), level(0.0, 0.0)
    (5, 10, 1, 0)
    """
    if not largest or not value:
        return 0
    return min(LEVELS, max(1, round(LEVELS * abs(value) / largest)))


def side(value: float, *, signed: bool) -> str:
    """Return one of three colours: "p" plus, "m" minus, "a" amount without direction."""
    return ("p" if value >= 0 else "m") if signed else "a"


def mixed(colour: Colour, share: float, ground: Colour) -> Colour:
    """Mix `share` of a colour with the background."""
    r, g, b = (round(share * c + (1 - share) * u) for c, u in zip(colour, ground, strict=True))
    return r, g, b


def series_index(method: str, methods: list[str]) -> int:
    """The number of a method's line colour (1-based), stable between reports for the shipped methods."""
    if method in SERIES:
        return SERIES.index(method) + 1
    others = [m for m in methods if m not in SERIES]
    return len(SERIES) + 1 + others.index(method) % (SERIES_COLOURS - len(SERIES))
