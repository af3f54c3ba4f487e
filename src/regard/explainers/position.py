"""Position baseline: relevance by position alone."""

from __future__ import annotations

from typing import Literal

import numpy as np

from regard.protocols import Case
from regard.records import Relevance
from regard.registry import explainer


@explainer(
    role="baseline",
    cite="the lead baseline of summarisation (Nenkova 2005)",
    cost="none",
    passes_per="none",
    formula="r_j = 1 - (units between j and the favoured place) / n",
    misleads="not as a baseline; a high score means that the data favour a position",
)
def position(case: Case, *, favour: Literal["first", "last", "edges", "middle"] = "first") -> Relevance:
    """Position baseline: relevance falls linearly with the distance from the favoured position.

    Returns one value in 0..1 per unit, special units 0; the units at the favoured place get 1, those farthest from
    it 1 / n. "edges" favours both ends, "middle" the centre. Units are counted in the order the model reads them.

    >>> from regard.testing.toy import ToyCase
    >>> position(ToyCase(("a wonderful film indeed",)))[0].tolist()
    [0.0, 1.0, 0.75, 0.5, 0.25]
    """
    rows = []
    for units in case.units:
        values, n = np.zeros(len(units)), int(units.free.sum())
        falling = (n - np.arange(n)) / max(1, n)
        edges = np.maximum(falling, falling[::-1])
        kinds = {"first": falling, "last": falling[::-1], "edges": edges, "middle": 1 + 1 / max(1, n) - edges}
        values[units.free] = kinds[favour]
        rows.append(values)
    return Relevance.of("position", case.ids, rows)
