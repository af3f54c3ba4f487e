"""OCR errors."""

from __future__ import annotations

from regard.measures.keyed_random import Stream
from regard.perturbations.script import Script, chosen
from regard.records import Example, Perturbed
from regard.registry import perturbation

CONFUSED = {
    "l": ("1", "I", "i"), "I": ("l", "1"), "i": ("l", "1", "j"), "1": ("l", "I"), "o": ("0", "c"), "O": ("0", "Q"),
    "0": ("O", "o"), "e": ("c",), "c": ("e", "o"), "s": ("5", "a"), "S": ("5", "8"), "5": ("S", "s"), "B": ("8", "E"),
    "8": ("B", "3"), "b": ("6", "h"), "6": ("b", "G"), "G": ("6", "C"), "g": ("9", "q"), "9": ("g", "q"), "q": ("g",),
    "h": ("b", "n"), "n": ("h", "ri"), "m": ("rn", "nn"), "rn": ("m",), "d": ("cl",), "cl": ("d",), "w": ("vv",),
    "vv": ("w",), "u": ("v", "ii"), "v": ("u", "y"), "t": ("f", "+"), "f": ("t",), "Z": ("2",), "z": ("2",),
    "2": ("Z", "z"), "D": ("O",), "H": ("N", "ll"), "fi": ("h",), "ti": ("h",), "j": (";",), "T": ("7",), "7": ("T",),
    "a": ("o", "u"), "r": ("n",), "k": ("lc",), "li": ("h",), "E": ("F",), "F": ("P",), "y": ("v",),
}  # fmt: skip
"""Misreadings by shape of printed letters; a table of our own."""


@perturbation(modality="text", family="character", scale="one misread shape in 5, 10, 20, 35, 50 % of the words")
def ocr(example: Example, severity: int, rng: Stream, *, shortest: int = 2) -> Perturbed:
    """Replace one letter or pair of some words by one of similar shape (1 for l, m for rn).

    shortest: words with fewer characters stay.
    """
    script = Script.of(example)
    places = {w: shapes for w, word in enumerate(script.words) if len(word) >= shortest and (shapes := _places(word))}
    changes = {}
    for w in chosen(list(places), severity, rng, len(script.words)):
        word = script.words[w]
        i, shape = places[w][rng.below(len(places[w]))]
        read = CONFUSED[shape]
        changes[w] = word[:i] + read[rng.below(len(read))] + word[i + len(shape) :]
    return script.with_words(changes)


def _places(word: str) -> list[tuple[int, str]]:
    return [(i, word[i : i + n]) for n in (1, 2) for i in range(len(word) - n + 1) if word[i : i + n] in CONFUSED]
