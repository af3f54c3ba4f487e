"""The loss: a sum of named, weighted terms. A new idea is a new file in `terms/`, never a second loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from regard.errors import InputError, phrase
from regard.networks.classifier import Reading
from regard.networks.vocabulary import PAD
from regard.records import Spec
from regard.registry import build, entry
from regard.training.batches import Batch
from regard.training.second_pass import Replay, real_of


class Outcome(NamedTuple):
    """Result of one forward pass: logits (batch, ..., classes) or forecast values.

    From networks with one attention over the input: its weights (batch, n), the states that it reads
    (batch, n, width), and which of them are words, not padding (batch, n). again: the same batch once more, disturbed.
    """

    logits: Tensor
    weights: Tensor | None = None
    states: Tensor | None = None
    real: Tensor | None = None
    again: SecondPass | None = None


class SecondPass(Protocol):
    """A second pass of the same batch with something added on the way; see `training.second_pass`."""

    @property
    def vectors(self) -> Tensor:
        """Numeric inputs (batch, ...): word vectors, or the inputs themselves; detached."""
        ...

    def __call__(self, *, inputs: Tensor | None = None, scores: Tensor | None = None) -> Outcome:
        """Run the network again. inputs: added to `vectors`. scores: (batch, n), added to the scores of every query."""
        ...

    def reread(self, scores: Tensor) -> Tensor:
        """Recompute the logits with `scores` added, reusing the states below attention if possible."""
        ...


@dataclass(frozen=True, slots=True)
class Term:
    """Loss term: weight x function(outcome, batch), a scalar in the graph.

    learning: for training only; it disturbs the network, and is meaningless for evaluating a split.
    """

    name: str
    function: Callable[[Outcome, Batch], Tensor]
    weight: float = 1.0
    learning: bool = False

    @property
    def needs(self) -> tuple[str, ...]:
        """Inputs beside logits and labels: parts of an Outcome, or columns of `Batch.beside`."""
        needs: Any = _facts(self.name).get("needs", ())
        return tuple(map(str, needs))


@runtime_checkable
class Reads(Protocol):
    """A network over words (batch, n) that returns attention together with logits."""

    def read(self, tokens: Tensor, beside: Tensor | None = None, mask: Tensor | None = None) -> Reading: ...


def forward(network: nn.Module, batch: Batch) -> Outcome:
    """Run the network once, on its own device, and keep everything that a term may use."""
    batch = _on_device(batch, next(network.parameters()).device)
    again = Replay(network, batch, forward)
    if isinstance(network, Reads):
        reading = network.read(*batch.inputs)
        real = batch.inputs[0] != PAD if reading.real is None else reading.real
        again.states = reading.states
        return Outcome(reading.logits, reading.weights, reading.states, real, again)
    return Outcome(network(*batch.inputs), real=real_of(network, batch), again=again)


def _on_device(batch: Batch, device: torch.device) -> Batch:
    """The batch with its inputs on `device`; terms move labels and columns themselves."""
    if device.type == "cpu":
        return batch
    return batch._replace(inputs=tuple(tensor.to(device) for tensor in batch.inputs))


def total(terms: Sequence[Term], outcome: Outcome, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the loss and each unweighted term."""
    parts = {term.name: term.function(outcome, batch) for term in terms}
    weighted = [term.weight * parts[term.name] for term in terms]
    return torch.stack(weighted).sum(), parts


def weighted_terms(weights: Mapping[str, float]) -> list[Term]:
    """Build the terms of a loss by name; parameters as in any Spec.

    >>> found = weighted_terms({"cross_entropy": 1, "attention_distance:measure=jsd": -2})
    >>> [(term.name, term.weight, term.needs) for term in found]
    [('cross_entropy', 1.0, ()), ('attention_distance:measure=jsd', -2.0, ('weights', 'attention'))]
    """
    if not weights:
        raise InputError(
            phrase("errors.training.loss"),
            expected=phrase("errors.training.at_least_one_term"),
            got=phrase("errors.common.none"),
            remedy="cross_entropy=1",
        )
    return [
        Term(name, build(Spec.parse("term", name)), float(weight), bool(_facts(name).get("learning")))
        for name, weight in weights.items()
    ]


def _facts(name: str) -> Mapping[str, Any]:
    return entry("term", name.partition(":")[0]).facts


def parse_terms(texts: Sequence[str]) -> dict[str, float]:
    """Parse `name=weight` or `name:key=value=weight` from the command line.

    >>> parse_terms(["prediction_distance=1", "attention_distance:measure=jsd=-0.5"])
    {'prediction_distance': 1.0, 'attention_distance:measure=jsd': -0.5}
    """
    weights: dict[str, float] = {}
    for text in texts:
        name, _, weight = text.rpartition("=")
        try:
            value = float(weight)
        except ValueError:
            value = float("nan")
        if not name or value != value or abs(value) == float("inf"):
            remedy = f"--term {name or text}=1"
            expected = phrase("errors.training.name_weight_with_finite_number")
            raise InputError(
                phrase("errors.training.term_text", text=repr(text)), expected=expected, got=repr(weight), remedy=remedy
            )
        if name in weights:
            raise InputError(
                phrase("errors.training.term_text", text=repr(name)),
                expected=phrase("errors.training.each_term_once"),
                got=phrase("errors.training.second_weight"),
            )
        weights[name] = value
    return weights


def in_words(weights: Mapping[str, float]) -> str:
    """
    >>> in_words({"prediction_distance": 1.0, "attention_distance": -0.5})
    'prediction_distance - 0.5 attention_distance'
    """
    text = ""
    for name, weight in weights.items():
        sign = "-" if weight < 0 else "+"
        size = "" if abs(weight) == 1 else f"{abs(weight):g} "
        text += f" {sign} {size}{name}"
    return text.removeprefix(" + ").removeprefix(" ")
