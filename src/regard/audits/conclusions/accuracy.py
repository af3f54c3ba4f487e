"""Accuracy on the data: explanations of a model that guesses are about its guesses."""

from __future__ import annotations

import math
from dataclasses import dataclass

from regard.audits.conclusions.run_facts import RunFacts
from regard.measures.intervals import wilson


@dataclass(frozen=True, slots=True)
class Accuracy:
    """low, high: Wilson's interval; NaN where examples share a cluster, for then they are not independent."""

    right: int
    n: int
    low: float
    high: float


def accuracy(facts: RunFacts) -> Accuracy | None:
    """Return None without labels that are classes of the model."""
    answers = facts.right_predictions
    if not answers:
        return None
    right, n = sum(answers.values()), len(answers)
    clusters = {str(row["cluster"]) for row in facts.predictions if str(row["id"]) in answers}
    low, high = wilson(right, n) if len(clusters) == n else (math.nan, math.nan)
    return Accuracy(right, n, float(low), float(high))
