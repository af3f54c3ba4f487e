"""Chinese characters that look alike."""

from __future__ import annotations

from regard.measures.keyed_random import Stream
from regard.perturbations.chinese import LOOK_ALIKE, MISLEADS, SCALE, exchanged, groups
from regard.records import Example, Perturbed
from regard.registry import perturbation

_OTHERS = groups(LOOK_ALIKE)


@perturbation(modality="text", family="chinese", scale=SCALE, misleads=MISLEADS)
def similar_characters(example: Example, severity: int, rng: Stream) -> Perturbed:
    """Replace some Chinese characters by others of similar shape (未 for 末).

    A Chinese character is a word here, so every character keeps its place.
    """
    return exchanged(example, severity, rng, _OTHERS)
