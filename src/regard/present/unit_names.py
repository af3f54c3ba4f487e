"""Names of units in sentences: those that repeat carry their position."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def distinct_names(names: Sequence[str]) -> list[str]:
    """Names of units; those that occur several times with their position, counted from 1.

    >>> distinct_names(["the", "film", "the"])
    ['the (1)', 'film', 'the (3)']
    """
    bare = [str(name).strip() for name in names]
    counts = Counter(bare)
    return [f"{name} ({i + 1})" if counts[name] > 1 else name for i, name in enumerate(bare)]
