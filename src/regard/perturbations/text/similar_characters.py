"""Chinese characters that look alike."""

from __future__ import annotations

from regard.measures.keyed_random import Stream
from regard.perturbations.chinese import LOOK_ALIKE, groups
from regard.perturbations.script import Script, chosen
from regard.records import Example, Perturbed
from regard.registry import perturbation

_SHARES = (0.05, 0.1, 0.15, 0.2, 0.3)
_OTHERS = groups(LOOK_ALIKE)


@perturbation(
    modality="text",
    family="chinese",
    scale="5, 10, 15, 20, 30 % of the Chinese characters, at least one",
    misleads="the table is small: characters outside it never change; a text without Chinese stays as it is",
)
def similar_characters(example: Example, severity: int, rng: Stream) -> Perturbed:
    """Some Chinese characters replaced by others of like shape (未 for 末).

    A Chinese character is a word here, so every character keeps its place.
    """
    script = Script.of(example)
    able = [w for w, word in enumerate(script.words) if word in _OTHERS]
    han = sum("\u4e00" <= word[0] <= "\u9fff" for word in script.words)
    changes = {}
    for w in chosen(able, severity, rng, han, _SHARES):
        others = _OTHERS[script.words[w]]
        changes[w] = others[rng.below(len(others))]
    return script.with_words(changes)
