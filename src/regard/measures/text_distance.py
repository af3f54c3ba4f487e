"""Distances between spellings, without semantics."""

from __future__ import annotations

from collections import Counter

ORDER = 4
"""Maximum length of n-grams."""


def edit_distance(one: str, other: str) -> int:
    """Number of insertions, deletions and substitutions of characters between two words.

    A swap of two neighbours counts as one (optimal string alignment).

    >>> edit_distance("great", "graet"), edit_distance("film", "firm"), edit_distance("", "ab")
    (1, 1, 2)
    """
    if one == other:
        return 0
    rows = [list(range(len(other) + 1))]
    for i, a in enumerate(one, 1):
        row = [i]
        for j, b in enumerate(other, 1):
            best = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                best = min(best, rows[-2][j - 2] + 1)
            row.append(best)
        rows.append(row)
    return rows[-1][-1]


def ngram_overlap(one: str, other: str) -> float:
    """The F score of shared character n-grams, n = 1 to 4, averaged (after chrF, Popovic 2015; spaces do not count).

    >>> ngram_overlap("a good film", "a good film"), round(ngram_overlap("a good film", "a bad film"), 2)
    (1.0, 0.52)
    """
    a, b = "".join(one.split()), "".join(other.split())
    if a == b:
        return 1.0
    scores = []
    for n in range(1, ORDER + 1):
        left, right = (Counter(text[i : i + n] for i in range(len(text) - n + 1)) for text in (a, b))
        total = left.total() + right.total()
        if total:
            scores.append(2 * (left & right).total() / total)
    return sum(scores) / len(scores) if scores else 0.0
