"""The fast gradient sign method."""

from __future__ import annotations

from collections.abc import Sequence

from regard.attacks._continuous import Shots, shoot
from regard.attacks._epsilon_ball import Norm
from regard.protocols import Case
from regard.records import Attacked, Threat
from regard.registry import attack


@attack(
    access="white box",
    modality=("image", "audio", "series", "tabular", "embeddings"),
    cite="Goodfellow et al. 2015",
    formula="x - eps sign(gradient of the log-odds of the predicted class)",
    cost="one backward and one forward",
    misleads="a model can be safe from one step and not from two: never the only attack",
)
def fgsm(
    case: Case, threat: Threat, *, eps: float = 0.03, norm: Norm = "linf", bounds: tuple[float, ...] | None = None
) -> Sequence[Attacked]:
    """One step of full length against the gradient: one record per example.

    eps: share of the range of the inputs (see bounds), of a text's embeddings of their root mean square. bounds: two
    numbers that the inputs keep between; default: from the data.
    """

    def run(shots: Shots) -> None:
        rows = shots.open
        slope, _ = shots.slope(rows, shots.arena.x, shots.arena.log_odds)
        rows = shots.open
        x = shots.arena.x - shots.arena.step(slope, range(len(slope)), eps)
        shots.look(rows, shots.arena.inside(x, range(len(slope)))[rows])

    return shoot(case, threat, "fgsm", run, eps=eps, norm=norm, bounds=bounds)
