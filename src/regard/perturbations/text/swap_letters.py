"""Letters typed in the wrong order."""

from __future__ import annotations

from regard.measures.keyed_random import Stream
from regard.perturbations.script import Script, chosen
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(modality="text", family="character", scale="two letters exchanged in 5, 10, 20, 35, 50 % of the words")
def swap_letters(example: Example, severity: int, rng: Stream, *, ends: bool = False) -> Perturbed:
    """Two neighbouring letters of some words exchanged.

    ends: also the first and the last letter; readers hardly notice a swap inside a word (Rawlinson 1976), so the
    default leaves the ends alone. Reference: Belinkov & Bisk 2018 (swap).
    """
    script = Script.of(example)
    places = {w: found for w, word in enumerate(script.words) if (found := _places(word, ends))}
    changes = {}
    for w in chosen(list(places), severity, rng, len(script.words)):
        word, i = script.words[w], places[w][rng.below(len(places[w]))]
        changes[w] = word[:i] + word[i + 1] + word[i] + word[i + 2 :]
    return script.with_words(changes, kept=True)


def _places(word: str, ends: bool) -> list[int]:
    """Where a letter may change places with the next one and it makes a difference."""
    first, last = (0, len(word) - 1) if ends else (1, len(word) - 2)
    return [i for i in range(first, last) if word[i] != word[i + 1] and word[i : i + 2].isalpha()]
