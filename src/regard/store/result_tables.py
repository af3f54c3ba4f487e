"""Lists of results that are also tables: summaries and scores with `to_pandas`, `to_polars` and a short repr."""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np

from regard.cards import Card, HasCard
from regard.records import Json, Score, Summary
from regard.store.frames import HasFrames

MOST = 10
"""Maximum rows of a card."""


class Summaries(HasFrames, HasCard, list[Summary]):
    """Summary numbers in the order of the run; a list, and a table with one row for each."""

    __repr__ = HasCard.__repr__

    def records(self) -> list[dict[str, Json]]:
        """Build one dict per summary, with its setting as columns."""
        numbers = ("estimate", "low", "high", "level", "n", "clusters", "undefined", "seed", "better", "role")
        return [
            {"metric": s.metric, "method": s.method, **_cells(s.where), **{name: getattr(s, name) for name in numbers}}
            for s in self
        ]

    def _card(self) -> Card:
        columns = ("metric", "method", "operator", "estimate", "low", "high", "n", "seed")
        rows = [{name: row.get(name) for name in columns} for row in Summaries(self[:MOST]).records()]
        return Card("Summaries", facts={"rows": len(self)}, rows=rows, total=len(self))


class Scores(HasFrames, HasCard, list[Score]):
    """Scores of metrics, or findings of experiments; a list, and a table with one row per value."""

    __repr__ = HasCard.__repr__

    def records(self) -> list[dict[str, Json]]:
        """Build one dict per score and example, with its setting as columns; an undefined value is None."""
        return [
            {
                "metric": score.metric,
                "method": score.method,
                **_cells(score.where),
                "example": name,
                "value": None if np.isnan(value) else float(value),
            }
            for score in self
            for name, value in zip(score.ids, score.values, strict=True)
        ]

    def _card(self) -> Card:
        rows: list[dict[str, Json]] = [
            {
                "metric": score.metric,
                "method": score.method,
                "experiment": score.where.get("experiment"),
                "defined": int(np.isfinite(score.values).sum()),
                "n": len(score.ids),
            }
            for score in self[:MOST]
        ]
        return Card("Scores", facts={"rows": len(self)}, rows=rows, total=len(self))


def _cells(where: Mapping[str, Json]) -> dict[str, Json]:
    """Convert a setting to cells of a table: lists and objects as JSON text, so that every column has one type."""
    return {
        name: value if value is None or isinstance(value, str | int | float) else json.dumps(value, ensure_ascii=False)
        for name, value in where.items()
    }
