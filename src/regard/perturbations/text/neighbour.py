"""Near words in the model's own embeddings."""

from __future__ import annotations

from regard.measures.keyed_random import Stream
from regard.perturbations.nearest import neighbours
from regard.perturbations.replacing import replaced
from regard.protocols import Model
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(
    modality="text",
    family="word",
    scale="5, 10, 15, 25, 40 % of the words, as far as they have a neighbour, at least one",
    needs=("model",),
    misleads="words in the same contexts are near (good, bad): neighbours are not synonyms, and the label may change",
)
def neighbour(
    example: Example, severity: int, rng: Stream, model: Model, *, most: int = 5, least: float = 0.4
) -> Perturbed:
    """Replace some words by near words in the model's own embeddings, keeping capitals.

    most: draw among that many. least: their smallest cosine with the word. Only whole words of the vocabulary are
    replaced, and only by such. Reference: the candidates of Alzantot et al. 2018, with the embeddings of the model.
    """
    return replaced(example, severity, rng, neighbours(model, most, least), most)
