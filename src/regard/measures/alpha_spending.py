"""Group-sequential levels: the nominal level of each look, so that all looks together err at most at a total level.

The looks of one test form a Gaussian process: at information fraction t the statistic is Z(t), and the correlation of
two looks is sqrt(s / t). A spending function sets the part of the total level that may be spent up to t (Lan and DeMets
1983); each boundary follows from the earlier ones by recursive integration (Armitage, McPherson and Rowe 1969). The
fractions are those of the looks that took place: a skipped or an additional look changes the later levels only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from regard.errors import phrase

Floats = NDArray[np.float64]
Spending = Literal["obrien_fleming", "pocock", "linear", "quadratic"]
DEFAULT: Final[Spending] = "quadratic"
"""Default spending function: early looks spend little, so that the last one has nearly the power of a single look."""
_NORMAL = NormalDist()
_FAR = 8.0
"""Standard deviations at which the integration ends."""
_LEVELS: Final = np.concatenate([np.geomspace(1e-7, 1e-3, 9), np.geomspace(2e-3, 0.5, 17)])
"""Total levels to integrate; logarithms are interpolated between them."""


def _obrien_fleming(t: float, level: float) -> float:
    return 2.0 * _NORMAL.cdf(_NORMAL.inv_cdf(level / 2) / math.sqrt(t))


def _pocock(t: float, level: float) -> float:
    return level * math.log1p((math.e - 1) * t)


def _linear(t: float, level: float) -> float:
    return level * t


def _quadratic(t: float, level: float) -> float:
    return level * t * t


_SPENDING: dict[Spending, Callable[[float, float], float]] = {
    "obrien_fleming": _obrien_fleming,
    "pocock": _pocock,
    "linear": _linear,
    "quadratic": _quadratic,
}


def nominal_levels(fractions: Sequence[float], level: float, spending: Spending = DEFAULT) -> list[float]:
    """The one-sided nominal level of every look; together they err with probability `level` if the last is at 1.

    fractions: the information at each look as a part of the planned maximum, increasing, in (0, 1].

    >>> [round(x, 4) for x in nominal_levels([1.0], 0.05)]
    [0.05]
    >>> [round(x, 4) for x in nominal_levels([0.5, 1.0], 0.025, "obrien_fleming")]
    [0.0015, 0.0245]
    """
    spend = _SPENDING[spending]
    levels: list[float] = []
    before, spent = 0.0, 0.0
    points, density = np.zeros(1), np.ones(1)
    for t in fractions:
        if not before < t <= 1.0:
            raise ValueError(phrase("errors.measures.increasing_fractions", fractions=str(list(fractions))))
        allowed = max(spend(t, level) - spent, 1e-300)
        step = math.sqrt(t - before)
        bound = _crossing(points, density, step, allowed)
        levels.append(_upper(bound / math.sqrt(t)))
        points, density = _passed_on(points, density, step, bound, math.sqrt(t))
        before, spent = t, spent + allowed
    return levels


def crossing_probability(fractions: Sequence[float], levels: Sequence[float], drift: float = 0.0) -> list[float]:
    """P(first crossing at each look) of one-sided boundaries; drift: the mean of the statistic at fraction 1.

    >>> [round(x, 3) for x in crossing_probability([0.5, 1.0], [0.025, 0.025])]
    [0.025, 0.017]
    """
    chances: list[float] = []
    before = 0.0
    points, density = np.zeros(1), np.ones(1)
    for t, level in zip(fractions, levels, strict=True):
        step, scale = math.sqrt(t - before), math.sqrt(t)
        bound = -scale * _NORMAL.inv_cdf(level) if level > 1e-300 else scale * 40.0
        shifted_points = points + drift * (t - before)
        chances.append(float(density @ _upper_tails((bound - shifted_points) / step)))
        points, density = _passed_on(shifted_points, density, step, bound, scale, centre=drift * t)
        before = t
    return chances


def _crossing(points: Floats, density: Floats, step: float, allowed: float) -> float:
    """Find the bound that the next value exceeds with probability `allowed`, by bisection."""
    low, high = float(points.min()) - _FAR * step, float(points.max()) + 40.0 * step
    for _ in range(60):
        middle = (low + high) / 2
        crossed = float(density @ _upper_tails((middle - points) / step))
        low, high = (middle, high) if crossed > allowed else (low, middle)
    return (low + high) / 2


def _passed_on(
    points: Floats, density: Floats, step: float, bound: float, scale: float, centre: float = 0.0
) -> tuple[Floats, Floats]:
    """Quadrature points below the bound, and the weight of the paths that arrive there without having crossed."""
    top = min(bound, centre + _FAR * scale)
    bottom = min(centre - _FAR * scale, top - scale)
    count = int(min(801, max(81, 2 * math.ceil(1.5 * (top - bottom) / step) + 1)))
    nodes = np.linspace(bottom, top, count)
    weights = np.ones(count)
    weights[1:-1:2], weights[2:-1:2] = 4.0, 2.0
    weights *= (nodes[1] - nodes[0]) / 3.0
    z = (nodes[:, None] - points[None, :]) / step
    arriving = np.exp(-0.5 * z * z) @ density / (step * math.sqrt(2 * math.pi))
    return nodes, weights * arriving


def _upper(z: float) -> float:
    return 0.5 * math.erfc(z / math.sqrt(2.0))


_erfc = np.vectorize(math.erfc, otypes=[np.float64])


def _upper_tails(z: Floats) -> Floats:
    return np.asarray(0.5 * _erfc(z / math.sqrt(2.0)))


# ---------------------------------------------------------------------- the level of one look, and back


def fractions_now(looks: Sequence[int], n: int) -> tuple[float, ...]:
    """Information fractions of the looks up to now, the last of which is at n examples; (1,) where none is planned.

    looks: planned cumulative numbers of examples, the last of them the planned maximum. A look that was not planned
    counts like one that was; beyond the maximum, the maximum is n.

    >>> fractions_now((16, 32, 64), 32), fractions_now((), 40), fractions_now((16, 64), 80)
    ((0.25, 0.5), (1.0,), (0.2, 0.8, 1.0))
    """
    largest = max((*looks, n, 1))
    return (*(k / largest for k in sorted(set(looks)) if 0 < k < n), max(n, 1) / largest if looks else 1.0)


def level_now(level: float, fractions: tuple[float, ...]) -> float:
    """The nominal one-sided level of the last of these looks, for this total level.

    >>> round(level_now(0.05, (1.0,)), 4), round(level_now(0.05, (0.5, 1.0)), 4)
    (0.05, 0.0446)
    """
    if len(fractions) == 1 and fractions[0] == 1.0:
        return level
    totals, nominal = _table(fractions)
    return math.exp(float(np.interp(math.log(max(level, 1e-300)), totals, nominal, left=-math.inf, right=0.0)))


def overall_p(p: float, fractions: tuple[float, ...]) -> float:
    """Smallest total level at which a p of the last of these looks is a claim: the inverse of `level_now`.

    >>> overall_p(0.03, (1.0,)), round(overall_p(level_now(0.05, (0.25, 0.5)), (0.25, 0.5)), 4)
    (0.03, 0.05)
    """
    if (len(fractions) == 1 and fractions[0] == 1.0) or math.isnan(p):
        return p
    totals, nominal = _table(fractions)
    if p <= 0.0:
        return 0.0
    if math.log(p) >= nominal[-1]:
        return 1.0
    return math.exp(float(np.interp(math.log(p), nominal, totals, left=totals[0])))


@lru_cache(maxsize=1024)
def deciding_looks(fractions: tuple[float, ...], least: tuple[float, ...], level: float) -> tuple[float, ...]:
    """Return the looks that share the level, without earlier ones at which even the least possible p claims nothing.

    least: for each of the earlier looks, a lower bound of its p that holds for any values. A look that cannot err
    spends nothing, so the later ones may spend more.

    >>> deciding_looks((0.25, 0.5, 1.0), (0.4, 0.001), 0.05)
    (0.5, 1.0)
    """
    looks: tuple[float, ...] = ()
    for fraction, p in zip(fractions[:-1], least, strict=True):
        if overall_p(p, (*looks, fraction)) < level:
            looks = (*looks, fraction)
    return (*looks, fractions[-1])


@lru_cache(maxsize=256)
def _table(fractions: tuple[float, ...]) -> tuple[Floats, Floats]:
    """(log total levels, log nominal levels of the last look); both increase."""
    nominal = [nominal_levels(fractions, float(total))[-1] for total in _LEVELS]
    logs = np.maximum.accumulate(np.log(np.maximum(nominal, 1e-320)))
    return np.log(_LEVELS), logs + 1e-12 * np.arange(len(logs))
