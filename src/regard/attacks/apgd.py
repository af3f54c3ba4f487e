"""Auto-PGD."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from regard.attacks._continuous import PointSearch, continuous_attack
from regard.attacks._epsilon_ball import Arena, Norm
from regard.protocols import Case
from regard.records import Attacked, Message, Threat
from regard.registry import attack

MOMENTUM, RHO = 0.75, 0.75
FEWEST = 4
"""Minimum classes for the difference-of-logits ratio (three for the untargeted, four for the targeted one)."""


@attack(
    access="white box",
    modality=("image", "audio", "series", "tabular", "embeddings"),
    cite="Croce & Hein 2020",
    formula="gradient steps with momentum from 2 eps on, halved and sent back to the best point when progress stops",
    cost="steps + 1 backwards",
    misleads='loss="dlr" is undefined for fewer than 4 classes; the logit margin replaces it, and the record '
    "notes that",
)
def apgd(
    case: Case,
    threat: Threat,
    *,
    eps: float = 0.03,
    steps: int = 50,
    loss: Literal["ce", "dlr"] = "ce",
    norm: Norm = "linf",
    bounds: tuple[float, ...] | None = None,
) -> Sequence[Attacked]:
    """Take gradient steps with automatic step size: one record per example.

    loss: "ce", cross-entropy (as log-odds, which have the same gradient sign and do not vanish), or "dlr", the
    difference-of-logits ratio, which does not change when logits are scaled. eps and bounds: as for fgsm. Deviation:
    the start is the example itself.
    """

    def run(points: PointSearch) -> None:
        few = points.arena.f.classes < FEWEST
        if loss == "dlr" and few:
            points.notes.append(Message.of("attack.note.dlr", fewest=FEWEST, classes=points.arena.f.classes))
        place = points.arena

        def falls(logits: Tensor, rows: Sequence[int]) -> Tensor:
            if loss == "ce":
                return place.log_odds(logits, rows)
            return place.margin(logits, rows) if few else dlr(place, logits, rows)

        _descend(points, falls, steps)

    return continuous_attack(case, threat, "apgd", run, eps=eps, norm=norm, bounds=bounds)


def dlr(place: Arena, logits: Tensor, rows: Sequence[int]) -> Tensor:
    """Return (rows,) the loss to minimize: the margin over a scale-invariant spread of the logits."""
    top = logits.sort(1, descending=True).values
    if place.target_class is None:
        return place.margin(logits, rows) / (top[:, 0] - top[:, 2] + 1e-12)
    y = place.y[list(rows)]
    difference = logits.gather(1, y[:, None])[:, 0] - logits[:, place.target_class]
    return difference / (top[:, 0] - (top[:, 2] + top[:, 3]) / 2 + 1e-12)


def checkpoints(steps: int) -> list[int]:
    """Return the steps at which progress is checked.

    >>> checkpoints(100)[:5]
    [22, 41, 57, 70, 80]
    """
    shares = [0.0, 0.22]
    while shares[-1] < 1:
        shares.append(shares[-1] + max(shares[-1] - shares[-2] - 0.03, 0.06))
    # rounded before they go up: .22 + .19 + .16 is a little more than .57
    return [math.ceil(round(share * steps, 6)) for share in shares[1:-1]]


def _descend(points: PointSearch, falls: object, steps: int) -> None:
    place = points.arena
    assert callable(falls)
    rows = points.open
    if not rows:
        return
    n = len(place.positions)
    length = torch.full((n,), 2 * place.eps).to(place.x)
    x = place.x.clone()
    before = x.clone()
    best, lowest = x.clone(), torch.full((n,), torch.inf).to(x)
    slopes = torch.zeros_like(x)
    best_slope = torch.zeros_like(x)
    better = torch.zeros(n).to(x)
    at_check = lowest.clone()
    halved = torch.zeros(n, dtype=torch.bool)
    last = torch.full((n,), torch.inf).to(x)
    checks, previous = set(checkpoints(steps)), 0
    for k in range(steps + 1):
        rows = points.open
        if not rows:
            return
        gradient, value = points.slope(rows, x[rows], falls)
        slopes[rows] = gradient
        better[rows] += (value < last[rows]).to(x)
        last[rows] = value
        improved = [r for r, v in zip(rows, value.tolist(), strict=True) if v < float(lowest[r])]
        for r in improved:
            lowest[r], best[r], best_slope[r] = last[r], x[r], slopes[r]
        if k == steps:
            return
        if k in checks:
            for r in rows:
                stuck = float(better[r]) < RHO * (k - previous)
                same = not bool(halved[r]) and float(lowest[r]) >= float(at_check[r])
                halved[r] = bool(stuck or same)
                if halved[r]:
                    length[r] = length[r] / 2
                    x[r] = before[r] = best[r]
                    slopes[r] = best_slope[r]
                at_check[r], better[r] = lowest[r], 0.0
            previous = k
        shape = (-1, *[1] * (x.dim() - 1))
        rows = points.open
        if not rows:
            return
        stride = place.step(slopes[rows], rows, 1.0) * length[rows].reshape(shape)
        plain = place.inside(x[rows] - stride, rows)
        share = 1.0 if k == 0 else MOMENTUM
        proposal = x[rows] + share * (plain - x[rows]) + (1 - share) * (x[rows] - before[rows])
        before[rows], x[rows] = x[rows], place.inside(proposal, rows)
