"""Names along an axis of attention."""

from __future__ import annotations

from collections.abc import Sequence

LONGEST = 14


def short_names(names: Sequence[str]) -> tuple[str, ...]:
    """Shorten names to fit beside a heat map; show white space by a visible symbol.

    >>> short_names([" Paris", " ", "Donaudampfschifffahrt"])
    ('Paris', '␣', 'Donaudampfsch…')
    """
    visible = [str(name).strip() or "␣" for name in names]
    return tuple(n if len(n) <= LONGEST else n[: LONGEST - 1] + "…" for n in visible)
