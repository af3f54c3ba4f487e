"""Missing letters."""

from __future__ import annotations

from regard.measures.keyed_random import Stream
from regard.perturbations.script import Script, chosen
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(modality="text", family="character", scale="one letter missing in 5, 10, 20, 35, 50 % of the words")
def drop_letters(example: Example, severity: int, rng: Stream, *, shortest: int = 4) -> Perturbed:
    """Delete one letter of some words, never the first.

    shortest: words with fewer characters stay, or many would become other words ("that" is safe, "is" not).
    Reference: Pruthi et al. 2019.
    """
    script = Script.of(example)
    words = script.words
    able = [w for w, word in enumerate(words) if len(word) >= shortest and word.isalpha()]
    changes = {}
    for w in chosen(able, severity, rng, len(words)):
        word = words[w]
        i = 1 + rng.below(len(word) - 1)
        changes[w] = word[:i] + word[i + 1 :]
    return script.with_words(changes, kept=True)
