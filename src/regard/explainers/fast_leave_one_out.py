"""Approximate leave-one-out with measured fidelity."""

from __future__ import annotations

import numpy as np

from regard.desk.questions import nearly_removed
from regard.errors import InputError, Unsupported, phrase
from regard.measures.agreement import kendall, spearman
from regard.protocols import Case
from regard.records import Bools, Floats, Relevance
from regard.registry import explainer

FEW = 8
"""Minimum free units: below, the exact answer is as cheap, and a rank correlation says little."""


@explainer(
    needs=("removal",),
    signed=True,
    cite="own method; exact counterpart: Li et al. 2016",
    formula="r_j = f(x) - f~(x without j); f~ recomputes a share of the feed-forward positions of each layer",
    cost="1 partial forward per unit, and `checks` exact leave-one-outs",
    misleads="if fidelity on the checked examples (see `spearman`) differs from that on the others",
)
def fast_leave_one_out(
    case: Case,
    *,
    schedule: tuple[float, ...] = (0.1, 0.1, 0.25, 1.0, 1.0, 1.0),
    operator: str | None = None,
    bar: float = 0.9,
    checks: int = 3,
) -> Relevance:
    """Approximate leave-one-out: recompute feed-forward layers only where a removal changes most (delta-sparse).

    Returns one signed value per unit, approximately f(x) - f(x without the unit); special units 0. Supports layered
    models with feed-forward layers and operators that keep the length; raises with the reason otherwise.
    schedule: share of positions whose feed-forward each layer recomputes, stretched to the model's depth; (1.0,) is
    exact. Early layers change in few positions and late ones in many, so shares must grow.
    Checks itself: it computes exact values for up to `checks` examples of the case, and raises if the mean Spearman
    correlation is below `bar`. Examples with fewer than 8 free units are always exact.
    Conservation: as `leave_one_out`. Extras, one value per example: `spearman` and `kendall` (means over the checked
    examples), `checked` (their number).

    >>> from regard.testing.toy import ToyCase
    >>> fast_leave_one_out(ToyCase(("wonderful film",)))[0].round(2).tolist()
    [0.0, 2.0, 0.11]
    """
    if checks < 1 or not -1 <= bar <= 1:
        raise InputError(
            "fast_leave_one_out", expected=phrase("errors.explainers.checks_at_least_bar"), got=f"{checks}, {bar}"
        )
    base = case.base()
    every = [np.eye(len(units), dtype=np.bool_)[units.free] for units in case.units]
    short = [len(drop) < FEW for drop in every]
    nearly = nearly_removed(case, [d[:0] if s else d for d, s in zip(every, short, strict=True)], schedule, operator)
    check_examples = _spread([i for i, s in enumerate(short) if not s], [len(d) for d in every], checks)
    exact_drops = [drop if short[i] or i in check_examples else drop[:0] for i, drop in enumerate(every)]
    exactly = case.removed(exact_drops, operator)
    rows, rhos, taus = [], [], []
    for i, units in enumerate(case.units):
        source = exactly if short[i] else nearly
        fall = base.value[i] - source.value[source.rows(i)]
        values = np.zeros(len(units))
        values[units.free] = fall
        rows.append(values)
        if i in check_examples:
            truth = base.value[i] - exactly.value[exactly.rows(i)]
            rhos.append(_agreed(spearman(truth, fall), truth, fall))
            taus.append(_agreed(kendall(truth, fall), truth, fall))
    rho, tau = (float(np.mean(found)) if found else 1.0 for found in (rhos, taus))
    if rho < bar:
        raise Unsupported(
            phrase("errors.explainers.fast_leave_one_out_on_this_model"),
            expected=phrase("errors.explainers.rank_correlation_with_exact_one", bar=bar),
            got=f"{rho:.3f} (n = {len(check_examples)})",
            remedy=phrase("errors.explainers.leave_one_out_or_schedule_with_larger"),
        )
    n = len(rows)
    extras = {
        "spearman": np.full(n, rho),
        "kendall": np.full(n, tau),
        "checked": np.full(n, float(len(check_examples))),
    }
    return Relevance.of("fast_leave_one_out", case.ids, rows, signed=True, extras=extras)


def _spread(candidates: list[int], sizes: list[int], checks: int) -> list[int]:
    """Select examples from the shortest to the longest."""
    by_size = sorted(candidates, key=lambda i: (sizes[i], i))
    if len(by_size) <= checks:
        return by_size
    return [by_size[int(k)] for k in np.linspace(0, len(by_size) - 1, checks + 2)[1:-1].round()]


def _agreed(found: Floats | Bools, truth: Floats, fall: Floats) -> float:
    """Return the correlation; constant rankings agree with each other and with no other ranking."""
    value = float(found)
    if np.isnan(value):
        return 1.0 if np.allclose(truth, fall, atol=1e-6) else 0.0
    return value
