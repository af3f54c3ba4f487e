"""Masks over the words of a text, by rationale or by name: one tensor (n,) of 0 and 1 per example."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.errors import InputError, Text, phrase
from regard.protocols import Dataset
from regard.training.inputs import text_of
from regard.training.learner import Learner


def rationale_marks(data: Dataset, learner: Learner, who: Text) -> list[Tensor]:
    """Mask of the words that overlap the rationale."""
    assert learner.spans is not None
    if all(e.rationale is None for e in data):
        remedy = phrase("errors.training.rationale_column_or_data")
        raise InputError(
            who,
            expected=phrase("errors.common.examples_with_rationale"),
            got=phrase("errors.common.none_in_train", train=data.name),
            remedy=remedy,
        )
    marks = []
    for example in data:
        places = example.rationale or ()
        spans = learner.spans(example)
        marks.append(torch.tensor([float(any(max(a, p[0]) < min(b, p[1]) for p in places)) for a, b in spans]))
    return marks


def hidden_marks(data: Dataset, learner: Learner, words: Sequence[str], who: Text) -> list[Tensor]:
    """Mask of the words that attention must avoid: the named words, else the rationale."""
    if not words:
        return rationale_marks(data, learner, who)
    assert learner.spans is not None
    lowered = {word.lower() for word in words}
    texts = [(text_of(example), learner.spans(example)) for example in data]
    return [torch.tensor([float(text[a:b].lower() in lowered) for a, b in spans]) for text, spans in texts]
