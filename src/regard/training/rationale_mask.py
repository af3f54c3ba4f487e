"""Which words of a text are marked: by a rationale, or by name. One tensor (n,) of 0 and 1 per example."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.errors import InputError
from regard.protocols import Dataset
from regard.training.inputs import text_of
from regard.training.learner import Learner


def rationale_marks(data: Dataset, learner: Learner, who: str) -> list[Tensor]:
    """1 on the words that share a character with the rationale."""
    assert learner.spans is not None
    if all(e.rationale is None for e in data):
        raise InputError(
            who, expected="examples with a rationale", got=f"none in {data.name}",
            remedy="--rationale-column, or data that has them (regard list dataset)",
        )  # fmt: skip
    marks = []
    for example in data:
        places = example.rationale or ()
        spans = learner.spans(example)
        marks.append(torch.tensor([float(any(max(a, p[0]) < min(b, p[1]) for p in places)) for a, b in spans]))
    return marks


def hidden_marks(data: Dataset, learner: Learner, words: Sequence[str], who: str) -> list[Tensor]:
    """1 on the words that attention must not be seen on: those named, else those of the rationale."""
    if not words:
        return rationale_marks(data, learner, who)
    assert learner.spans is not None
    lowered = {word.lower() for word in words}
    texts = [(text_of(example), learner.spans(example)) for example in data]
    return [torch.tensor([float(text[a:b].lower() in lowered) for a, b in spans]) for text, spans in texts]
