"""Missing and added punctuation."""

from __future__ import annotations

from regard.measures.keyed_random import Stream
from regard.perturbations.script import Piece, Script
from regard.records import Example, Perturbed
from regard.registry import perturbation

MARKS = (",", ".", "!", ";", "-", "...")


@perturbation(modality="text", family="character", scale="5, 10, 20, 35, 50 % as many marks changed as there are words")
def punctuation(example: Example, severity: int, rng: Stream, *, adds: bool = True) -> Perturbed:
    """Delete, double or insert punctuation marks.

    adds: insert new marks, too; they have no origin (-1). Question marks stay, because they change the meaning.
    """
    script = Script.of(example)
    count = max(1, round((0.05, 0.1, 0.2, 0.35, 0.5)[severity - 1] * len(script.words)))
    marks = [w for w, word in enumerate(script.words) if _mark(word)]
    plain = [w for w, word in enumerate(script.words) if word[-1].isalpha()] if adds else []
    able = marks + plain
    hit = {able[i] for i in rng.sample(len(able), count)}
    texts = []
    for pieces in script.pieces():
        here: list[Piece] = []
        for text, w in pieces:
            if w not in hit:
                here.append((text, w))
            elif not _mark(text):
                here += [(text, w), (MARKS[rng.below(len(MARKS))], -1)]
            elif rng.below(2):
                here += [(text, w), (text, w)]
        texts.append(here)
    return script.with_pieces(texts)


def _mark(word: str) -> bool:
    return not word.isalnum() and len(word) == 1 and word in ".,;:!-\u2026\uff0c\u3002\uff1b\uff01"
