"""Typing errors: the key beside the right one."""

from __future__ import annotations

from regard.measures.keyed_random import Stream
from regard.perturbations.script import Script, chosen
from regard.records import Example, Perturbed
from regard.registry import perturbation

_ROWS = ("1234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm")


def _neighbours() -> dict[str, str]:
    """The keys that touch each key; every row stands half a key to the right of the row above it."""
    near: dict[str, str] = {}
    for r, row in enumerate(_ROWS):
        for c, key in enumerate(row):
            above, below = (_ROWS[r - 1] if r else ""), (_ROWS[r + 1] if r + 1 < len(_ROWS) else "")
            touching = row[max(c - 1, 0) : c] + row[c + 1 : c + 2] + above[c : c + 2] + below[max(c - 1, 0) : c + 1]
            near[key] = touching
            near[key.upper()] = touching.upper()
    return near


NEAR = _neighbours()


@perturbation(modality="text", family="character", scale="one wrong key in 5, 10, 20, 35, 50 % of the words")
def keyboard(example: Example, severity: int, rng: Stream, *, shortest: int = 2) -> Perturbed:
    """A neighbouring key of an English keyboard in place of one letter or digit of some words.

    shortest: words with fewer characters are left alone. Words stay words: no key of punctuation is hit.
    Reference: Belinkov & Bisk 2018.
    """
    script = Script.of(example)
    words = script.words
    able = [w for w, word in enumerate(words) if len(word) >= shortest and not NEAR.keys().isdisjoint(word)]
    changes = {}
    for w in chosen(able, severity, rng, len(words)):
        word = words[w]
        at = [i for i, char in enumerate(word) if char in NEAR]
        i = at[rng.below(len(at))]
        keys = NEAR[word[i]]
        changes[w] = word[:i] + keys[rng.below(len(keys))] + word[i + 1 :]
    return script.with_words(changes)
