"""Decomposition of the attention output: projected values, residual stream, normalization layers.

Works without knowledge of the model's code (see `layer_variants`): with the weights of one head singled out, the layer
itself reveals the values of that head; with all weights zero, it reveals its output without attention. Verified by
addition: the parts must sum to the model's output, or the site is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.errors import Text, Unsupported, phrase
from regard.models.adapter import TorchModel, own
from regard.models.ask.capability import capability
from regard.models.ask.layer_variants import LayerVariants, Moment, Place, is_norm, rows_first
from regard.protocols import Encoded, Norm, Parts, Target
from regard.records import Site
from regard.tap.site_attention import as_array

TOLERANCE = 1e-3
"""Maximum error of a sum of parts, relative to the largest entry of the whole."""
_SAME = 1e-3
_LARGE = 1e3


@capability(needs="attention")
def decomposition(model: TorchModel, encoded: Encoded, target: Target, keys: Sequence[str]) -> list[Parts]:
    """Decompose the attention of the sites of these keys, in this order; refuse a site that cannot be decomposed.

    Costs a forward pass per site, and one more per head for all of them.
    """
    layers = LayerVariants(model, own(encoded), target)
    return [_parts(layers, layers.site(key)) for key in keys]


def _parts(layers: LayerVariants, site: Site) -> Parts:
    weights = layers.weights[site.key]
    if weights.shape[0] != 1:
        raise _refused(
            site,
            phrase("errors.models.one_row_attention_for_one"),
            phrase("errors.models.cut_into_windows", shape=weights.shape[0]),
        )
    _, heads, queries, keys = weights.shape
    turns = -(-keys // queries)
    for meeting in _meetings(layers, site):
        place = meeting[0]
        states = layers.ask(site, heads * turns + 1, lambda i: _one_head(weights[0], i, turns), place)
        outputs = torch.cat(list(states)).float()
        if outputs.shape[1] != queries:
            raise _refused(
                site,
                phrase("errors.models.positions_behind", queries=queries),
                phrase("errors.common.at_method", method=outputs.shape[1], site=place.name),
            )
        rest = outputs[-1]
        values = (outputs[:-1] - rest).reshape(heads, -1, outputs.shape[2])[:, :keys]
        if bool(values.any()):
            break  # a normalisation at the side of attention (a feed-forward network in parallel) sees nothing of it
    else:
        raise _refused(site, phrase("errors.models.layer_or_normalisation_that_output"), phrase("errors.common.none"))
    _, tensor, normed = meeting
    whole = rows_first(tensor, 1, site, queries)[0].float()
    total = torch.einsum("hqk,hkd->qd", weights[0].float(), values) + rest
    error = float((total - whole).abs().max() / whole.abs().max().clamp(min=1e-12))
    if not error < TOLERANCE:
        raise _refused(
            site,
            phrase("errors.models.attention_that_added_up_before"),
            phrase("errors.models.parts_that_miss_whole_by_error", error=error),
        )
    own, bias = _residual(layers, site, rest)
    norms = tuple(_norm(m, begin, end, site, queries) for m, begin, end in normed)
    arrays = [as_array(t) for t in (weights[0], values, own, bias, whole)]
    return Parts(
        site=site,
        weights=arrays[0],
        values=arrays[1],
        own=arrays[2],
        bias=arrays[3],
        whole=arrays[4],
        norms=norms,
        error=error,
    )


def _one_head(weights: Tensor, i: int, turns: int) -> Tensor:
    """Weights of 1 from each query to one key, in one head, so that `turns` variants cover every key of it.

    As many keys are covered at once as there are queries. Behind the last head: no weight at all.
    """
    heads, queries, keys = weights.shape
    variant = torch.zeros_like(weights)
    head, turn = divmod(i, turns)
    if head < heads:
        read = torch.arange(turn * queries, min((turn + 1) * queries, keys), device=weights.device)
        variant[head, read - turn * queries, read] = 1.0
    return variant


Normed = tuple[nn.Module, Tensor, Tensor]
"""A normalisation with its input and output."""


def _meetings(layers: LayerVariants, site: Site) -> list[tuple[Place, Tensor, list[Normed]]]:
    """Candidate places where attention is added to the residual stream: (place, states there, normalizations after it).

    Candidates are the input of a normalisation behind the site, and the output of the layer. Normalisations count only
    if the layer returns the output of the last of them; otherwise (pre-norm) the stream goes on without them.
    """
    block = layers.block(site)
    around = block if block is not None else layers.owner(site)
    places: list[tuple[Place, Tensor]] = []
    normed: list[Normed] = []
    waiting: dict[nn.Module, Tensor] = {}
    normalised, gave = None, None  # what the last normalisation made, what the layer gave out
    other = False
    for moment in layers.moments[layers.at(site) + 1 :]:
        other = other or moment.what == "site"
        if moment.tensor is None or moment.module is None:
            continue
        if is_norm(moment.module) and moment.what == "begin":
            waiting[moment.module] = moment.tensor
            if not other or not places:
                places.append((Place(moment.module, "begin", layers.name(moment.module)), moment.tensor))
        elif is_norm(moment.module) and moment.module in waiting:
            normalised = moment.tensor
            if len(normed) < len(places) and not (other and normed):
                normed.append((moment.module, waiting.pop(moment.module), normalised))
        elif moment.module is around and moment.what == "end":
            gave = moment.tensor
            if not other or not places:
                places.append((Place(around, "end", layers.name(around)), moment.tensor))
            break
    if block is None and site.kind != "pooling" and (outside := layers.projection(site)) is not None:
        places = [outside]  # what the owner gives out is not in the stream yet
    ends_so = normalised is not None and (
        gave is None or (normalised.shape == gave.shape and bool(torch.equal(normalised, gave)))
    )
    return [
        (place, tensor, normed[i:] if ends_so and place.what == "begin" else [])
        for i, (place, tensor) in enumerate(places)
    ]


def _residual(layers: LayerVariants, site: Site, rest: Tensor) -> tuple[Tensor, Tensor]:
    """Return (residual stream, bias).

    The output without attention is the stream plus a bias, the same everywhere. If no observed stream fits (a
    feed-forward network parallel to attention), all of it belongs to the position itself.
    """
    if site.kind == "pooling" or (len(rest) > 1 and _constant(rest, rest)):
        return torch.zeros_like(rest), rest.mean(0)
    streams = []
    for moment in reversed(layers.moments[: layers.at(site)]):
        stream = _like(moment, rest, site)
        if stream is not None and _constant(rest - stream, rest):
            streams.append(stream)
            if len(rest) > 1:
                break
    if not streams:
        return rest, torch.zeros_like(rest[0])
    # with one position everything is constant: the stream is what is nearest
    nearest = min(streams, key=lambda stream: float((rest - stream).abs().max()))
    return nearest, (rest - nearest).mean(0)


def _like(moment: Moment, rest: Tensor, site: Site) -> Tensor | None:
    """Return the states of a moment if they have the shape of the residual stream."""
    if moment.tensor is None or moment.tensor.shape[-1] != rest.shape[-1]:
        return None
    try:
        states = rows_first(moment.tensor, 1, site, len(rest))[0].float()
    except Unsupported:
        return None
    return states if states.shape == rest.shape else None


def _constant(difference: Tensor, scale: Tensor) -> bool:
    spread = (difference - difference.mean(0)).abs().max()
    return bool(spread <= _SAME * scale.abs().max().clamp(min=1e-12))


@dataclass(frozen=True, slots=True, eq=False)
class _Affine:
    scale: Tensor
    shift: Tensor
    centred: bool


def _norm(module: nn.Module, given: Tensor, gave: Tensor, site: Site, queries: int) -> Norm:
    """Linearize a normalization layer at the actual standard deviation of its input, by probing the module."""
    x, y = (rows_first(t, 1, site, queries)[0].float() for t in (given, gave))
    affine = _asked(module, given)
    centre = x - x.mean(-1, keepdim=True) if affine.centred else x
    plain, unshifted = affine.scale * centre, y - affine.shift
    spread = (plain * plain).sum(-1) / (plain * unshifted).sum(-1)
    error = float((plain / spread[:, None] - unshifted).abs().max() / unshifted.abs().max().clamp(min=1e-12))
    if not error < TOLERANCE:
        raise _refused(
            site,
            phrase("errors.models.layernorm_or_rmsnorm_behind"),
            phrase("errors.models.off_by_error", type=type(module).__name__, error=error),
        )
    scale, shift, wide = (t.double().cpu().numpy() for t in (affine.scale, affine.shift, spread))
    return Norm(scale, shift, wide, affine.centred)


def _asked(module: nn.Module, like: Tensor) -> _Affine:
    """Measure scale, shift, and whether the module subtracts the mean, from its outputs for three known vectors."""
    width = like.shape[-1]
    ramp = _LARGE * (torch.arange(width, device=like.device, dtype=like.dtype) - width / 2 + 0.25) / max(1, width)
    vectors = torch.stack([torch.zeros_like(ramp), torch.full_like(ramp, _LARGE), ramp])
    with torch.inference_mode():
        shift, level, sloped = module(vectors[None])[0].float()
    centred = bool((level - shift).abs().max() < 1e-2 * (sloped - shift).abs().max())
    wide = ramp.float() - ramp.float().mean() if centred else ramp.float()
    unit = wide / wide.square().mean().sqrt()
    return _Affine((sloped - shift) / unit, shift, centred)


def _refused(site: Site, expected: Text, got: Text) -> Unsupported:
    return Unsupported(phrase("errors.models.parts_attention", site=site.key), expected=expected, got=got)
