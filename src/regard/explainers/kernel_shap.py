"""KernelSHAP: Shapley values by weighted least squares."""

from __future__ import annotations

from math import comb

import numpy as np

from regard.errors import InputError, phrase
from regard.protocols import Case
from regard.records import Bools, Floats, Relevance
from regard.registry import explainer


@explainer(
    needs=("removal",),
    signed=True,
    cite="Lundberg & Lee 2017; Covert & Lee 2021",
    formula="r_j = mean over orders of f(before j, and j) - f(before j), by weighted least squares over subsets",
    cost="`samples` forwards, or all 2^n subsets if there are fewer",
    passes_per="setting",
    misleads="with more units than samples (see `exact`), the least-squares solution spreads credit over units",
)
def kernel_shap(case: Case, *, samples: int = 256, operator: str | None = None) -> Relevance:
    """Shapley values: the mean marginal contribution of each unit to the objective over all orders of units.

    Returns one signed value per unit; special units are always there and get 0. Exact where all subsets fit into
    `samples`; else the smallest and the largest subsets are complete, as far as they fit, and the rest is drawn by the
    Shapley kernel, each with its complement. The first of them are the forwards of leave-one-out.
    Conservation (efficiency): the values sum to f(x) - f(no unit), always, by construction. Extras, one value per
    example: `difference` (that), `completeness_error`, `exact` (1 or 0), `subsets` (how many were asked).

    >>> from regard.testing.toy import ToyCase
    >>> kernel_shap(ToyCase(("wonderful film",)))[0].round(2).tolist()
    [0.0, 2.0, 0.11]
    """
    if samples < 2:
        raise InputError("kernel_shap.samples", expected=phrase("errors.common.at_least_two"), got=str(samples))
    base = case.base()
    samples_of = []
    for i, units in enumerate(case.units):
        samples_of.append(coalitions(int(units.free.sum()), samples, case.rng(i, "kernel_shap")))
    drops = []
    for units, (present, _) in zip(case.units, samples_of, strict=True):
        drop = np.zeros((len(present) + 1, len(units)), np.bool_)
        drop[0], drop[1:, units.free] = units.free, ~present
        drops.append(drop)
    answers = case.removed(drops, operator)
    rows, extras = [], np.zeros((len(drops), 4))
    for i, (units, (present, weight)) in enumerate(zip(case.units, samples_of, strict=True)):
        values_of = answers.value[answers.rows(i)]
        difference = float(base.value[i] - values_of[0])
        values = np.zeros(len(units))
        values[units.free] = solved(present, values_of[1:] - values_of[0], weight, difference)
        rows.append(values)
        exact = float(len(present) == 2 ** present.shape[1] - 2 or present.shape[1] == 0)
        extras[i] = difference, abs(float(values.sum()) - difference), exact, len(present)
    names = ("difference", "completeness_error", "exact", "subsets")
    extra_columns = {name: extras[:, k] for k, name in enumerate(names)}
    return Relevance.of("kernel_shap", case.ids, rows, signed=True, extras=extra_columns)


def coalitions(n: int, samples: int, rng: np.random.Generator) -> tuple[Bools, Floats]:
    """Return (subsets, n) presence of units, neither none nor all, each subset once; and their weights."""
    if n < 2:
        return np.zeros((0, n), np.bool_), np.zeros(0)
    size_weight = np.array([(n - 1) / (k * (n - k)) for k in range(1, n)])
    size_weight /= size_weight.sum()
    if n < 63 and 2**n - 2 <= samples:
        present = (np.arange(1, 2**n - 1)[:, None] >> np.arange(n) & 1).astype(np.bool_)
        sizes = present.sum(-1)
        return present, size_weight[sizes - 1] / np.array([comb(n, int(k)) for k in sizes])
    rows: dict[bytes, float] = {}
    open_sizes, left = list(range(1, n)), samples
    for k in range(1, n // 2 + 1):
        both = {k, n - k}
        count = sum(comb(n, size) for size in both)
        share = sum(size_weight[size - 1] for size in both) / sum(size_weight[size - 1] for size in open_sizes)
        if count > left or left * share < count:
            break
        for size in both:
            for row in _of_size(n, size):
                rows[row.tobytes()] = float(size_weight[size - 1]) / comb(n, size)
            open_sizes.remove(size)
        left -= count
    rest = sum(size_weight[size - 1] for size in open_sizes)
    odds = np.array([size_weight[size - 1] for size in open_sizes]) / rest
    counts: dict[bytes, float] = {}
    for _ in range(20 * samples):  # a subset drawn twice costs nothing and counts twice
        if len(counts) + 2 > left:
            break
        row = rng.permutation(n) < int(rng.choice(open_sizes, p=odds))
        for one in (row, ~row):
            counts[one.tobytes()] = counts.get(one.tobytes(), 0.0) + 1.0
    total = sum(counts.values())
    rows.update({key: count / total * float(rest) for key, count in counts.items()})
    present = np.frombuffer(b"".join(rows), np.bool_).reshape(len(rows), n)
    return present, np.array(list(rows.values()))


def _of_size(n: int, size: int) -> Bools:
    """Yield all subsets of one size, small sizes by their members and large ones by their complement."""
    from itertools import combinations

    few = min(size, n - size)
    row = np.zeros((comb(n, few), n), np.bool_)
    for i, members in enumerate(combinations(range(n), few)):
        row[i, list(members)] = True
    return row if few == size else ~row


def solved(there: Bools, gain: Floats, weight: Floats, difference: float) -> Floats:
    """Return (n,) least-squares values that sum to `difference`, with the smallest deviation from equal shares.

    Solves for c = values - difference / n. Centring each row of presence leaves the equations of c unchanged and makes
    the minimum-norm solution sum to 0, so the constraint needs no extra equation.
    """
    n = there.shape[1]
    if n < 2:
        return np.full(n, difference)
    share = there.mean(-1)
    root = np.sqrt(weight)
    x = (there - share[:, None]) * root[:, None]
    c = np.linalg.lstsq(x, (gain - share * difference) * root, rcond=None)[0]
    return np.asarray(difference / n + c - c.mean())
