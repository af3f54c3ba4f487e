"""Synonyms from a dictionary."""

from __future__ import annotations

from regard.errors import InputError, phrase
from regard.measures.keyed_random import Stream
from regard.perturbations.replacing import replaced
from regard.perturbations.sources import source as open_source
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(
    modality="text",
    family="word",
    scale="5, 10, 15, 25, 40 % of the words, as far as they have a synonym, at least one",
    needs=("file",),
    misleads="dictionaries know words, not senses: check a sample of the results",
)
def synonym(example: Example, severity: int, rng: Stream, *, source: str = "", most: int = 5) -> Perturbed:
    """Replace some words by synonyms from your dictionary or WordNet, keeping capitals.

    source: FILE.json ({"good": ["fine", ...]}), FILE.tsv (word, tab, others), a directory of WordNet, or "wordnet"
    (the usual places). most: draw among that many, the first ones. Reference: Ren et al. 2019 without the search.
    """
    if not source:
        remedy = phrase("errors.perturbations.synonym_source_file_json_synonym")
        raise InputError(
            phrase("errors.perturbations.perturbation_synonym"),
            expected=phrase("errors.perturbations.source_synonyms"),
            got=phrase("errors.common.none"),
            remedy=remedy,
        )
    return replaced(example, severity, rng, open_source(source), most)
