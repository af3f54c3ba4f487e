"""Typing errors on an English keyboard."""

from __future__ import annotations

from regard.measures.keyed_random import Stream
from regard.perturbations.script import Script, chosen
from regard.records import Example, Perturbed

_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")


KEYS = 60
"""Multiple of every number of neighbours: with this many copies, one draw selects letter and key."""


def _neighbours() -> dict[str, str]:
    """Map each letter to its adjacent keys; each keyboard row is shifted half a key from the row above."""
    near: dict[str, str] = {}
    for r, row in enumerate(_ROWS):
        for c, key in enumerate(row):
            above, below = (_ROWS[r - 1] if r else ""), (_ROWS[r + 1] if r + 1 < len(_ROWS) else "")
            touching = row[max(c - 1, 0) : c] + row[c + 1 : c + 2] + above[c : c + 2] + below[max(c - 1, 0) : c + 1]
            near[key] = touching * (KEYS // len(touching))
            near[key.upper()] = near[key].upper()
    return near


NEAR = _neighbours()


def missed(example: Example, severity: int, rng: Stream, *, shortest: int, along: int) -> Perturbed:
    """Hit an adjacent key in some words: instead of the right one (along=0), or together with it (along=1).

    Only letters are hit, and replaced by letters: words stay words, and a number that may carry the label stays
    unchanged.
    """
    script = Script.of(example)
    words = script.words
    able = [w for w, word in enumerate(words) if len(word) >= shortest and word[0] in NEAR]
    changes = {}
    for w in chosen(able, severity, rng, len(words)):
        word = words[w]
        i, key = divmod(rng.below(KEYS * len(word)), KEYS)
        if word[i] not in NEAR:  # an apostrophe, a letter of another keyboard
            i = 0
        changes[w] = f"{word[: i + along]}{NEAR[word[i]][key]}{word[i + 1 :]}"
    return script.with_words(changes, kept=True)
