"""Stack of self-attention layers over the units, with the attention that reads the last layer."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from regard.errors import Text, Unsupported, phrase
from regard.explainers._alignment import misfit, rows_read, sites_of, unread
from regard.protocols import Case, SiteAttention
from regard.records import Floats

Local = Callable[[SiteAttention], Floats]
"""Site -> its (query, key) matrix: the contribution of each key to each query."""


@dataclass(frozen=True, slots=True)
class Chain:
    """Self-attention layers, lowest first; top: the pooling or cross-attention that reads the last layer, if any."""

    layers: Sequence[SiteAttention]
    top: SiteAttention | None
    rows: tuple[int, ...]
    """Query rows of `top`, or of the last layer, that the objective reads."""

    @property
    def keys(self) -> list[str]:
        """Keys of every site, the top one last."""
        return [site.site.key for site in (*self.layers, *([self.top] if self.top is not None else []))]

    def entrance(self, local: Local) -> Floats:
        """Return (n,) shares with which the output reads the last layer: by its rows, or by the top's keys."""
        n = self.layers[-1].shape[2] if self.layers else 0
        if self.top is None:
            row = np.zeros(n)
            row[list(self.rows)] = 1 / len(self.rows)
            return row
        row = np.asarray(local(self.top), np.float64)[list(self.rows)].mean(0)
        return np.asarray(row / (row.sum() or 1.0))


def chain_of(case: Case, i: int, method: str, *, bare: bool = True) -> Chain:
    """Return the chain of example i; raise with the reason if its sites form none.

    Needs square self-attention of one length in all layers. bare: accept a model that only pools (one attention over
    the states of a recurrent network) as a chain without layers.
    """

    def refuse(reason: Text) -> Unsupported:
        return Unsupported(method, expected=phrase("errors.explainers.square_self_attention_over_units"), got=reason)

    sites = list(sites_of(case, i, method))
    crosses = [s for s in sites if s.site.kind == "cross"]
    layers = [s for s in sites if s.site.kind in ("self", "causal", "windowed")]
    if crosses:
        # the self-attention of a decoder is about the output: it comes later, is causal, or has another length
        before = itertools.takewhile(lambda s: s.site.kind != "cross", sites)
        keys = crosses[0].shape[3]
        layers = [s for s in before if s.site.kind in ("self", "windowed") and s.shape[3] == keys]
    readers = [s for s in sites if s.site.kind == "pooling"] or crosses
    top = readers[-1] if readers else None
    if not layers and not (bare and top is not None and top.site.kind == "pooling"):
        raise refuse(phrase("errors.explainers.no_self_attention_over_units"))
    for site in layers or [s for s in (top,) if s is not None]:
        reason: Text = misfit(case.units[i], site)
        _, _, queries, keys = site.shape
        if not reason and queries != keys and layers:
            reason = phrase("errors.explainers.queries_for_keys", queries=queries, keys=keys)
        if not reason and keys != (layers[0] if layers else site).shape[-1]:
            reason = phrase("errors.explainers.keys_where_first_layer", keys=keys, shape=layers[0].shape[-1])
        if reason:
            raise refuse(phrase("errors.common.because", place=site.site.key, reason=reason))
    reader = top or layers[-1]
    if reason := unread(case, i, reader):
        raise refuse(phrase("errors.common.because", place=reader.site.key, reason=reason))
    if top is not None and layers and top.shape[3] != layers[0].shape[3]:
        raise refuse(
            phrase(
                "errors.explainers.keys_where_layers_below",
                site=top.site.key,
                shape=top.shape[3],
                shape_2=layers[0].shape[3],
            )
        )
    return Chain(layers, top, tuple(rows_read(case, i, reader)))
