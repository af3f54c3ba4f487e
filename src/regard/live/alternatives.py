"""Alternative attention with the same answer: the one stored by an audit, or one found by a new search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from regard.errors import Unsupported, phrase
from regard.experiments._map import maps
from regard.live.edits import to_json
from regard.live.live_input import LiveInput
from regard.records import Floats, Json, Score, Spec
from regard.registry import build
from regard.store.run import Run

EXPERIMENT = "exclusive"


def alternative(asked: LiveInput, i: int, run: Run | None) -> dict[str, Json]:
    """Return the edits that produce it, its distance (Jensen-Shannon, nats) and its effect on the answer.

    The list of edits is empty if no alternative lies within the cap.
    """
    case = asked.case.subset([i])
    stored = None if run is None else _stored(run, asked.examples[i].id)
    score, at, source = (stored[0], stored[1], "audit") if stored else (_searched(case), 0, "search")
    layers, heads = score.where.get("layers", "last"), score.where.get("heads", "mean")
    (attention_map,) = maps(case, _name(layers), _name(heads), EXPERIMENT)
    other = np.asarray(score.curves["other"][at], np.float64)
    place = {int(unit): k for k, unit in enumerate(attention_map.free)}
    share = np.zeros(len(attention_map))
    for unit, part in ((other[0], other[1]), (other[2], other[3])):
        if unit >= 0 and part > 0:
            share[place[int(unit)]] = part
    if not share.sum():
        return {"edits": [], "divergence": 0.0, "change": 0.0, "source": source}
    at_cap = _at_cap(score)
    return {
        "edits": [to_json(edit) for edit in attention_map.given(share / share.sum())],
        "divergence": float(score.values[at]),
        "change": float(score.curves["change"][at][at_cap]),
        "source": source,
    }


def _searched(case: Any) -> Score:
    scores: Sequence[Score] = build(Spec("experiment", EXPERIMENT))(case)
    return next(s for s in scores if s.metric == "max_jsd")


def _stored(run: Run, name: str) -> tuple[Score, int] | None:
    """Return the alternative that the audit stored for this example."""
    for score in run.findings():
        curves: Mapping[str, Floats] = score.curves
        if score.metric == "max_jsd" and "other" in curves and name in score.ids:
            return score, score.ids.index(name)
    return None


def _at_cap(score: Score) -> int:
    """Return the cap of the stored attention: the one whose divergence equals the score."""
    from regard.experiments.exclusive import CAP

    if CAP not in score.grid:
        raise Unsupported(
            phrase("errors.live.alternative_this_run"),
            expected=phrase("errors.live.cap_cap", cap=CAP),
            got=str(list(score.grid)),
        )
    return score.grid.index(CAP)


def _name(value: Json) -> str | int:
    return value if isinstance(value, int) and not isinstance(value, bool) else str(value)
