"""Extra letters."""

from __future__ import annotations

from regard.measures.keyed_random import Stream
from regard.perturbations.keys import missed
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(modality="text", family="character", scale="one letter too many in 5, 10, 20, 35, 50 % of the words")
def insert_letters(example: Example, severity: int, rng: Stream, *, shortest: int = 2) -> Perturbed:
    """Insert an adjacent key's letter into some words.

    shortest: words with fewer characters stay. Reference: Pruthi et al. 2019.
    """
    return missed(example, severity, rng, shortest=shortest, along=1)
