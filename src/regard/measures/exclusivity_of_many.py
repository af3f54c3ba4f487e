"""Alternative attention with the same prediction among several classes, if the logits are linear in the attention.

The cap on the total variation of the answer is then no interval but a region of logits, which need not be convex. The
Jensen-Shannon divergence is convex in alpha', so the most distant alpha' lies on at most as many units as there are
classes. All attentions on one or two units are enumerated, which is a lower bound; an upper bound is the optimum under
what the cap says about the log-odds of the predicted class against each other one, which is linear and so exact (see
`exclusivity`). Where the two meet, the value is proved.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.measures.divergence import jsd, tvd
from regard.measures.exclusivity import most_distant

Floats = NDArray[np.float64]

GRID = 49
"""Points at which a segment between two units is looked at; between two of them the lowest places are sought."""
HALVINGS = 40
AT_ONCE = 200_000
"""Numbers in one block."""
PROVED = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class Bracket:
    """value: divergence of `other`, the most distant one found (-1 and alpha itself: none). upper: none is farther."""

    value: float
    other: Floats
    upper: float

    @property
    def proved(self) -> bool:
        return self.upper - self.value <= PROVED


def most_distant_of_many(
    alpha: ArrayLike, single: ArrayLike, base: ArrayLike, cap: float, also: ArrayLike | None = None
) -> Bracket:
    """Return the attention farthest from alpha, among those on one or two units with TVD(answer, base) <= cap.

    alpha: (n,) attention. single: (n, classes) logits (or log-probabilities) under attention on one unit. base:
    (classes,) the probabilities undisturbed. also: (some, n) attentions that a search found, on any number of units.

    >>> single = np.log([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.79, 0.11, 0.1]])
    >>> found = most_distant_of_many([1.0, 0.0, 0.0], single, [0.8, 0.1, 0.1], 0.05)
    >>> round(found.value, 3), found.other.tolist(), found.proved
    (0.693, [0.0, 0.0, 1.0], True)
    """
    a, z, p = (np.asarray(v, np.float64) for v in (alpha, single, base))
    ones = jsd(np.eye(len(a)), np.broadcast_to(a, (len(a), len(a))))
    value, other = _enumerated(a, z, p, cap, ones)
    for share in np.asarray(() if also is None else also, np.float64).reshape(-1, len(a)):
        far = float(jsd(share, a))
        if far > value and _said(share @ z, p) <= cap:
            value, other = far, share
    return Bracket(value, other, max(value, min(float(ones.max()), _relaxed(a, z, p, cap))))


def displaceable_of_many(single: ArrayLike, avoid: ArrayLike, base: ArrayLike, cap: float) -> bool | None:
    """Return whether attention without any weight on the units of `avoid` can keep the answer within the cap.

    True where an attention on one or two units does; False where the log-odds of two classes rule it out; else None.

    >>> single = np.log([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.9, 0.05, 0.05]])
    >>> displaceable_of_many(single, [True, False, False], [0.8, 0.1, 0.1], 0.05)
    True
    """
    z, p = (np.asarray(v, np.float64) for v in (single, base))
    left = z[~np.asarray(avoid, np.bool_)]
    if not len(left):
        return False
    first, second = np.triu_indices(len(left))
    for block in _blocks(len(first), p):
        if (_apart(left, first[block], second[block], _weights(), p) <= cap).any():
            return True
    for low, high, line in _slabs(z, p, cap):
        line_outside = line[~np.asarray(avoid, np.bool_)]
        if line_outside.min() > high or line_outside.max() < low:
            return False
    return None


def _weights() -> Floats:
    return np.linspace(0.0, 1.0, GRID)


def _blocks(count: int, p: Floats) -> list[slice]:
    step = max(1, AT_ONCE // (GRID * len(p)))
    return [slice(k, k + step) for k in range(0, count, step)]


def _apart(z: Floats, i: NDArray[np.int64], j: NDArray[np.int64], w: Floats, p: Floats) -> Floats:
    """(pairs, weights) total variation between p and the answer to w on unit i and 1 - w on unit j."""
    return _said(w[..., None] * z[i][:, None] + (1 - w[..., None]) * z[j][:, None], p)


def _said(logits: Floats, p: Floats) -> Floats:
    answer = np.exp(logits - logits.max(-1, keepdims=True))
    answer /= answer.sum(-1, keepdims=True)
    return np.asarray(tvd(answer, np.broadcast_to(p, answer.shape)))


def _enumerated(a: Floats, z: Floats, p: Floats, cap: float, ones: Floats) -> tuple[float, Floats]:
    """Enumerate the segments: the divergence is convex on each, so its maximum lies where it meets the cap, or at an
    end.
    """
    first, second = np.triu_indices(len(a), 1)
    best, other = -1.0, a.copy()
    alone = np.flatnonzero(_apart(z, np.arange(len(a)), np.arange(len(a)), np.ones(1), p)[:, 0] <= cap)
    if len(alone):
        unit = int(alone[np.argmax(ones[alone])])
        best, other = float(ones[unit]), np.eye(len(a))[unit]
    # no attention on a segment is farther than the farther one of its ends: the rest need not be looked at
    reach = np.maximum(ones[first], ones[second])
    order = np.argsort(-reach, kind="stable")
    for block in _blocks(len(order), p):
        pairs = order[block]
        if not len(pairs) or reach[pairs[0]] <= best:
            break
        i, j = first[pairs], second[pairs]
        row, keeps, breaks = _brackets(z, i, j, p, cap)
        if not len(row):
            continue
        w = _met(z, i[row], j[row], keeps, breaks, p=p, cap=cap)
        shares = np.zeros((len(w), len(a)))
        shares[np.arange(len(w)), i[row]] = w
        shares[np.arange(len(w)), j[row]] = 1 - w
        far = jsd(shares, np.broadcast_to(a, shares.shape))
        top = int(np.argmax(far))
        if float(far[top]) > best:
            best, other = float(far[top]), shares[top]
    return best, other


def _brackets(
    z: Floats, i: NDArray[np.int64], j: NDArray[np.int64], p: Floats, cap: float
) -> tuple[NDArray[np.int64], Floats, Floats]:
    """(pair, a weight that keeps the cap, one that does not): the cap is met between the two."""
    grid = _weights()
    apart = _apart(z, i, j, grid, p)
    inside = apart <= cap
    row, cell = np.nonzero(inside[:, 1:] != inside[:, :-1])
    left = inside[row, cell]
    keeps, breaks = np.where(left, grid[cell], grid[cell + 1]), np.where(left, grid[cell + 1], grid[cell])
    # a stretch between two points is seen by its lowest place
    around = np.pad(apart, ((0, 0), (1, 1)), constant_values=np.inf)
    dip, k = np.nonzero(~inside & (apart <= around[:, :-2]) & (apart <= around[:, 2:]))
    low, high = grid[np.maximum(k - 1, 0)], grid[np.minimum(k + 1, GRID - 1)]
    ends = low, high
    for _ in range(HALVINGS):
        one, two = low + (high - low) / 3, high - (high - low) / 3
        both = _apart(z, i[dip], j[dip], np.stack([one, two], -1), p)
        falls = both[:, 0] > both[:, 1]
        low, high = np.where(falls, one, low), np.where(falls, high, two)
    lowest = 0.5 * (low + high)
    crossings = np.flatnonzero(_apart(z, i[dip], j[dip], lowest[:, None], p)[:, 0] <= cap)
    return (
        np.concatenate([row, dip[crossings], dip[crossings]]),
        np.concatenate([keeps, lowest[crossings], lowest[crossings]]),
        np.concatenate([breaks, *(end[crossings] for end in ends)]),
    )


def _met(
    z: Floats, i: NDArray[np.int64], j: NDArray[np.int64], keeps: Floats, breaks: Floats, p: Floats, cap: float
) -> Floats:
    """The weights at which the cap is met, from the side that keeps it."""
    for _ in range(HALVINGS):
        middle = 0.5 * (keeps + breaks)
        fits = _apart(z, i, j, middle[:, None], p)[:, 0] <= cap
        keeps, breaks = np.where(fits, middle, keeps), np.where(fits, breaks, middle)
    return keeps


def _slabs(z: Floats, p: Floats, cap: float) -> list[tuple[float, float, Floats]]:
    """(low, high, (n,) log-odds under attention on one unit) of the predicted class against each other one.

    Within the cap no probability is farther from p than the cap, so each of these lies between two numbers.
    """
    own, slabs = int(p.argmax()), []
    for k in range(len(p)):
        if k != own:
            with np.errstate(divide="ignore"):
                low = float(np.log(max(p[own] - cap, 0.0)) - np.log(min(p[k] + cap, 1.0)))
                high = float(np.log(min(p[own] + cap, 1.0)) - np.log(max(p[k] - cap, 0.0)))
            slabs.append((low, high, np.asarray(z[:, own] - z[:, k])))
    return slabs


def _relaxed(a: Floats, z: Floats, p: Floats, cap: float) -> float:
    return min((most_distant(a, line, low, high)[0] for low, high, line in _slabs(z, p, cap)), default=np.inf)
