"""Value zeroing: the change of a layer's output when the value of one key is zero (Mohebbi et al. 2023).

A zero value equals a zero column of weights that the other keys do not absorb.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.errors import Unsupported, phrase
from regard.models.adapter import TorchModel, own
from regard.models.ask.capability import capability
from regard.models.ask.layer_variants import LayerVariants, Place, rows_first
from regard.protocols import Encoded, Target, Zeroed
from regard.records import Site

TOLERANCE = 1e-3


@capability(needs="attention")
def value_zeroing(model: TorchModel, encoded: Encoded, target: Target, keys: Sequence[str]) -> list[Zeroed]:
    """Zero the value of every key in turn, at the sites of these keys, in this order.

    Costs a forward pass per site, and one more per key for all of them.
    """
    layers = LayerVariants(model, own(encoded), target)
    return [_zeroed(layers, layers.site(key)) for key in keys]


def _zeroed(layers: LayerVariants, site: Site) -> Zeroed:
    weights = layers.weights[site.key]
    block = layers.block(site)
    around = block if block is not None else layers.owner(site)
    if weights.shape[0] != 1 or around is layers.model.module:
        obstacle = phrase("errors.models.none_own") if weights.shape[0] == 1 else phrase("errors.models.windows")
        raise Unsupported(
            phrase("errors.models.value_zeroing_at_site", site=site.key),
            expected=phrase("errors.models.layer_around_attention"),
            got=obstacle,
        )
    keys = weights.shape[3]

    def variant(i: int) -> Tensor:
        """Variant 0 changes nothing; variant k zeroes the value of key k - 1."""
        if not i:
            return weights[0]
        zeroed = weights[0].clone()
        zeroed[..., i - 1] = 0.0
        return zeroed

    base: Tensor | None = None
    distances = []
    for outputs in layers.ask(site, keys + 1, variant, Place(around, "end", site.name)):
        states = outputs.double()
        if base is None:
            base, states = states[0], states[1:]
        distances.append(1 - torch.nn.functional.cosine_similarity(states, base[None], dim=-1))
    assert base is not None
    error = _error(layers, site, around, base)
    if not error < TOLERANCE:
        raise Unsupported(
            phrase("errors.models.value_zeroing_at_site", site=site.key),
            expected=phrase("errors.models.layer_that_gives_same_again"),
            got=phrase("errors.models.off_by_share", error=error),
        )
    return Zeroed(site, torch.cat(distances).clamp(min=0).T.cpu().numpy(), error)


def _error(layers: LayerVariants, site: Site, around: torch.nn.Module, base: Tensor) -> float:
    behind = layers.moments[layers.at(site) :]
    gave = next(m.tensor for m in behind if m.module is around and m.what == "end" and m.tensor is not None)
    first = rows_first(gave, 1, site, len(base))[0].double()
    return float((base - first).abs().max() / first.abs().max().clamp(min=1e-12))
