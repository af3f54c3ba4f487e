"""Attention rollout."""

from __future__ import annotations

import itertools
from typing import NoReturn

import numpy as np

from regard.errors import Unsupported
from regard.explainers._alignment import misfit, on_units, pooled_heads, read_row, sites_of, unread
from regard.measures.rollout import rollout as product
from regard.protocols import Case, SiteAttention
from regard.records import Floats, Relevance
from regard.registry import explainer


@explainer(
    needs=("attention",),
    cite="Abnar & Zuidema 2020",
    cost="1 forward, one n x n product per layer",
    misleads="in deep models, where it converges to one row for all inputs; it knows no class, values or feed-forward",
)
def rollout(case: Case, *, residual: float = 0.5, heads: str | int = "mean", renormalise: bool = True) -> Relevance:
    """Attention multiplied through the layers, each mixed with the identity for the residual stream.

    Comes out: one non-negative value per unit, special units 0, the others summing to 1 with `renormalise`.
    The rows are those that the objective reads. Where the model reads its last layer through a pooling or a
    cross-attention, that attention is the last factor (without residual).
    Needs square self-attention of one length in all layers; anything else is refused with the reason.
    Deviation from the released code: it takes the maximum over all rows; here, the rows that matter.
    Extras, one value per example: `special_mass` (dropped), `sites` (layers multiplied).

    >>> from regard.testing.toy import ToyCase
    >>> rollout(ToyCase(("wonderful film",), flavour="layers"))[0].round(2).tolist()
    [0.0, 0.76, 0.24]
    """
    rows, masses, counts = [], [], []
    for i, units in enumerate(case.units):
        layers, top = _layers(case, i)
        matrices = [pooled_heads(site.dense().weights[0], heads) for site in layers]
        through = product(matrices, residual=residual)
        row = _top_row(case, i, layers[-1], top, heads, len(through)) @ through
        values, mass = on_units([row], units, renormalise=renormalise)
        rows.append(values)
        masses.append(mass)
        counts.append(float(len(layers)))
    extras = {"special_mass": np.array(masses), "sites": np.array(counts)}
    return Relevance.of("rollout", case.ids, rows, extras=extras)


def _layers(case: Case, i: int) -> tuple[list[SiteAttention], SiteAttention | None]:
    """The self-attentions to multiply, and the attention that reads the last of them, if any."""
    sites = list(sites_of(case, i, "rollout"))
    crosses = [s for s in sites if s.site.kind == "cross"]
    layers = [s for s in sites if s.site.kind in ("self", "causal", "windowed")]
    if crosses:
        # the self-attention of a decoder is about the output: it comes later, is causal, or has another length
        before = itertools.takewhile(lambda s: s.site.kind != "cross", sites)
        keys = crosses[0].shape[3]
        layers = [s for s in before if s.site.kind in ("self", "windowed") and s.shape[3] == keys]
    readers = [s for s in sites if s.site.kind == "pooling"] or crosses
    if not layers:
        _refuse(case, i, "no self-attention over the units")
    for site in layers:
        reason = misfit(case.units[i], site)
        _, _, queries, keys = site.shape
        if not reason and queries != keys:
            reason = f"{queries} queries for {keys} keys"
        if not reason and keys != layers[0].shape[-1]:
            reason = f"{keys} keys where the first layer has {layers[0].shape[-1]}"
        if reason:
            _refuse(case, i, f"{site.site.key}: {reason}")
    return layers, readers[-1] if readers else None


def _top_row(case: Case, i: int, last: SiteAttention, top: SiteAttention | None, heads: str | int, n: int) -> Floats:
    reason = unread(case, i, top or last)
    if reason:
        _refuse(case, i, f"{(top or last).site.key}: {reason}")
    if top is not None:
        row = read_row(case, i, top, heads)
        if len(row) != n:
            _refuse(case, i, f"{top.site.key}: {len(row)} keys where the layers below have {n}")
        return np.asarray(row / row.sum())
    read = case.reading(i, last.site)
    row = np.zeros(n)
    row[list(read)] = 1 / len(read)
    return row


def _refuse(case: Case, i: int, reason: str) -> NoReturn:
    raise Unsupported("rollout", expected="square self-attention over the units in every layer", got=reason)
