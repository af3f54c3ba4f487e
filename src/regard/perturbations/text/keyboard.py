"""Typing errors on adjacent keys."""

from __future__ import annotations

from regard.measures.keyed_random import Stream
from regard.perturbations.keys import missed
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(modality="text", family="character", scale="one wrong key in 5, 10, 20, 35, 50 % of the words")
def keyboard(example: Example, severity: int, rng: Stream, *, shortest: int = 2) -> Perturbed:
    """Replace one letter of some words by an adjacent key on an English keyboard.

    shortest: words with fewer characters stay. Only letters are hit, and for letters: words stay words, and a
    number that may carry the label stays as it is.
    Reference: Belinkov & Bisk 2018.
    """
    return missed(example, severity, rng, shortest=shortest, along=0)
