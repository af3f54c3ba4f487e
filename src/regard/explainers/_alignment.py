"""Alignment of an attention site's keys with the units of an example."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regard.desk.site_questions import read_rows, weight_gradients
from regard.errors import InputError, Text, Unsupported, phrase
from regard.protocols import Case, SiteAttention
from regard.records import Floats, Units


def misfit(units: Units, attention: SiteAttention) -> Text:
    """Explain why the site's keys are not the units; "" if they are."""
    keys = units.keys[units.free]
    if (keys < 0).any():
        return phrase("errors.explainers.some_units_no_place_on_key")
    _, _, _, length = attention.shape
    positions = units.positions
    if attention.site.kind == "windowed" and length != positions:
        return phrase("errors.explainers.keys_window_not_positions", length=length, positions=positions)
    return (
        phrase("errors.explainers.keys_for_positions", length=length, positions=positions) if length < positions else ""
    )


def rows_read(case: Case, i: int, attention: SiteAttention) -> Sequence[int]:
    """Return the query rows that the objective reads.

    If queries are not input positions (a memory read once or more, a few learned rows, the steps of an output), these
    are the rows into which the objective has a gradient; all rows for a model without gradients.
    """
    rows, (_, _, queries, _) = read_rows(case, i, attention.site), attention.shape
    positions = case.units[i].positions
    asked_everywhere = len(rows) == positions and max(rows, default=0) == positions - 1
    if attention.site.kind == "cross" and queries != positions and asked_everywhere:
        return _sloped(case, i, attention) or tuple(range(queries))
    return rows


def _sloped(case: Case, i: int, attention: SiteAttention) -> tuple[int, ...]:
    """Return the rows of a site with a gradient of the objective; () where none has, or there are no gradients."""
    if attention.shape[2] < 2:
        return ()
    try:
        slopes = [s for s in weight_gradients(case, i, "frozen") if s.site.key == attention.site.key]
    except Unsupported:
        return ()
    if len(slopes) != 1 or slopes[0].gradient.shape[1] != attention.shape[2]:
        return ()
    return tuple(int(row) for row in np.flatnonzero(np.any(slopes[0].gradient != 0, axis=(0, 2))))


def unread(case: Case, i: int, attention: SiteAttention) -> Text:
    """Explain why the objective does not read the site's rows; "" if it does."""
    rows = rows_read(case, i, attention)
    _, _, queries, _ = attention.shape
    if not rows:
        return phrase("errors.explainers.objective_reads_none_rows")
    return (
        phrase("errors.explainers.objective_reads_row", rows=max(rows), queries=queries) if max(rows) >= queries else ""
    )


def sites_of(case: Case, i: int, method: str) -> Sequence[SiteAttention]:
    """Return every attention site of example i; raise for a model without attention."""
    sites = case.attention(i)
    if not sites:
        raise Unsupported(
            method,
            expected=phrase("errors.common.model_with_attention"),
            got=phrase("errors.explainers.no_attention_site"),
        )
    return sites


def pooled_heads(weights: NDArray[np.floating], heads: str | int) -> Floats:
    """Pool (head, ...) over heads by mean, maximum, or selection of one head."""
    w = np.asarray(weights, np.float64)
    if isinstance(heads, int):
        if not 0 <= heads < len(w):
            raise InputError(
                phrase("errors.common.head_heads", heads=heads), expected=f"0..{len(w) - 1}", got=str(heads)
            )
        return np.asarray(w[heads])
    if heads not in ("mean", "max"):
        raise InputError("heads", expected=phrase("errors.explainers.mean_max_or_number"), got=repr(heads))
    return np.asarray(w.mean(0) if heads == "mean" else w.max(0))


def read_row(case: Case, i: int, attention: SiteAttention, heads: str | int) -> Floats:
    """Return (key,) weights in the rows that the objective reads: mean over rows, pooled over heads."""
    queries = rows_read(case, i, attention)
    return pooled_heads(np.asarray(attention.rows(0, queries), np.float64).mean(1), heads)


def on_units(rows: Sequence[Floats], units: Units, *, renormalise: bool) -> tuple[Floats, float]:
    """Return (n,) mean mass on the free units, and the share elsewhere (special units, sinks).

    Special units get exactly 0; with `renormalise` the rest sums to 1 (unless there is nothing to share).
    """
    laid = units.gathered(rows[0]) if len(rows) == 1 else np.mean([units.gathered(row) for row in rows], axis=0)
    values = np.where(units.free, laid, 0.0)
    mass = float(values.sum())
    # a maximum over heads may sum to more than 1, a row with a sink to less: a share is of the larger
    total = max(1.0, sum(float(row.sum()) for row in rows) / len(rows))
    if renormalise and mass > 0:
        values = values / mass
    return values, max(0.0, 1.0 - mass / total)
