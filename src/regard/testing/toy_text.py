"""What the toy model reads, captures and differentiates: a text with a weight for each word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from regard.desk.padding import DenseSite
from regard.errors import Unsupported, phrase
from regard.measures.keyed_random import keyed_rng
from regard.protocols import Encoded, Target
from regard.records import Answers, Example, Floats, Text, Units

WEIGHTS = {"wonderful": 2.0, "good": 1.0, "truly": 0.6, "dull": -1.2, "terrible": -1.9, "bad": -0.9, "not": -0.3}
SPECIAL_WEIGHT = 0.25
"""Contribution of [CLS]; a method that attributes it to a word fails."""


@dataclass(frozen=True, eq=False)
class ToyText:
    """Implements `protocols.Encoded`: a text and the weight of each unit, [CLS] first."""

    text: str
    units: Units
    weights: Floats

    @property
    def length(self) -> int:
        return len(self.units)


@dataclass(frozen=True)
class ToyCapture:
    """Implements `protocols.Capture`."""

    sites: Sequence[DenseSite]
    units: Sequence[Units]
    answers: Answers
    rejected: Sequence[tuple[str, str]] = ()
    checked: Text = "given"


@dataclass(frozen=True, eq=False)
class ToyFunction:
    """Implements `InputFunction` and `BatchFunction`: x is the contribution of each unit, [CLS] is not free."""

    weights: Floats
    sign: int
    link: str
    user = False
    classes = 2

    @property
    def x(self) -> Any:
        import torch

        return torch.from_numpy(self.weights.copy())

    @property
    def owner(self) -> Any:
        import torch

        return torch.arange(self.weights.shape[1]).expand(self.weights.shape)

    @property
    def free(self) -> Any:
        return self.owner > 0

    @property
    def module(self) -> Any:
        import torch

        return torch.nn.Identity()

    def baseline(self, name: str) -> Any:
        return self.x * ~self.free

    def __call__(self, x: Any) -> Any:
        total = x.sum(-1)
        return self.sign * (total if self.link == "linear" else total.tanh())

    def logits(self, x: Any, rows: Sequence[int] | None = None) -> Any:
        import torch

        score = self(x)
        return torch.stack([-score / 2, score / 2], -1)

    def back(self, row: int, x: Any) -> Example:
        raise Unsupported(
            phrase("errors.testing.toy_model"),
            expected=phrase("errors.testing.input_numbers"),
            got=phrase("errors.common.text"),
        )


def own_text(encoded: Encoded) -> ToyText:
    """Refuse what another model has encoded."""
    if not isinstance(encoded, ToyText):
        raise TypeError(f"the toy model reads ToyText, not {type(encoded).__name__}")
    return encoded


def sign_of(target: Target) -> int:
    """Return the sign of the objective of a class."""
    return 1 if target else -1


@lru_cache(maxsize=4096)
def word_number(word: str) -> int:
    """A number for each spelling."""
    return int(keyed_rng(0, "toy token", word).integers(1 << 40))


def softmax(scores: Floats) -> Floats:
    """Return the softmax of one row."""
    e = np.exp(scores - scores.max())
    return np.asarray(e / e.sum())


@lru_cache(maxsize=4096)  # read-only, and asked for again and again
def units_of(text: str) -> Units:
    """Return the words of a text behind [CLS]."""
    words = text.split()
    places, start = [(0, 0)], 0
    for word in words:
        start = text.index(word, start)
        places.append((start, start + len(word)))
        start += len(word)
    n = len(words) + 1
    index = np.arange(n)
    none = np.zeros(n, np.int64)
    return Units(
        names=("[CLS]", *words),
        kind="word",
        place_kind="span",
        places=np.array(places, float),
        special=index == 0,
        groups=index - 1,
        part=none,
        keys=index,
        shape=(n,),
    )
