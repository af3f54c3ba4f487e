"""Missing and added accents."""

from __future__ import annotations

import unicodedata

from regard.measures.keyed_random import Stream
from regard.perturbations.script import Script, chosen
from regard.records import Example, Perturbed
from regard.registry import perturbation

ACCENTED = dict(zip("aceinouyszlACEINOUYSZL", "áçéíñóúýšžłÁÇÉÍÑÓÚÝŠŽŁ", strict=True))


@perturbation(
    modality="text",
    family="character",
    scale="5, 10, 20, 35, 50 % of the words with an accent less or more",
    misleads="in languages with accents, a letter without one may form another word",
)
def diacritics(example: Example, severity: int, rng: Stream, *, adds: bool = True) -> Perturbed:
    """Strip accents from words that have them, and add one to words without.

    adds: whether accents are also put where none were (for languages without them).
    """
    script = Script.of(example)
    bare = {w: plain for w, word in enumerate(script.words) if (plain := stripped(word)) != word}
    able = {w: word for w, word in enumerate(script.words) if w not in bare and not ACCENTED.keys().isdisjoint(word)}
    count = len(script.words)
    changes = {w: bare[w] for w in chosen(list(bare), severity, rng, count)} if bare else {}
    if adds:
        for w in chosen(list(able), severity, rng, count - len(changes)):
            word = able[w]
            at = [i for i, char in enumerate(word) if char in ACCENTED]
            i = at[rng.below(len(at))]
            changes[w] = word[:i] + ACCENTED[word[i]] + word[i + 1 :]
    return script.with_words(changes)


def stripped(word: str) -> str:
    """Return the word without its accents.

    >>> stripped("crème brûlée")
    'creme brulee'
    """
    apart = unicodedata.normalize("NFD", word)
    bare = "".join(char for char in apart if unicodedata.category(char) != "Mn")
    # only Latin: in other scripts a mark is a letter
    return bare if bare.isascii() else word
