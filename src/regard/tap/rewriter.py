"""Rewriter: SDPA as softmax and weighted sum, at sites that are edited or need gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor

from regard.records import Site
from regard.tap.capture_plan import Plan, Planned
from regard.tap.recorder import Kept, Recorder
from regard.tap.sdpa import SdpaCall, scores_of, weighted_sum, weights_of
from regard.tap.tap import Event


class Rewriting(Protocol):
    """Operation at a site. Everything is (batch, head, query, key), without sinks."""

    def wants(self, site: Site) -> bool: ...
    def scores(self, site: Site, scores: Tensor) -> Tensor: ...
    def weights(self, site: Site, weights: Tensor, scores: Tensor) -> Tensor: ...


@dataclass(slots=True, eq=False)
class Rewriter:
    """`Handler` that rewrites the sites a `Rewriting` selects, and runs every other softmax unchanged."""

    plan: Plan
    recorder: Recorder
    rewriting: Rewriting
    unknown: list[Event] = field(default_factory=list)

    def _wanted(self, event: Event) -> Planned | None:
        entry = self.plan.events.get(event.key)
        if entry is None:
            self.unknown.append(event)
            return None
        return entry if entry.site is not None and self.rewriting.wants(entry.site) else None

    def _scores(self, event: Event, site: Site, scores: Tensor) -> Tensor:
        if event.pieces is None:
            return self.rewriting.scores(site, scores)
        whole = event.pieces.spread(scores, -torch.inf)
        return event.pieces.cut(self.rewriting.scores(site, whole), scores)

    def _weights(self, event: Event, site: Site, weights: Tensor, scores: Tensor) -> Tensor:
        if event.pieces is None:
            return self.rewriting.weights(site, weights, scores)
        whole = event.pieces.spread(weights), event.pieces.spread(scores, -torch.inf)
        return event.pieces.cut(self.rewriting.weights(site, *whole), weights)

    def attention(self, event: Event, call: SdpaCall) -> Any:
        entry = self._wanted(event)
        if entry is None or entry.site is None:
            return self.recorder.attention(event, call)
        event.edited = True
        four = call.folded(entry.heads)
        scores = self._scores(event, entry.site, scores_of(four))
        weights = self._weights(event, entry.site, weights_of(four, scores), scores)
        dropped = torch.dropout(weights, call.dropout, train=True) if call.dropout else weights
        out = weighted_sum(four, dropped).reshape(*call.query.shape[:-1], call.value.shape[-1])
        self.recorder.kept[id(event)] = Kept(call, out, weights=weights)
        return call.returned(out)

    def softmax(self, event: Event, scores: Tensor, axis: int, run: Callable[[Tensor], Tensor]) -> Tensor:
        entry = self._wanted(event)
        if entry is None or entry.site is None or entry.layout is None:
            return self.recorder.softmax(event, scores, axis, run)
        event.edited = True
        layout = entry.layout
        full = layout.full(scores)
        stop = full.shape[-1] - layout.last
        inner = self._scores(event, entry.site, full[..., layout.first : stop])
        if inner is not full:
            full = _joined(full, inner, layout.first, stop)
        weights = layout.full(run(layout.restore(full, scores)))
        blank = (full.detach() == -torch.inf).all(-1, keepdim=True)
        if bool(blank.any()):
            weights = weights.masked_fill(blank, 0.0)
        edited = self._weights(event, entry.site, weights[..., layout.first : stop], inner)
        # the model's own softmax would be contiguous, and some models make views of it
        return layout.restore(_joined(weights, edited, layout.first, stop), scores).contiguous()


def _joined(full: Tensor, inner: Tensor, start: int, stop: int) -> Tensor:
    """Return `full` with the columns from start to stop replaced by `inner`."""
    if start == 0 and stop == full.shape[-1]:
        return inner
    return torch.cat([full[..., :start], inner, full[..., stop:]], -1)
