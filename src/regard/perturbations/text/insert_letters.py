"""Letters typed along with their neighbours."""

from __future__ import annotations

from regard.measures.keyed_random import Stream
from regard.perturbations.script import Script, chosen
from regard.perturbations.text.keyboard import NEAR
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(modality="text", family="character", scale="one letter too many in 5, 10, 20, 35, 50 % of the words")
def insert_letters(example: Example, severity: int, rng: Stream, *, shortest: int = 2) -> Perturbed:
    """One letter too many in some words: a key beside the right one, hit with it.

    shortest: words with fewer characters are left alone. Reference: Pruthi et al. 2019.
    """
    script = Script.of(example)
    able = [w for w, word in enumerate(script.words) if len(word) >= shortest and word[0] in NEAR and word[0].isalpha()]
    changes = {}
    for w in chosen(able, severity, rng, len(script.words)):
        word = script.words[w]
        letters = [i for i, char in enumerate(word) if char.isalpha() and char in NEAR]
        i = letters[rng.below(len(letters))]
        keys = NEAR[word[i]]
        changes[w] = word[: i + 1] + keys[rng.below(len(keys))] + word[i + 1 :]
    return script.with_words(changes)
