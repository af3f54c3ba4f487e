"""Transposed letters."""

from __future__ import annotations

from regard.measures.keyed_random import Stream
from regard.perturbations.script import Script, chosen
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(modality="text", family="character", scale="two letters exchanged in 5, 10, 20, 35, 50 % of the words")
def swap_letters(example: Example, severity: int, rng: Stream, *, ends: bool = False) -> Perturbed:
    """Swap two adjacent letters of some words.

    ends: also the first and the last letter; readers hardly notice a swap inside a word (Rawlinson 1976), so the
    default leaves the ends alone. Reference: Belinkov & Bisk 2018 (swap).
    """
    script = Script.of(example)
    words, edge = script.words, 0 if ends else 1
    able = [w for w, word in enumerate(words) if len(word) > 1 + 2 * edge and word.isalpha()]
    changes = {}
    for w in chosen(able, severity, rng, len(words)):
        word = words[w]
        count = len(word) - 1 - 2 * edge
        first = rng.below(count)
        for step in range(count):  # two equal letters: the next two
            i = edge + (first + step) % count
            if word[i] != word[i + 1]:
                changes[w] = f"{word[:i]}{word[i + 1]}{word[i]}{word[i + 2 :]}"
                break
    return script.with_words(changes, kept=True)
