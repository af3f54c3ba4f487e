"""Random noise of the size of an attack, the baseline of continuous attacks."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from regard.attacks._continuous import PointSearch, continuous_attack
from regard.attacks._epsilon_ball import Norm
from regard.protocols import Case
from regard.records import Attacked, Threat
from regard.registry import attack


@attack(
    access="none",
    modality=("image", "audio", "series", "tabular", "embeddings"),
    role="baseline",
    formula="x + eps times a random sign for every entry (linf); a random direction of that length (l2)",
    cost="`draws` forwards",
)
def random_noise(
    case: Case,
    threat: Threat,
    *,
    eps: float = 0.03,
    draws: int = 1,
    norm: Norm = "linf",
    bounds: tuple[float, ...] | None = None,
) -> Sequence[Attacked]:
    """Add noise on the surface of the epsilon ball, the baseline to beat: one record per example."""

    def run(points: PointSearch) -> None:
        place = points.arena
        for draw in range(draws):
            rows = points.open
            if not rows:
                return
            directions = [
                case.rng(place.positions[r], "random_noise", draw).standard_normal(place.x.shape[1:]) for r in rows
            ]
            slope = torch.stack([torch.from_numpy(d).to(place.x) for d in directions])
            points.look(rows, place.inside(place.x[rows] + place.step(slope, rows, eps), rows))

    return continuous_attack(case, threat, "random_noise", run, eps=eps, norm=norm, bounds=bounds)
