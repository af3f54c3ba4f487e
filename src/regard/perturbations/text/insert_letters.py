"""Letters typed along with their neighbours."""

from __future__ import annotations

from regard.measures.keyed_random import Stream
from regard.perturbations.script import Script, chosen
from regard.perturbations.text.keyboard import KEYS, NEAR
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(modality="text", family="character", scale="one letter too many in 5, 10, 20, 35, 50 % of the words")
def insert_letters(example: Example, severity: int, rng: Stream, *, shortest: int = 2) -> Perturbed:
    """One letter too many in some words: a key beside the right one, hit with it.

    shortest: words with fewer characters are left alone. Reference: Pruthi et al. 2019.
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
        changes[w] = f"{word[: i + 1]}{NEAR[word[i]][key]}{word[i + 1 :]}"
    return script.with_words(changes, kept=True)
