"""Accuracy on the data: explanations of a model that guesses are about its guesses."""

from __future__ import annotations

from dataclasses import dataclass

from regard.audits.conclusions.run_facts import RunFacts
from regard.measures.mean_interval import mean_interval


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Accuracy of the model. low, high: Wilson interval; examples that share a cluster count as one draw."""

    right: int
    n: int
    low: float
    high: float


def accuracy(facts: RunFacts) -> Accuracy | None:
    """Compute the accuracy; None without labels that are classes of the model."""
    answers = facts.right_predictions
    if not answers:
        return None
    cluster_of = {str(row["id"]): str(row["cluster"]) for row in facts.predictions}
    interval = mean_interval([*map(float, answers.values())], [cluster_of[name] for name in answers])
    return Accuracy(sum(answers.values()), len(answers), interval.low, interval.high)
