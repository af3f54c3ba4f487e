"""Sites of a pass, built from its events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from regard.records import Site
from regard.tap.blocks import Pieces
from regard.tap.blockwise import PiecedAttention
from regard.tap.capture_plan import Plan, Planned, find_kind, shape_class
from regard.tap.recorder import Kept, Recorder
from regard.tap.self_check import Proof
from regard.tap.site_attention import DenseAttention, LazyAttention, Real
from regard.tap.tap import Event

AnySite = LazyAttention | DenseAttention | PiecedAttention
Padding = Tensor | Sequence[Tensor] | None
"""(batch, position) masks, True or 1 for real positions; for encoder-decoders the encoder's first."""


def build_sites(
    events: Sequence[Event], plan: Plan, recorder: Recorder, padding: Padding, batch: int
) -> tuple[list[AnySite], list[int], list[Proof]]:
    """Build the sites, the step of each, and the data needed to prove each."""
    masks = _masks(padding)
    sites: list[AnySite] = []
    steps: list[int] = []
    proofs: list[Proof] = []
    calls: Counter[str] = Counter()
    derived: dict[int, Tensor] = {}
    for event in events:
        entry = plan.events[event.key]
        if entry.site is None:
            continue
        shapes = shape_class(event, entry.layout)
        kind = entry.kinds.get(shapes)
        if kind is None:
            kind = entry.kinds[shapes] = find_kind(entry, event, batch, entry.site.kind)
        site = replace(entry.site, call=calls[event.name], kind=kind)
        calls[event.name] += 1
        record = recorder.kept.get(id(event))
        built = _fused(site, event, entry, record) if record is not None else _dense(site, event, entry)
        built.real = _real(site, built.shape, masks)
        if not masks and record is not None:
            built.real = _from_mask(built, record.call.mask, derived)
        sites.append(built if event.pieces is None else _whole(built, event.pieces, masks))
        steps.append(event.step)
        proofs.append(Proof(built, shapes, event, record))
    return sites, steps, proofs


def _fused(site: Site, event: Event, entry: Planned, kept: Kept) -> LazyAttention | DenseAttention:
    call = kept.call.folded(entry.heads)
    site = replace(site, heads=call.query.shape[1])
    if kept.weights is not None:
        sink = 1.0 - kept.weights.detach().float().sum(-1) if call.sinks is not None else None
        return DenseAttention(site, kept.weights.detach(), Real(), sink)
    lse = None if kept.lse is None else kept.lse.detach()
    return LazyAttention(site, call, Real(), lse)


def _dense(site: Site, event: Event, entry: Planned) -> DenseAttention:
    assert event.weights is not None
    assert entry.layout is not None
    weights = event.weights.detach()
    canonical = entry.layout.canonical(weights)
    sink = None
    if entry.layout.first or entry.layout.last:
        sink = entry.layout.full(weights).float().sum(-1) - canonical.float().sum(-1)
    return DenseAttention(replace(site, heads=canonical.shape[1]), canonical, Real(), sink)


def _whole(built: LazyAttention | DenseAttention, pieces: Pieces, masks: list[Tensor]) -> PiecedAttention:
    built.real = Real()
    whole = PiecedAttention(built, pieces, Real(pieces.real, pieces.real))
    if pieces.real is None:
        whole.real = _real(built.site, whole.shape, masks)
    return whole


def _masks(padding: Padding) -> list[Tensor]:
    if padding is None:
        return []
    masks = [padding] if isinstance(padding, Tensor) else list(padding)
    return [m.detach().to("cpu", torch.bool) for m in masks]


def first_mask(padding: Padding) -> Tensor | None:
    """The only mask, or the encoder's."""
    masks = _masks(padding)
    return masks[0] if masks else None


def _real(site: Site, shape: tuple[int, int, int, int], masks: list[Tensor]) -> Real:
    """The masks that fit: the decoder's (the last) for causal keys and for queries of a decoder."""
    batch, _, queries, keys = shape
    decoder = site.kind == "causal"

    def fit(length: int, *, last: bool) -> Tensor | None:
        fitting = [m for m in masks if tuple(m.shape) == (batch, length)]
        return (fitting[-1] if last else fitting[0]) if fitting else None

    real_queries = None if queries == 1 else fit(queries, last=decoder or site.kind == "cross")
    return Real(real_queries, fit(keys, last=decoder))


def _from_mask(built: LazyAttention | DenseAttention, mask: Tensor | None, derived: dict[int, Tensor]) -> Real:
    """Real positions from a mask: keys hidden from every query are padding; in self-attention, so are these queries."""
    shape = built.shape
    if mask is None or mask.ndim != 4 or mask.shape[0] != shape[0] or mask.shape[-1] != shape[3]:
        return Real()
    if id(mask) not in derived:
        open_ = mask if mask.dtype == torch.bool else mask > torch.finfo(mask.dtype).min / 2
        derived[id(mask)] = open_.any(2).any(1).cpu()
    keys = derived[id(mask)]
    if bool(keys.all()):
        return Real()
    same = shape[2] == shape[3] and built.site.kind in ("self", "causal", "windowed")
    return Real(keys if same else None, keys)
