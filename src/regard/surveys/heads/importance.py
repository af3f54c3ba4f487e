"""Importance of a head: the slope of the objective along a gate on it, and the effect of switching it off."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from regard.desk.finite_answers import known_weight_slopes
from regard.models.ask.weight_slopes import weight_slopes
from regard.protocols import Encoded, Model, Target
from regard.records import Answers, Edit, Floats
from regard.surveys.heads.naming import Head

BATCH = 16


@dataclass(frozen=True, slots=True)
class Switched:
    """Heads switched off one at a time.

    (example, head) change of the objective, and whether the prediction stayed (None if a task has no small set of
    classes).
    """

    drop: Floats
    kept: Floats | None


def gradient_importance(
    model: Model,
    encoded: Sequence[Encoded],
    targets: Sequence[Target],
    heads: Sequence[Head],
    *,
    progress: Callable[[int], None] | None = None,
) -> Floats:
    """(example, head) |d objective / d gate of the head| (Michel et al. 2019), one backward pass per example.

    A gate scales all weights of a head, so its slope is the sum of weight x gradient, later layers included.
    """
    out = np.full((len(encoded), len(heads)), np.nan)
    for i, (item, target) in enumerate(zip(encoded, targets, strict=True)):
        (slopes_of,) = weight_slopes(model, [item], [target], "in_graph")
        by_site = {s.site.key: s for s in known_weight_slopes(slopes_of, model.name)}
        for h, head in enumerate(heads):
            slopes = by_site.get(head.site.key)
            if slopes is not None:
                weights, gradient = (a[head.number].astype(np.float64) for a in (slopes.weights, slopes.gradient))
                out[i, h] = abs(float((weights * gradient).sum()))
        if progress is not None:
            progress(i + 1)
    return out


def within_layer(importance: Floats, heads: Sequence[Head]) -> Floats:
    """(head,) divided by its Euclidean length over the heads of the site, as Michel et al. rank them."""
    lengths: dict[str, float] = {}
    for x, head in zip(importance, heads, strict=True):
        lengths[head.site.key] = float(np.hypot(lengths.get(head.site.key, 0.0), np.nan_to_num(x)))
    whole = np.array([lengths[head.site.key] for head in heads])
    return np.where(whole > 0, importance / np.where(whole > 0, whole, 1.0), 0.0)


def ranking(importance: Floats, heads: Sequence[Head]) -> Floats:
    """(head,): mean over the examples, within its layer; infinite if unknown, so that such a head goes last."""
    defined = np.isfinite(importance)
    mean = np.where(defined, importance, 0.0).sum(0) / np.maximum(defined.sum(0), 1)
    return np.where(defined.any(0), within_layer(mean, heads), np.inf)


def switched_off(
    model: Model,
    encoded: Sequence[Encoded],
    targets: Sequence[Target],
    heads: Sequence[Head],
    *,
    progress: Callable[[int], None] | None = None,
) -> Switched:
    """Switch off every head alone on every example: one forward each, from the head's own layer upwards."""
    drop, agreement = np.zeros((len(encoded), len(heads))), np.zeros((len(encoded), len(heads)))
    has_classes = True
    for batch in batches(encoded):
        items, about = [encoded[i] for i in batch], [targets[i] for i in batch]
        base = model.forward(items, about)
        for h, head in enumerate(heads):
            answers = model.forward(items, about, [Edit("mask_heads", head.site.key, (head.number,))])
            drop[batch, h] = base.value - answers.value
            same = same_decision(base, answers)
            has_classes = has_classes and same is not None
            agreement[batch, h] = 0.0 if same is None else same
        if progress is not None:
            progress(batch[-1] + 1)
    return Switched(drop, agreement if has_classes else None)


def same_decision(base: Answers, said: Answers) -> Floats | None:
    """(row,): 1 if the most probable class is the same, NaN for a NaN answer; None without classes."""
    if base.distribution is None or said.distribution is None:
        return None
    same: Floats = (base.distribution.argmax(-1) == said.distribution.argmax(-1)).astype(np.float64)
    defined = np.isfinite(base.distribution).all(-1) & np.isfinite(said.distribution).all(-1)
    return np.where(defined, same, np.nan)


def batches(encoded: Sequence[Encoded]) -> Iterator[list[int]]:
    """Indices of examples that share a batch: `BATCH` at a time, in order."""
    for start in range(0, len(encoded), BATCH):
        yield list(range(start, min(start + BATCH, len(encoded))))
