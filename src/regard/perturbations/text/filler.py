"""Filler words."""

from __future__ import annotations

from regard.measures.keyed_random import Stream
from regard.perturbations.script import Script
from regard.records import Example, Perturbed
from regard.registry import perturbation

FILLERS = ("well", "so", "basically", "you know", "I mean", "in a way", "as it were", "like I said", "um", "er")


@perturbation(
    modality="text",
    family="insertion",
    scale="1, 2, 3, 5, 8 insertions for every 20 words, at least one",
    misleads="the fillers are English; pass your own for other languages",
)
def filler(example: Example, severity: int, rng: Stream, *, fillers: tuple[str, ...] = FILLERS) -> Perturbed:
    """Insert hesitation words between the words of the text; they have no origin (-1).

    fillers: words or phrases to insert.
    """
    script = Script.of(example)
    count = max(1, round((1, 2, 3, 5, 8)[severity - 1] * len(script.words) / 20))
    gaps = [w for w, word in enumerate(script.words) if word[0].isalnum()]
    before = rng.sample(len(gaps), count)
    put = {gaps[g]: fillers[rng.below(len(fillers))] + " " for g in before}
    texts = []
    for pieces in script.pieces():
        texts.append([piece for text, w in pieces for piece in ([(put[w], -1)] if w in put else []) + [(text, w)]])
    return script.with_pieces(texts)
