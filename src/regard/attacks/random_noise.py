"""Random noise of the size of an attack, the baseline of continuous attacks."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from regard.attacks._continuous import Shots, shoot
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
    """Noise on the edge of the ball in which an attack moves; an attack must do better: one record per example."""

    def run(shots: Shots) -> None:
        place = shots.arena
        for draw in range(draws):
            rows = shots.open
            if not rows:
                return
            drawn = [
                case.rng(place.positions[r], "random_noise", draw).standard_normal(place.x.shape[1:]) for r in rows
            ]
            slope = torch.stack([torch.from_numpy(d).to(place.x) for d in drawn])
            shots.look(rows, place.inside(place.x[rows] + place.step(slope, rows, eps), rows))

    return shoot(case, threat, "random_noise", run, eps=eps, norm=norm, bounds=bounds)
