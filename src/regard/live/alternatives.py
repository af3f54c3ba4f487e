"""Another attention with the same answer: the one that an audit found and kept, or one found now for this text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from regard.errors import Unsupported
from regard.experiments._map import maps
from regard.live.edits import to_json
from regard.live.live_input import Asked
from regard.records import Floats, Json, Score, Spec
from regard.registry import build
from regard.store.run import Run

EXPERIMENT = "exclusive"


def alternative(asked: Asked, i: int, run: Run | None) -> dict[str, Json]:
    """The edits that lead to it, how far it lies away (Jensen-Shannon, nats) and what it does to the answer.

    Without edits where there is none within the cap: that is the finding.
    """
    case = asked.case.subset([i])
    stored = None if run is None else _stored(run, asked.examples[i].id)
    score, at, source = (stored[0], stored[1], "audit") if stored else (_searched(case), 0, "search")
    layers, heads = score.where.get("layers", "last"), score.where.get("heads", "mean")
    (found,) = maps(case, _name(layers), _name(heads), EXPERIMENT)
    other = np.asarray(score.curves["other"][at], np.float64)
    place = {int(unit): k for k, unit in enumerate(found.free)}
    share = np.zeros(len(found))
    for unit, part in ((other[0], other[1]), (other[2], other[3])):
        if unit >= 0 and part > 0:
            share[place[int(unit)]] = part
    if not share.sum():
        return {"edits": [], "divergence": 0.0, "change": 0.0, "source": source}
    at_cap = _at_cap(score)
    return {
        "edits": [to_json(edit) for edit in found.given(share / share.sum())],
        "divergence": float(score.values[at]), "change": float(score.curves["change"][at][at_cap]), "source": source,
    }  # fmt: skip


def _searched(case: Any) -> Score:
    found: Sequence[Score] = build(Spec("experiment", EXPERIMENT))(case)
    return next(s for s in found if s.metric == "max_jsd")


def _stored(run: Run, name: str) -> tuple[Score, int] | None:
    """What the audit kept for this example."""
    for score in run.findings():
        kept: Mapping[str, Floats] = score.curves
        if score.metric == "max_jsd" and "other" in kept and name in score.ids:
            return score, score.ids.index(name)
    return None


def _at_cap(score: Score) -> int:
    """Which of the caps the kept attention belongs to: the one whose divergence is the value of the score."""
    from regard.experiments.exclusive import CAP

    if CAP not in score.grid:
        raise Unsupported("the alternative of this run", expected=f"the cap {CAP}", got=str(list(score.grid)))
    return score.grid.index(CAP)


def _name(value: Json) -> str | int:
    return value if isinstance(value, int) and not isinstance(value, bool) else str(value)
