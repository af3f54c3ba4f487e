"""Chinese characters that sound alike."""

from __future__ import annotations

from regard.measures.keyed_random import Stream
from regard.perturbations.chinese import MISLEADS, SCALE, SOUND_ALIKE, exchanged, groups
from regard.records import Example, Perturbed
from regard.registry import perturbation

_OTHERS = groups(SOUND_ALIKE)


@perturbation(modality="text", family="chinese", scale=SCALE, misleads=MISLEADS)
def homophones(example: Example, severity: int, rng: Stream) -> Perturbed:
    """Replace some Chinese characters by others with the same sound (在 for 再).

    A Chinese character is a word here, so every character keeps its place.
    """
    return exchanged(example, severity, rng, _OTHERS)
