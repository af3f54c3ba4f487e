"""Misplaced spaces."""

from __future__ import annotations

from regard.measures.keyed_random import Stream
from regard.perturbations.script import Piece, Script
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(modality="text", family="character", scale="a space wrong at 5, 10, 20, 35, 50 % of the words")
def whitespace(example: Example, severity: int, rng: Stream, *, joins: bool = True, splits: bool = True) -> Perturbed:
    """Join words, split words, and add extra spaces.

    joins, splits: whether the first two happen. A word that runs into the next one comes from the longer of the two;
    both halves of a split word come from it.
    """
    script = Script.of(example)
    ways = ["wide", *(["join"] if joins else []), *(["split"] if splits else [])]
    texts = []
    for pieces in script.pieces():
        able = [i for i, (text, w) in enumerate(pieces) if _able(text, w, i, len(pieces))]
        words = sum(w >= 0 for _, w in pieces)
        count = max(1, round((0.05, 0.1, 0.2, 0.35, 0.5)[severity - 1] * words))
        hit = {able[i]: ways[rng.below(len(ways))] for i in rng.sample(len(able), count)}
        here: list[Piece] = []
        for i, (text, w) in enumerate(pieces):
            here += _changed(text, w, hit[i], rng) if i in hit else [(text, w)]
        texts.append(here)
    return script.with_pieces(texts)


def _able(text: str, word: int, i: int, count: int) -> bool:
    """Return whether this piece is a gap between two words, or a word long enough to split."""
    return (0 < i < count - 1 and text.isspace()) if word < 0 else len(text) > 3 and text.isalpha()


def _changed(text: str, word: int, way: str, rng: Stream) -> list[Piece]:
    if word < 0:  # a gap can be closed or widened, not split
        return [] if way == "join" else [(text + " ", -1)]
    if way == "split":
        cut = 1 + rng.below(len(text) - 1)
        return [(text[:cut], word), (" ", -1), (text[cut:], word)]
    return [(text, word), (" ", -1)]  # a space too many behind the word
