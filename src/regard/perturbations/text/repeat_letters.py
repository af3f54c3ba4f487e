"""Repeated letters."""

from __future__ import annotations

from regard.measures.keyed_random import Stream
from regard.perturbations.script import Script, chosen
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(modality="text", family="character", scale="a letter doubled in 5, 10, 20, 35, 50 % of the words")
def repeat_letters(example: Example, severity: int, rng: Stream, *, times: int = 1) -> Perturbed:
    """Repeat one letter of some words.

    times: how often; 3 gives the long vowels of messages ("sooood").
    """
    script = Script.of(example)
    words = script.words
    # scripts without capitals are not typed letter by letter
    able = [w for w, word in enumerate(words) if len(word) > 1 and word[0].swapcase() != word[0]]
    changes = {}
    for w in chosen(able, severity, rng, len(words)):
        word = words[w]
        i = rng.below(len(word))
        if not word[i].isalpha():
            i = 0
        changes[w] = f"{word[:i]}{word[i] * times}{word[i:]}"
    return script.with_words(changes, kept=True)
