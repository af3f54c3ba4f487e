"""One row of attention by hand: query, keys, element-wise products, dots, scaled scores, softmax, weighted values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.cards import Card, HasCard
from regard.message import Text, encoded

Floats = NDArray[np.float64]

HIDDEN: Final = -1e9
"""Finite stand-in for minus infinity in files."""
AGREES: Final = 1e-5
"""Maximum difference between weights computed by hand and captured ones."""


@dataclass(frozen=True, slots=True)
class Steps:
    """Every number between one query and the output of its head; n keys, d features.

    query (d,), keys (n, d), products (n, d), dots (n,), scaled (n,) = dots x factor, added (n,) terms added to the
    scaled dot (mask, bias, soft cap; minus infinity for a hidden key), scores (n,), exponentials (n,) = exp(score -
    largest), total their sum with that of the `sink`, weights (n,), values (n, v), output (v,).
    """

    query: Floats
    keys: Floats
    products: Floats
    dots: Floats
    factor: float
    scaled: Floats
    added: Floats
    scores: Floats
    exponentials: Floats
    total: float
    weights: Floats
    values: Floats | None = None
    output: Floats | None = None
    sink: float | None = None


def walk(
    query: ArrayLike,
    keys: ArrayLike,
    *,
    factor: float,
    scores: ArrayLike | None = None,
    values: ArrayLike | None = None,
    sink: float | None = None,
) -> Steps:
    """Compute the steps of one row. `scores`: the input of the softmax, if more than the scaled dots.

    >>> steps = walk([1.0, 2.0], [[3.0, 4.0], [0.0, 1.0]], factor=0.5, values=[[1.0], [3.0]])
    >>> steps.dots, steps.scaled, steps.weights.round(3), steps.output.round(3)
    (array([11.,  2.]), array([5.5, 1. ]), array([0.989, 0.011]), array([1.022]))
    """
    q, k = np.asarray(query, np.float64), np.asarray(keys, np.float64)
    products = k * q
    dots = products.sum(-1)
    scaled = dots * factor
    final = scaled if scores is None else np.asarray(scores, np.float64)
    added = final - scaled
    largest = float(np.max(final[np.isfinite(final)], initial=-np.inf if sink is None else sink))
    exponentials = np.exp(final - (largest if np.isfinite(largest) else 0.0))
    total = float(exponentials.sum() + (0.0 if sink is None else np.exp(sink - largest)))
    weights = exponentials / total if total > 0 else np.zeros_like(final)
    v = None if values is None else np.asarray(values, np.float64)
    output = None if v is None else weights @ v
    vectors = {"query": q, "keys": k, "products": products, "dots": dots, "scaled": scaled, "added": added}
    softmax = {"scores": final, "exponentials": exponentials, "weights": weights}
    return Steps(**vectors, **softmax, factor=factor, total=total, values=v, output=output, sink=sink)


@dataclass(frozen=True, slots=True, repr=False)
class Walkthrough(HasCard):
    """Steps of one query of one head of a model, with names and a comparison with the capture.

    form: "dot" (queries and keys) or "additive" (the learned vector and the features it is multiplied with). captured
    (n,): the weights as they were captured. difference: the largest between them and `steps.weights`;
    output_difference: the same for the output, against the model's own output (None if it is not captured).
    """

    model: str
    site: str
    layer: int
    head: int
    heads: int
    query_at: int
    query_name: str
    key_names: tuple[str, ...]
    form: str
    steps: Steps
    captured: Floats
    difference: float
    output_difference: float | None = None
    notes: tuple[Text, ...] = ()

    def _card(self) -> Card:
        facts: dict[str, Any] = {
            "site": self.site,
            "head": self.head,
            "query": self.query_name,
            "difference": float(self.difference),
        }
        weights = self.steps.weights
        rows = [{"key": self.key_names[j], "weight": float(weights[j])} for j in self.strongest(8)]
        return Card("Walkthrough", self.model, facts, rows, len(weights))

    @property
    def agrees(self) -> bool:
        """Return whether the shown steps lead to the captured weights."""
        return self.difference <= AGREES

    def features(self, count: int, keys: ArrayLike) -> NDArray[np.int64]:
        """The features with the largest products over those keys, in their own order."""
        size = np.abs(self.steps.products[np.asarray(keys, np.int64)]).max(0, initial=0.0)
        return np.sort(np.argsort(-size, kind="stable")[:count])

    def strongest(self, count: int) -> NDArray[np.int64]:
        """The keys with the largest weights, in their own order."""
        return np.sort(np.argsort(-self.steps.weights, kind="stable")[:count])

    def cut(self, *, features: int = 8, keys: int = 12) -> dict[str, Any]:
        """Reduce to the strongest keys and features, as JSON, by number."""
        rows = self.strongest(keys)
        columns, s = self.features(features, rows), self.steps
        outputs, weighted = np.zeros(0, np.int64), np.zeros((len(rows), 0))
        if s.values is not None and s.output is not None:
            outputs = np.sort(np.argsort(-np.abs(s.output), kind="stable")[:features])
            weighted = (s.weights[:, None] * s.values)[np.ix_(rows, outputs)]
        hidden = np.where(np.isfinite(s.added), s.added, HIDDEN)
        return {
            "site": self.site,
            "head": self.head,
            "query": self.query_at,
            "form": self.form,
            "features": columns.tolist(),
            "all_features": len(s.query),
            "keys": rows.tolist(),
            "query_vector": s.query[columns].tolist(),
            "key_vectors": s.keys[np.ix_(rows, columns)].tolist(),
            "products": s.products[np.ix_(rows, columns)].tolist(),
            "dots": s.dots[rows].tolist(),
            "factor": float(s.factor),
            "scaled": s.scaled[rows].tolist(),
            "added": hidden[rows].tolist(),
            "exponentials": s.exponentials[rows].tolist(),
            "total": float(s.total),
            "weights": s.weights[rows].tolist(),
            "output_features": outputs.tolist(),
            "weighted_values": weighted.tolist(),
            "output": [] if s.output is None else s.output[outputs].tolist(),
            "difference": float(self.difference),
            "notes": encoded(self.notes),
        }
