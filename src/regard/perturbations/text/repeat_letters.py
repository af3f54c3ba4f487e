"""Keys held too long."""

from __future__ import annotations

from regard.measures.keyed_random import Stream
from regard.perturbations.script import Script, chosen
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(modality="text", family="character", scale="a letter doubled in 5, 10, 20, 35, 50 % of the words")
def repeat_letters(example: Example, severity: int, rng: Stream, *, times: int = 1) -> Perturbed:
    """One letter of some words written again.

    times: how often; 3 gives the long vowels of messages ("sooood").
    """
    script = Script.of(example)
    able = [w for w, word in enumerate(script.words) if len(word) > 1 and any(map(_letter, word))]
    changes = {}
    for w in chosen(able, severity, rng, len(script.words)):
        word = script.words[w]
        letters = [i for i, char in enumerate(word) if _letter(char)]
        i = letters[rng.below(len(letters))]
        changes[w] = word[:i] + word[i] * times + word[i:]
    return script.with_words(changes)


def _letter(char: str) -> bool:
    return char.isalpha() and char.lower() != char.upper()  # scripts without case are not typed letter by letter
