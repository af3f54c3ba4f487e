"""Projected gradient descent with restarts."""

from __future__ import annotations

from collections.abc import Sequence

from regard.attacks._continuous import PointSearch, continuous_attack
from regard.attacks._epsilon_ball import Norm
from regard.protocols import Case
from regard.records import Attacked, Threat
from regard.registry import attack

STRIDE = 2.5
"""Step length as a multiple of eps / steps (Madry et al. 2018)."""


@attack(
    access="white box",
    modality=("image", "audio", "series", "tabular", "embeddings"),
    cite="Madry et al. 2018",
    formula="x <- inside(x - 2.5 eps / steps sign(gradient of the log-odds)), the first start at x, others random",
    cost="restarts x (steps + 1) backwards",
    misleads="fails where gradients are masked; compare with square, which needs none",
)
def pgd(
    case: Case,
    threat: Threat,
    *,
    eps: float = 0.03,
    steps: int = 20,
    restarts: int = 1,
    norm: Norm = "linf",
    bounds: tuple[float, ...] | None = None,
) -> Sequence[Attacked]:
    """Take many small projected gradient steps from several starts: one record per example.

    A flipped example is finished and costs no further queries. eps and bounds: as for fgsm.
    """

    def run(points: PointSearch) -> None:
        place = points.arena
        for restart in range(restarts):
            rows = points.open
            if not rows:
                return
            x = place.x[rows] if not restart else place.started(rows, case, "pgd", restart)
            for _ in range(steps):
                slope, _ = points.slope(rows, x, place.log_odds)
                x = place.inside(x - place.step(slope, rows, STRIDE * eps / steps), rows)
                still = set(points.open)
                keep = [k for k, row in enumerate(rows) if row in still]
                if len(keep) < len(rows):
                    rows, x = [rows[k] for k in keep], x[keep]
                if not rows:
                    break
            if rows:
                points.look(rows, x)

    return continuous_attack(case, threat, "pgd", run, eps=eps, norm=norm, bounds=bounds)
