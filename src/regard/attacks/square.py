"""The Square attack."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from regard.attacks._continuous import PointSearch, continuous_attack
from regard.protocols import Case
from regard.records import Attacked, Threat
from regard.registry import attack

HALVINGS = (10, 50, 200, 500, 1000, 2000, 4000, 6000, 8000)
"""Queries, out of 10 000, at which the patch becomes half as large (Andriushchenko et al. 2020)."""


@attack(
    access="black box",
    modality=("image", "audio", "series", "tabular", "embeddings"),
    cite="Andriushchenko et al. 2020",
    formula="random patches at the edge of the linf ball; one is kept if the margin falls",
    cost="one forward per try, until the budget ends",
    misleads="a random search: its strength depends on the budget, so report both",
)
def square(
    case: Case, threat: Threat, *, eps: float = 0.03, patch: float = 0.3, bounds: tuple[float, ...] | None = None
) -> Sequence[Attacked]:
    """Place +-eps patches at random and keep those that help (black box): one record per example.

    patch: share of the entries in the first patch; it shrinks as the budget is used up. Pictures get squares, series
    stretches of time, rows and embeddings random entries. eps and bounds: as for fgsm; the norm is linf.
    """

    def run(points: PointSearch) -> None:
        place = points.arena
        rngs = [case.rng(i, "square") for i in place.positions]
        free = place.f.free.cpu().numpy()
        shape = tuple(place.x.shape[1:])
        signs = np.stack([_stripes(shape, rng) for rng in rngs])
        rows = points.open
        turn = 0
        while rows:
            proposal = signs[rows].copy()
            if turn:
                share = patch / 2 ** sum(turn * 10_000 / place.budget > h for h in HALVINGS)
                for k, row in enumerate(rows):
                    _patched(proposal[k], share, rngs[row])
            change = torch.from_numpy(np.where(free[rows], proposal, 0.0)).to(place.x) * eps * place.room[rows]
            before = points.score[rows].copy()
            points.look(rows, place.inside(place.x[rows] + change, rows))
            for k, row in enumerate(rows):
                if points.score[row] < before[k]:
                    signs[row] = proposal[k]
            turn += 1
            rows = points.open

    return continuous_attack(case, threat, "square", run, eps=eps, norm="linf", bounds=bounds)


Signs = NDArray[np.float64]


def _stripes(shape: tuple[int, ...], rng: np.random.Generator) -> Signs:
    """Return the start: vertical stripes for images, random signs otherwise."""
    if len(shape) == 3:
        stripes = rng.choice([-1.0, 1.0], size=(shape[0], 1, shape[2]))
        return np.broadcast_to(stripes, shape).copy()
    return rng.choice([-1.0, 1.0], size=shape)


def _patched(signs: Signs, share: float, rng: np.random.Generator) -> None:
    """Set new signs in one random patch, in place."""
    shape = signs.shape
    if len(shape) == 3:
        side = max(1, min(round((share * shape[1] * shape[2]) ** 0.5), *shape[1:]))
        top, left = (int(rng.integers(size - side + 1)) for size in shape[1:])
        signs[:, top : top + side, left : left + side] = rng.choice([-1.0, 1.0], size=(shape[0], 1, 1))
    elif len(shape) == 2:
        many = max(1, min(round(share * shape[0]), shape[0]))
        first = int(rng.integers(shape[0] - many + 1))
        signs[first : first + many] = rng.choice([-1.0, 1.0], size=(1, shape[1]))
    else:
        many = max(1, round(share * shape[0]))
        signs[rng.permutation(shape[0])[:many]] = rng.choice([-1.0, 1.0], size=many)
