"""Missing words."""

from __future__ import annotations

from itertools import pairwise

from regard.measures.keyed_random import Stream
from regard.perturbations.script import Piece, Script, chosen
from regard.records import Example, Perturbed
from regard.registry import perturbation

NEGATIONS = ("not", "no", "never", "nor", "neither", "none", "nothing", "without", "hardly", "cannot", "不", "没", "无")
_SHARES = (0.05, 0.1, 0.15, 0.2, 0.3)


@perturbation(
    modality="text",
    family="word",
    scale="5, 10, 15, 20, 30 % of the words left out",
    misleads="it may delete the word that carries the label: expect a drop that no model can avoid",
)
def drop_words(example: Example, severity: int, rng: Stream, *, keep: tuple[str, ...] = NEGATIONS) -> Perturbed:
    """Delete some words with the space before them; each text keeps at least one word.

    keep: words that never go, because without them the text says the opposite. Punctuation stays.
    Reference: Wei & Zou 2019 (random deletion).
    """
    script = Script.of(example)
    able = []
    for first, last in pairwise(script.firsts):
        here = [w for w in range(first, last) if script.words[w][0].isalnum() and not _kept(script.words[w], keep)]
        spared = rng.below(len(here)) if here else 0  # a text without a word is no text
        able += here[:spared] + here[spared + 1 :]
    dropped = set(chosen(able, severity, rng, len(able) + 1, _SHARES)) if able else set()
    texts = []
    for pieces in script.pieces():
        kept_pieces: list[Piece] = []
        for i, (piece, w) in enumerate(pieces):
            follows = pieces[i + 1][1] if i + 1 < len(pieces) else -1
            if w in dropped or (w < 0 and follows in dropped and kept_pieces):
                continue
            kept_pieces.append((piece, w))
        if kept_pieces and kept_pieces[0][1] < 0 and pieces[0][1] >= 0:
            kept_pieces = kept_pieces[1:]  # the space after a first word that went
        texts.append(kept_pieces)
    return script.with_pieces(texts)


def _kept(word: str, keep: tuple[str, ...]) -> bool:
    return word.lower() in keep or word.lower().endswith(("n't", "n\u2019t"))
