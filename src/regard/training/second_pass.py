"""Second pass of a batch with additions to the inputs or to the attention scores.

A hook on the module adds them for one pass; the network itself is unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from torch import Tensor, nn

from regard.errors import InputError, Text, phrase
from regard.networks.classifier import Reading
from regard.training.batches import Batch

if TYPE_CHECKING:
    from regard.training.loss import Outcome


@runtime_checkable
class Disturbable(Protocol):
    """A network over words that exposes its word vectors, padding mask and hook points."""

    def vectors(self, *inputs: Tensor) -> Tensor:
        """(batch, n, size)."""
        ...

    def real(self, *inputs: Tensor) -> Tensor:
        """(batch, n)."""
        ...

    def places(self) -> Mapping[str, nn.Module]:
        """Modules by role: `inputs` outputs the word vectors, `scores` the attention scores (..., n)."""
        ...


@runtime_checkable
class Rereads(Protocol):
    """A network that can recompute attention from existing states."""

    def reread(self, states: Tensor, *inputs: Tensor) -> Reading: ...


class Replay:
    """Implements `loss.SecondPass`. forward: function that runs the network (`loss.forward`).

    states: inputs of the attention in the first pass, if the network has one attention over its words: if scores alone
    change, everything below them stays the same, including dropout.
    """

    states: Tensor | None = None

    def __init__(self, network: nn.Module, batch: Batch, forward: Callable[[nn.Module, Batch], Outcome]) -> None:
        self._network, self._batch, self._forward = network, batch, forward

    @property
    def vectors(self) -> Tensor:
        if isinstance(self._network, Disturbable):
            return self._network.vectors(*self._batch.inputs).detach()
        first = self._batch.inputs[0]
        if not first.is_floating_point():
            raise _refused(self._network, phrase("errors.training.inputs"))
        return first

    def __call__(self, *, inputs: Tensor | None = None, scores: Tensor | None = None) -> Outcome:
        batch = self._batch
        if inputs is not None and not isinstance(self._network, Disturbable):
            batch = batch._replace(inputs=(self.vectors + inputs, *batch.inputs[1:]))
            inputs = None
        with _added(self._network, "inputs", inputs), _added(self._network, "scores", scores):
            return self._forward(self._network, batch)

    def reread(self, scores: Tensor) -> Tensor:
        """(batch, classes) logits with something added to the attention scores alone."""
        if self.states is None or not isinstance(self._network, Rereads):
            return self(scores=scores).logits
        with _added(self._network, "scores", scores):
            return self._network.reread(self.states, *self._batch.inputs).logits


def real_of(network: nn.Module, batch: Batch) -> Tensor | None:
    """Return (batch, n) the mask of real tokens, if the network exposes it."""
    return network.real(*batch.inputs) if isinstance(network, Disturbable) else None


@contextmanager
def _added(network: nn.Module, what: str, more: Tensor | None) -> Iterator[None]:
    if more is None:
        yield
        return
    module = network.places().get(what) if isinstance(network, Disturbable) else None
    if module is None:
        raise _refused(
            network,
            phrase("errors.training.attention_scores") if what == "scores" else phrase("errors.training.inputs"),
        )

    def add(module: nn.Module, inputs: Any, out: Tensor) -> Tensor:
        # a score of every word, the same for every head and query
        shaped = more if more.dim() == out.dim() else more.view(len(more), *[1] * (out.dim() - 2), more.shape[-1])
        return out + shaped

    handle = module.register_forward_hook(add)
    try:
        yield
    finally:
        handle.remove()


def _refused(network: nn.Module, what: Text) -> InputError:
    remedy = phrase("errors.training.regard_train_classifier_or_another")
    expected = phrase("errors.training.network_that_lets_something_added", noun=what)
    return InputError(
        phrase("errors.training.disturbing_type", type=type(network).__name__),
        expected=expected,
        got=phrase("errors.training.one_that_differs"),
        remedy=remedy,
    )
