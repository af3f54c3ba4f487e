"""Results of a survey of heads, as records and as tidy rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.cards import Card, HasCard
from regard.measures.keyed_random import keyed_rng
from regard.measures.significance import resampled_means
from regard.records import Floats, Ints, Text, encoded
from regard.store.frames import HasFrames
from regard.surveys.heads.health import Health
from regard.surveys.heads.naming import Head, former_name
from regard.surveys.heads.redundancy import HeadGroup
from regard.surveys.heads.removal import CurvePoint
from regard.surveys.heads.roles import DRAWS, HeadScore, Role


@dataclass(frozen=True, slots=True)
class Measured:
    """A mean over examples with an interval over clusters."""

    estimate: float
    low: float
    high: float
    n: int


def measured(table: Floats, clusters: Ints, heads: Sequence[Head], seed: int) -> dict[str, Measured]:
    """(example, head) values -> head name -> mean and interval."""
    defined = ~np.isnan(table)
    mean = np.where(defined, table, 0.0).sum(0) / np.maximum(defined.sum(0), 1)
    low = high = np.full(table.shape[1], np.nan)
    if len(np.unique(clusters)) > 1 and defined.all(0).any():
        draws = resampled_means(table, clusters, keyed_rng(seed, "importance"), DRAWS)
        low, high = np.quantile(draws, [0.025, 0.975], axis=0)
    return {
        head.name: Measured(float(mean[i]), float(low[i]), float(high[i]), int(defined[:, i].sum()))
        for i, head in enumerate(heads)
        if defined[:, i].any()
    }


@dataclass(frozen=True, slots=True)
class HeadRow:
    """Head of the survey.

    spread: "broad", "focused" or "". slope: |d objective / d gate|; drop: the loss of the objective without the head.
    group: its number among the groups of near-identical heads.
    """

    name: str
    site: str
    kind: str
    layer: int
    number: int
    role: Role
    spread: str
    slope: Measured | None
    drop: Measured | None
    group: int | None


@dataclass(frozen=True, slots=True)
class RetrievalCheck:
    """Loss of the copied token, in log-odds, without the heads of the largest retrieval scores.

    heads: these heads, the best first; scores: their scores; baseline: the mean score of uniform attention.
    whole: log-odds of the copied token in the whole model. drop_top, drop_random: what they lose; excess: the
    difference. Means over generated sequences other than those that the scores come from, with 95 % intervals.
    """

    heads: tuple[str, ...]
    scores: tuple[float, ...]
    baseline: float
    of: int
    draws: int
    whole: Measured
    drop_top: Measured
    drop_random: Measured
    excess: Measured

    @property
    def confirmed(self) -> bool:
        """Return whether these heads matter more to copying than random ones, by the whole interval."""
        return bool(self.excess.low > 0)


@dataclass(frozen=True, slots=True, repr=False)
class HeadSurvey(HasFrames, HasCard):
    """Survey of every head of a model on a corpus. `scores` is tidy: one row per head and score."""

    model: str
    data: str
    n: int
    clusters: int
    seed: int
    heads: tuple[HeadRow, ...]
    scores: tuple[HeadScore, ...]
    groups: tuple[HeadGroup, ...]
    curve: tuple[CurvePoint, ...]
    health: Health
    notes: tuple[Text, ...]
    retrieval: RetrievalCheck | None = None

    def role(self, head: str) -> Role:
        """The role of a head by its name."""
        return next(row.role for row in self.heads if head in (row.name, former_name(row.name)))

    def score(self, head: str, score: str) -> HeadScore | None:
        """A score of a head; None where it is defined nowhere."""
        matching = (s for s in self.scores if s.score == score and head in (s.head, former_name(s.head)))
        return next(matching, None)

    def records(self) -> list[dict[str, Any]]:
        """Tidy rows: one per head and score, with the head's place and its role."""
        about = {row.name: row for row in self.heads}
        rows = []
        for score in self.scores:
            row = about[score.head]
            place = {"site": row.site, "kind": row.kind, "layer": row.layer, "number": row.number}
            role = {"role": row.role.name, "confidence": row.role.confidence, "other_roles": "; ".join(row.role.others)}
            rows.append({"model": self.model, "data": self.data, **place, **encoded(score), **role, "seed": self.seed})
        return rows

    def _card(self) -> Card:
        with_role = sorted((row for row in self.heads if row.role.name), key=lambda row: -row.role.confidence)
        rows: list[dict[str, Any]] = [
            {
                "head": row.name,
                "role": row.role.name,
                "confidence": row.role.confidence,
                "drop": None if row.drop is None else row.drop.estimate,
                "low": None if row.drop is None else row.drop.low,
                "high": None if row.drop is None else row.drop.high,
            }
            for row in with_role
        ]
        facts = {
            "data": self.data,
            "examples": self.n,
            "heads": len(self.heads),
            "roles": len(with_role),
            "seed": self.seed,
        }
        return Card("HeadSurvey", self.model, facts, rows, len(rows))

    def to_json(self) -> dict[str, Any]:
        return dict(encoded(self))
