"""The loss: a sum of named, weighted terms. A new idea about training is a new term, never a second loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.networks.classifier import AttentionClassifier
from regard.records import Ints
from regard.training.batches import Batch


class Outcome(NamedTuple):
    """What one forward pass gave: logits (batch, classes), and the attention weights (batch, n) where there are any."""

    logits: Tensor
    weights: Tensor | None


class TermFunction(Protocol):
    """A scalar, in the graph."""

    def __call__(self, outcome: Outcome, batch: Batch, /) -> Tensor: ...


@dataclass(frozen=True, slots=True)
class Term:
    """One part of the loss: weight x function."""

    name: str
    function: TermFunction
    weight: float = 1.0


def forward(network: nn.Module, batch: Batch) -> Outcome:
    """Run the network once, keeping what any term may speak about."""
    if isinstance(network, AttentionClassifier):
        reading = network.read(*batch.inputs)
        return Outcome(reading.logits, reading.weights)
    return Outcome(network(*batch.inputs), None)


def total(terms: Sequence[Term], outcome: Outcome, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
    """The loss, and each term before its weight."""
    parts = {term.name: term.function(outcome, batch) for term in terms}
    weighted = [term.weight * parts[term.name] for term in terms]
    return torch.stack(weighted).sum(), parts


def cross_entropy(*, class_weights: Sequence[float] | None = None) -> Term:
    """Mean of -log p(label), each example weighted by its class."""
    weights = None if class_weights is None else torch.tensor(class_weights)

    def function(outcome: Outcome, batch: Batch, /) -> Tensor:
        scale = None if weights is None else weights.to(outcome.logits)
        return F.cross_entropy(outcome.logits, batch.labels.to(outcome.logits.device), weight=scale)

    return Term("cross_entropy", function)


def balanced(labels: Ints, classes: int) -> list[float]:
    """One weight per class: rare classes count more, so that every class counts the same in sum; the mean is 1.

    >>> balanced(np.array([0, 0, 0, 1]), 2)
    [0.5, 1.5]
    """
    counts = np.maximum(np.bincount(labels, minlength=classes), 1)
    inverse = 1.0 / counts
    return [float(w) for w in inverse * classes / inverse.sum()]


TERMS: Mapping[str, object] = {"cross_entropy": cross_entropy}
"""Name -> function that makes the term."""
