"""Gradients of a scalar with respect to attention weights, of two kinds.

in_graph: the weights as they stand in the computation; a change of one layer's weights changes what later layers
    attend to (attention x gradient, Chefer et al. 2021).
frozen: every attention of the pass is held fixed; only the values flow (gradient to replaced weights).
They agree in the last layer only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal, TypeVar

import torch
from torch import Tensor, nn

from regard.errors import InputError, UnknownName, Unsupported, phrase
from regard.records import Site
from regard.tap.capture_call import rewritten_call

T = TypeVar("T")
Kind = Literal["in_graph", "frozen"]


@dataclass(frozen=True, slots=True, eq=False)
class WeightGradient:
    """Weights and gradient of one site, both (batch, head, query, key)."""

    site: Site
    weights: Tensor
    gradient: Tensor


@dataclass(slots=True, eq=False)
class _Watched:
    """Keep the weights of every site in the graph, or detach them from it."""

    kind: Kind
    held: dict[str, tuple[Site, Tensor]] = field(default_factory=dict)

    def wants(self, site: Site) -> bool:
        return True

    def scores(self, site: Site, scores: Tensor) -> Tensor:
        return scores

    def weights(self, site: Site, weights: Tensor, scores: Tensor) -> Tensor:
        if self.kind == "frozen":
            torch.set_grad_enabled(True)  # below the first attention nothing needs a graph
        if self.kind == "frozen" or not weights.requires_grad:
            # with frozen parameters the first attention starts the graph; later ones are in it by themselves
            weights = weights.detach().requires_grad_()
        self.held[site.key] = (site, weights)
        return weights


def attention_gradients(
    module: nn.Module, call: Callable[[], T], objective: Callable[[T], Tensor], *, kind: Kind, sites: str = "*"
) -> tuple[T, list[WeightGradient]]:
    """Return the output of `call`, and the gradient of its `objective` with respect to the weights of each of `sites`.

    The objective is a scalar; for a batch, a sum over its rows, so that each row has its own gradient.
    """
    if kind not in ("in_graph", "frozen"):
        raise UnknownName(phrase("errors.tap.kind_gradient"), kind, ("in_graph", "frozen"))
    watched = _Watched(kind)
    with torch.inference_mode(False), torch.enable_grad():
        with torch.no_grad() if kind == "frozen" else nullcontext():
            out, _ = rewritten_call(module, call, lambda known: watched)
        value = objective(out)
        if value.numel() != 1:
            raise InputError(
                "objective",
                expected=phrase("errors.tap.scalar"),
                got=phrase("errors.common.shape_shape", shape=tuple(value.shape)),
            )
        if not value.requires_grad:
            raise no_graph(type(module).__name__)
        matching = [(site, w) for key, (site, w) in watched.held.items() if fnmatchcase(key, sites)]
        if not matching:
            raise UnknownName("site", sites, watched.held)
        gradients = torch.autograd.grad(value.sum(), [w for _, w in matching], allow_unused=True)
    return out, [
        WeightGradient(site, w.detach(), torch.zeros_like(w) if g is None else g)
        for (site, w), g in zip(matching, gradients, strict=True)
    ]


def no_graph(name: str) -> Unsupported:
    """Error for a module whose output does not depend on its weights or inputs according to autograd."""
    return Unsupported(
        phrase("errors.common.gradients_model", model=name),
        expected=phrase("errors.tap.output_with_graph"),
        got=phrase("errors.tap.one_without"),
        remedy=phrase("errors.tap.run_module_without_no_grad"),
    )


@dataclass(slots=True, eq=False)
class _Given:
    """Replace a site's weights by given ones."""

    given: Mapping[str, Tensor]

    def wants(self, site: Site) -> bool:
        return site.key in self.given

    def scores(self, site: Site, scores: Tensor) -> Tensor:
        return scores

    def weights(self, site: Site, weights: Tensor, scores: Tensor) -> Tensor:
        replacement = self.given[site.key].to(weights.device, weights.dtype)
        try:
            return replacement.expand(weights.shape)
        except RuntimeError as problem:
            raise InputError(
                phrase("errors.common.weights_for_site", site=site.key),
                expected=phrase("errors.tap.what_broadcasts", shape=tuple(weights.shape)),
                got=str(tuple(replacement.shape)),
            ) from problem


def call_with_weights(module: nn.Module, call: Callable[[], T], weights: Mapping[str, Tensor]) -> T:
    """Run `call` with the weights of the sites named in `weights` replaced.

    Weights are (batch, head, query, key) tensors; gradients flow to them. Rows need not sum to 1.
    """

    def rewriting(known: object) -> _Given:
        keys = [site.key for site in known] if isinstance(known, list) else []
        for key in weights:
            if key not in keys:
                raise UnknownName("site", key, keys)
        return _Given(weights)

    out, _ = rewritten_call(module, call, rewriting)
    return out
