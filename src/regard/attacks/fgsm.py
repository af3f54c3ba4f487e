"""The fast gradient sign method."""

from __future__ import annotations

from collections.abc import Sequence

from regard.attacks._continuous import PointSearch, continuous_attack
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
    misleads="a model may resist one step and not two: never use it as the only attack",
)
def fgsm(
    case: Case, threat: Threat, *, eps: float = 0.03, norm: Norm = "linf", bounds: tuple[float, ...] | None = None
) -> Sequence[Attacked]:
    """Take one full-length gradient step: one record per example.

    eps: share of the range of the inputs (see bounds); for the embeddings of a text, of their root mean square. bounds:
    lower and upper limit of the inputs; default: from the data.
    """

    def run(points: PointSearch) -> None:
        rows = points.open
        slope, _ = points.slope(rows, points.arena.x, points.arena.log_odds)
        rows = points.open
        x = points.arena.x - points.arena.step(slope, range(len(slope)), eps)
        points.look(rows, points.arena.inside(x, range(len(slope)))[rows])

    return continuous_attack(case, threat, "fgsm", run, eps=eps, norm=norm, bounds=bounds)
