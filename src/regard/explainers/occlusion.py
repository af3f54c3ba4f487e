"""Occlusion: leave-one-out with windows."""

from __future__ import annotations

from typing import Literal

import numpy as np

from regard.errors import InputError, phrase
from regard.protocols import Case
from regard.records import Bools, Relevance, Units
from regard.registry import explainer


@explainer(
    needs=("removal",),
    signed=True,
    cite="Zeiler & Fergus 2014",
    formula="r_j = mean over windows W that hold j of f(x) - f(x without W)",
    cost="1 forward per window",
    misleads="as leave_one_out; a unit also shares the effect of its neighbours",
)
def occlusion(
    case: Case, *, window: int = 3, stride: int = 1, per: Literal["unit", "word"] = "unit", operator: str | None = None
) -> Relevance:
    """Drop of the objective when a window of neighbours is removed, averaged over the windows of each unit.

    Returns one signed value per unit; special units stay and get 0. window, stride: counted in units,
    or in words (the larger unit that each belongs to; per="word"); on a grid of patches the window is a square.
    The last window is moved back to end with the last unit, so that every unit is in one.
    Not additive: no conservation law. window=1 is leave-one-out.

    >>> from regard.testing.toy import ToyCase
    >>> occlusion(ToyCase(("wonderful film",)), window=1)[0].round(2).tolist()
    [0.0, 2.0, 0.11]
    """
    if window < 1 or stride < 1:
        raise InputError(
            "occlusion", expected=phrase("errors.explainers.window_and_stride_at_least"), got=f"{window}, {stride}"
        )
    base = case.base()
    drops = [windows(units, window, stride, words=per == "word") for units in case.units]
    answers = case.removed(drops, operator)
    rows = []
    for i, drop in enumerate(drops):
        fall = base.value[i] - answers.value[answers.rows(i)]
        rows.append(fall @ drop / np.maximum(drop.sum(0), 1))
    return Relevance.of("occlusion", case.ids, rows, signed=True)


def windows(units: Units, window: int, stride: int, *, words: bool) -> Bools:
    """Return (windows, n) masks of the units in each window."""
    free = np.flatnonzero(units.free)
    drop = np.zeros((0, len(units)), np.bool_)
    if not len(free):
        return drop
    if words:
        # a unit without a word (spaces, marks) is one of its own
        labels = np.where(units.groups >= 0, units.groups, len(units) + np.arange(len(units)))[free]
        _, first, places = np.unique(labels, return_index=True, return_inverse=True)
        grid = [np.argsort(np.argsort(first))[places]]
    elif len(units.shape) == 2 and int(np.prod(units.shape)) == len(free):
        grid = list(np.divmod(np.arange(len(free)), units.shape[1]))
    else:
        grid = [np.arange(len(free))]
    inside = [_along(axis, window, stride) for axis in grid]
    whole = inside[0] if len(inside) == 1 else (inside[0][:, None] & inside[1][None]).reshape(-1, len(free))
    drop = np.zeros((len(whole), len(units)), np.bool_)
    drop[:, free] = whole
    return drop


def _along(places: np.ndarray[tuple[int, ...], np.dtype[np.int64]], window: int, stride: int) -> Bools:
    """Return (windows, units) masks along one axis."""
    last = max(0, int(places.max()) + 1 - window)
    starts = np.unique([*range(0, last + 1, stride), last])[:, None]
    return np.asarray((places >= starts) & (places < starts + window))
