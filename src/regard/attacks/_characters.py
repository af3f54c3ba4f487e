"""Character-level transformations of a word: swaps, deletions, insertions, and neighbouring keys."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
Substitutes = Callable[[str], list[str]]
"""Word -> its substitutes, the most likely first."""
SHORTEST = 3
"""Minimum word length: one character is too much of a shorter word."""


def _near() -> dict[str, str]:
    """Map each letter to the letters on neighbouring keys."""
    at = {key: (row, col + 0.5 * row) for row, keys in enumerate(_ROWS) for col, key in enumerate(keys)}
    return {
        a: "".join(b for b, (r, c) in at.items() if b != a and abs(r - at[a][0]) <= 1 and abs(c - at[a][1]) <= 1)
        for a in at
    }


NEAR = _near()


def one_edit(word: str) -> list[str]:
    """Return every spelling one inner edit away; the first and last character stay (Pruthi et al. 2019).

    >>> one_edit("was")[:4]
    ['ws', 'wqas', 'wwas', 'wsas']
    """
    if len(word) < SHORTEST or not word.isalpha():
        return []
    edits = [word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in range(1, len(word) - 2)]
    edits += [word[:i] + word[i + 1 :] for i in range(1, len(word) - 1)]
    for i in range(1, len(word) - 1):
        beside = NEAR.get(word[i].lower(), "")
        edits += [word[:i] + c + word[i:] for c in beside] + [word[:i] + c + word[i + 1 :] for c in beside]
    return [new for new in dict.fromkeys(edits) if new != word]


def misspellings(many: int, rng: Callable[[str], np.random.Generator]) -> Substitutes:
    """Return a source of at most `many` misspellings per word, sampled once per word."""
    memo: dict[str, list[str]] = {}

    def find(word: str) -> list[str]:
        if word not in memo:
            every = one_edit(word)
            sampled = np.sort(rng(word).permutation(len(every))[:many]) if len(every) > many else range(len(every))
            memo[word] = [every[int(k)] for k in sampled]
        return memo[word]

    return find
