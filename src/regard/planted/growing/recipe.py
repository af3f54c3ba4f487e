"""Recipes of planted models as data, one per file of the parent package."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeVar

from regard.datasets.builtin.planted_texts import Size, Task
from regard.records import Json
from regard.registry import method

VERSION = 1
"""Version of the code that grows models; part of the cache key."""

_F = TypeVar("_F", bound=Callable[..., Any])
Encoder = Literal["words", "lstm", "gru", "three", "transformer"]
Score = Literal["additive", "dot", "bilinear", "uniform", "near", "places", "place", "mean"]
Cell = Literal["lstm", "gru"]
Pull = Literal["", "evidence", "first", "neighbour", "half", "decoy", "one_sided"]


@dataclass(frozen=True, slots=True)
class Recipe:
    """Recipe of a planted model.

    encoder: words (one by one), lstm or gru (both directions), three (a convolution over three words), transformer.
    score: attention score of states; near (within .05), places and place (of positions alone), mean (one key).
    pull: target of the attention loss. hide: penalty on attention to the evidence. entropy: weight of the entropy
    penalty. silence: train attention without the evidence to give equal probabilities. through: factor of the
    attention's part of the output; beside: add the plain mean of the states to the output. noise: the attention's part
    is a fixed number for each word instead. scale: factor of the logits after training. odd_mask: turn <mask> into
    evidence after training. heads, layers, hides: of a Transformer; with `hides` all heads but one of the last layer
    cannot see evidence.
    """

    task: Task
    encoder: Encoder = "words"
    score: Score = "additive"
    pull: Pull = ""
    hide: bool = False
    entropy: float = 0.0
    silence: bool = False
    through: float = 1.0
    beside: bool = False
    noise: bool = False
    scale: float = 1.0
    odd_mask: bool = False
    heads: int = 1
    layers: int = 1
    hides: bool = False
    epochs: int = 16

    def to_json(self, size: Size, seed: int) -> dict[str, Json]:
        return {**asdict(self), "size": size, "seed": seed, "version": VERSION}


def planted_text(task: Task | Literal[""], **facts: Json) -> Callable[[_F], _F]:
    """Register a planted text classifier; task: that of the data set `planted_texts`, "" for the data set `planted`."""
    data = f"planted_texts:task={task}" if task else "planted"
    return method("planted", data=data, task="classification", modality="text", licence="Apache-2.0", **facts)


WIDTH = {"s": 16, "m": 32, "l": 24}
"""Features of a word vector, by size."""
READER = 2
"""Head of a Transformer that can see evidence, if the others cannot."""
