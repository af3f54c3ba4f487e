"""Check that the model works on these data: its accuracy beside always predicting the most frequent class."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

import numpy as np

from regard.audits.conclusions.run_facts import RunFacts
from regard.measures.bounded_mean import cluster_interval
from regard.measures.intervals import ClusterSums
from regard.measures.mean_interval import mean_interval

QUANTILES = (0.1, 0.5, 0.9)
MOST_CLASSES = 50
"""Maximum number of distinct predictions that are listed by class."""


@dataclass(frozen=True, slots=True)
class ModelWorks:
    """Facts about the predictions of an audit, most of which it does not explain.

    n: predictions. predicted: count of each predicted class; labels: count of each label. accuracy, low, high: share of
    right predictions among the `labelled` ones; majority: share of the most frequent label among them. gain: the
    difference, with its interval. works: whether the model beats the majority label; "" without labels of two classes.
    confidence and lengths: their 10 %, 50 % and 90 % quantiles.
    """

    n: int
    predicted: dict[str, int]
    labels: dict[str, int]
    labelled: int
    accuracy: float
    low: float
    high: float
    majority: float
    gain: float
    gain_low: float
    gain_high: float
    works: Literal["yes", "no", "unclear", ""]
    confidence: tuple[float, ...]
    lengths: tuple[float, ...]


def model_works(facts: RunFacts) -> ModelWorks | None:
    """Summarize the predictions; None without any."""
    rows = facts.predictions
    if not rows:
        return None
    right = facts.right_predictions
    labels = Counter(facts.label(row["label"]) for row in rows if str(row["id"]) in right)
    predicted = Counter(facts.label(row["predicted"]) for row in rows)
    clusters = [str(row["cluster"]) for row in rows if str(row["id"]) in right]
    top = max(labels, key=lambda name: (labels[name], name), default="")
    hits = np.array([right[str(row["id"])] for row in rows if str(row["id"]) in right], np.float64)
    base = np.array([facts.label(row["label"]) == top for row in rows if str(row["id"]) in right], np.float64)
    share = mean_interval(hits, clusters)
    gain = cluster_interval(ClusterSums.of(hits - base, clusters), scale="signed")
    works: Literal["yes", "no", "unclear", ""] = ""
    if len(labels) > 1:
        works = "yes" if gain.low > 0 else "no" if gain.estimate <= 0 else "unclear"
    confidence = [float(row["probability"]) for row in rows if row.get("probability") is not None]
    lengths = [float(row.get("length") or len(row["units"]["names"])) for row in rows]
    return ModelWorks(
        n=len(rows),
        predicted=dict(sorted(predicted.items())) if len(predicted) <= MOST_CLASSES else {},
        labels=dict(sorted(labels.items())) if len(labels) <= MOST_CLASSES else {},
        labelled=len(hits),
        accuracy=share.estimate,
        low=share.low,
        high=share.high,
        majority=labels[top] / len(hits) if len(hits) else float("nan"),
        gain=gain.estimate,
        gain_low=gain.low,
        gain_high=gain.high,
        works=works,
        confidence=_quantiles(confidence),
        lengths=_quantiles(lengths),
    )


def _quantiles(values: list[float]) -> tuple[float, ...]:
    return tuple(float(q) for q in np.quantile(values, QUANTILES)) if values else ()
