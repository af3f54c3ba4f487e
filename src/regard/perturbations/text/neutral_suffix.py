"""Neutral sentences at the end."""

from __future__ import annotations

from regard.measures.keyed_random import Stream
from regard.perturbations.script import Script
from regard.records import Example, Perturbed
from regard.registry import perturbation

SENTENCES = (
    "This was written on a Tuesday.",
    "The next part follows below.",
    "It is about eleven in the morning here.",
    "The page has two columns.",
    "This text has more than one line.",
    "The date is given above.",
    "It was read twice before it was sent.",
    "There are some further notes elsewhere.",
)


@perturbation(
    modality="text",
    family="insertion",
    scale="1, 2, 3, 4, 6 sentences behind the text",
    misleads="the sentences are English and meant to be neutral for opinions and topics; check them for your labels",
)
def neutral_suffix(
    example: Example, severity: int, rng: Stream, *, sentences: tuple[str, ...] = SENTENCES, before: bool = False
) -> Perturbed:
    """Append neutral sentences to the (last) text; their words have no origin (-1).

    sentences: sentences to sample. before: prepend them instead. Reference: Jia & Liang 2017 (added sentences), with
    sentences that do not resemble an answer.
    """
    script = Script.of(example)
    count = min(len(sentences), (1, 2, 3, 4, 6)[severity - 1])
    addition = " ".join(sentences[i] for i in rng.sample(len(sentences), count))
    texts = script.pieces()
    if texts[-1]:
        texts[-1] = [(addition + " ", -1), *texts[-1]] if before else [*texts[-1], (" " + addition, -1)]
    return script.with_pieces(texts)
