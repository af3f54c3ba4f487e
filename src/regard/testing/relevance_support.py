"""Support of `lrp` on an architecture: one forward and one backward pass of a tiny random model per rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from regard.models.propagation.proof import Outputs, propagated, refusal
from regard.models.propagation.rules import Rule, frozen
from regard.records import Message
from regard.testing.architecture import Inputs, tensors

RULES: tuple[Rule, ...] = ("cp", "attnlrp")
"""Rules that conserve relevance."""


def relevance_refusals(model: nn.Module, inputs: Inputs) -> Mapping[str, Message | None]:
    """Map each rule to the reason for its refusal; None if it is verified."""
    return {rule: _refusal(model, inputs, rule) for rule in RULES}


def _refusal(model: nn.Module, inputs: Inputs, rule: Rule) -> Message | None:
    leaves: list[Tensor] = []
    continuous = {key: value for key, value in inputs.items() if _is_continuous(key, value)}

    def call() -> Outputs:
        leaves[:] = [value.clone().requires_grad_() for value in continuous.values()]
        # a copy of each: the model may change its input in place
        copies = {key: leaf.clone() for key, leaf in zip(continuous, leaves, strict=True)}
        with torch.random.fork_rng(devices=[]), _embeddings_as_leaves(model, leaves):
            torch.manual_seed(0)
            return tensors(model(**{**inputs, **copies}), detached=False)

    try:
        with frozen(model), torch.enable_grad():
            plain = _size(call()).detach()
        flow = propagated(model, call, leaves, _size, rule=rule, rows=1)
    except (RuntimeError, AssertionError):  # a plain gradient fails in the same way
        return Message("lrp.no_gradient")
    return Message("lrp.no_gradient") if flow is None else refusal(flow, rule, plain)


def _size(outputs: Outputs) -> Tensor:
    """(1,) the objective: the sum of the absolute outputs."""
    return torch.stack([out.abs().sum() for out in outputs.values()]).sum()[None]


def _is_continuous(key: str, value: object) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point() and "mask" not in key


@contextmanager
def _embeddings_as_leaves(model: Any, leaves: list[Tensor]) -> Iterator[None]:
    """Explain the outputs of the token embeddings: encoder and decoder have one each, of the same size."""

    def hook(module: nn.Module, args: tuple[Any, ...], out: Tensor) -> Tensor:
        leaves.append(out.detach().clone().requires_grad_())
        return leaves[-1].clone()

    handles = [module.register_forward_hook(hook) for module in _token_embeddings(model)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _token_embeddings(model: Any) -> list[nn.Module]:
    try:
        first = model.get_input_embeddings()
    except NotImplementedError:
        first = None
    if not isinstance(first, nn.Embedding):  # none, or (CANINE) several that share the ids among them by hashing
        return [module for name, module in model.named_modules() if "HashBucket" in name]
    tables = [module for module in model.modules() if isinstance(module, nn.Embedding)]
    return [table for table in tables if table.weight.shape == first.weight.shape]
