"""Batches of attention weights for one example, and the predictions under them.

With two classes and an output linear in the weights (a weighted mean of states under a linear layer), one gradient
gives all predictions without further passes. With more classes, the predictions under attention on one unit do
(`logits`). A test on some examples of the case verifies linearity; otherwise each prediction recomputes the layers
above the attention.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.desk.questions import with_weights
from regard.desk.site_questions import weight_gradients
from regard.errors import Unsupported, phrase
from regard.experiments._map import Heads, Layers, Map, Rows, maps
from regard.measures.divergence import tvd
from regard.protocols import Case
from regard.records import Answers, Bools, Edit, Floats, Ints

LINEAR = 1e-3
"""Maximum deviation of an answer from the gradient's forecast that counts as linear (relative to 1 + its size)."""
SMALLEST = 1e-30
"""Minimum probability whose logarithm is not dominated by rounding."""
TRIED = 2
"""Examples of a case for the linearity test."""


def moved(m: Map, orders: Ints) -> list[Floats]:
    """Return per site (order, head, row, unit): unit j gets the weights of unit order[j], among units a row sees."""
    return [_moved(rows, orders) for rows in m.sites]


def _moved(rows: Rows, orders: Ints) -> Floats:
    if rows.open.all():
        return np.moveaxis(rows.weights[:, :, orders], 2, 0)
    weights = np.repeat(rows.weights[None], len(orders), 0)
    for row, visible in enumerate(rows.open):
        sources = np.stack([order[visible[order]] for order in orders]) if len(orders) else orders[:, :0]
        weights[:, :, row, np.flatnonzero(visible)] = np.moveaxis(rows.weights[:, row][:, sources], 1, 0)
    return weights


def given(m: Map, shares: Floats) -> list[Floats]:
    """Return per site (share, head, row, unit): each row and head distributes its mass like `shares` (share, unit)."""
    return [_shared(rows, np.where(rows.open, shares[:, None, None, :], 0.0)) for rows in m.sites]


def without(m: Map, away: Bools) -> list[Floats]:
    """Return per site (set, head, row, unit): no weight on the units of a set (set, unit), the rest rescaled."""
    return [_shared(rows, np.where(away[:, None, None, :], 0.0, rows.weights)) for rows in m.sites]


def _shared(rows: Rows, part: Floats) -> Floats:
    """Distribute the mass of each row and head in proportion to `part`; 0 if `part` is all zero."""
    total, mass = part.sum(-1, keepdims=True), rows.weights.sum(-1, keepdims=True)
    shared = mass * part / np.where(total > 0, total, 1.0)
    return np.asarray(np.broadcast_to(shared, (len(part), *rows.weights.shape)))


def edits(m: Map, weights: Sequence[Floats]) -> list[Edit]:
    """Build the edits that patch these weights in."""
    return [rows.edit(values) for rows, values in zip(m.sites, weights, strict=True)]


@dataclass(frozen=True, slots=True, eq=False)
class Linear:
    """Log-odds of the predicted class as a linear function of the weights: start + sum of slope x weight."""

    start: float
    slopes: tuple[Floats, ...]
    target: int

    def values(self, weights: Sequence[Floats]) -> Floats:
        """Return (variants,) log-odds."""
        parts = (np.einsum("vhru,hru->v", w, s) for w, s in zip(weights, self.slopes, strict=True))
        return np.asarray(self.start + sum(parts))

    def distribution(self, weights: Sequence[Floats]) -> Floats:
        """Return (variants, 2) probabilities."""
        p = 1 / (1 + np.exp(-np.clip(self.values(weights), -700, 700)))
        return np.stack([1 - p, p] if self.target == 1 else [p, 1 - p], -1)


def read(case: Case, layers: Layers, heads: Heads, name: str) -> tuple[list[Map], list[Linear] | None]:
    """Return each example's attention, and the predictions as linear functions of it; None if they are not linear."""
    count = len(case.ids)
    longest = sorted(range(count), key=lambda i: -int(case.units[i].free.sum()))[:TRIED]
    sample = case.subset(longest)
    distribution = sample.base().distribution if longest else None
    two = distribution is not None and distribution.shape[1] == 2 and all(t in (0, 1) for t in sample.targets)
    if not two or not _is_linear(sample, layers, heads, name):
        return maps(case, layers, heads, name), None
    for i in range(count):  # before the answers and the maps, which are then known: one pass tells all three
        weight_gradients(case, i, "frozen")
    base, targets, map_list = case.base(), case.targets, maps(case, layers, heads, name)
    return map_list, [_linear(case, i, m, base.value[i], targets[i]) for i, m in enumerate(map_list)]


def _is_linear(case: Case, layers: Layers, heads: Heads, name: str) -> bool:
    """Test whether the gradient predicts the outputs under uniform weights and under attention on one unit."""
    base, targets, map_list = case.base(), case.targets, maps(case, layers, heads, name)
    try:
        lines = [_linear(case, i, m, base.value[i], targets[i]) for i, m in enumerate(map_list)]
    except Unsupported:
        return False
    corner_weights = [given(m, _corners(len(m))) for m in map_list]
    swept = with_weights(case, [edits(m, weights) for m, weights in zip(map_list, corner_weights, strict=True)])
    if swept.distribution is None:
        return False
    for i, (line, weights) in enumerate(zip(lines, corner_weights, strict=True)):
        rows = swept.rows(i)
        off = np.abs(line.values(weights) - swept.value[rows]) > LINEAR * (1 + np.abs(swept.value[rows]))
        if off.any() or not np.allclose(swept.distribution[rows], line.distribution(weights), atol=LINEAR):
            return False
    return True


def logits(case: Case, found: Sequence[Map]) -> list[Floats] | None:
    """Return per example (units, classes) log-probabilities under attention on one unit, if these determine all.

    They do if the logits are linear in the weights, tested on the longest examples with the attention itself, with
    equal weights and with halves. None otherwise, and if a probability is too small to have a logarithm.
    """
    longest = sorted(range(len(found)), key=lambda i: -len(found[i]))[:TRIED]
    if not longest or _logits(case.subset(longest), [found[i] for i in longest], check=True) is None:
        return None
    return _logits(case, found, check=False)


def _logits(case: Case, found: Sequence[Map], *, check: bool) -> list[Floats] | None:
    base = case.base().distribution
    if base is None:
        return None
    mixtures = [np.stack([m.alpha, np.full(len(m), 1 / len(m)), _halves(len(m))]) for m in found]
    share_lists = [
        np.concatenate([np.eye(len(m)), *([mixed] if check else [])]) for m, mixed in zip(found, mixtures, strict=True)
    ]
    singles = []
    for probabilities, m, mixed in zip(
        answers(case, found, [given(m, s) for m, s in zip(found, share_lists, strict=True)], None),
        found,
        mixtures,
        strict=True,
    ):
        if probabilities.min() < SMALLEST:
            return None
        single = np.log(probabilities[: len(m)])
        if check and not np.allclose(softmax(mixed @ single), probabilities[len(m) :], atol=LINEAR):
            return None
        singles.append(single)
    return singles


def _halves(n: int) -> Floats:
    return np.asarray(0.5 * (np.eye(n)[0] + np.eye(n)[-1]))


def softmax(rows: Floats) -> Floats:
    """Softmax over classes: (..., classes)."""
    raised = np.exp(rows - rows.max(-1, keepdims=True))
    return np.asarray(raised / raised.sum(-1, keepdims=True))


def _corners(n: int) -> Floats:
    """Return uniform weights, and all weight on the first and on the last unit."""
    return np.stack([np.full(n, 1 / n), np.eye(n)[0], np.eye(n)[-1]])


def _linear(case: Case, i: int, m: Map, value: float, target: object) -> Linear:
    gradients = {slope.site.key: slope.gradient for slope in weight_gradients(case, i, "frozen")}
    slopes = []
    for rows in m.sites:
        if rows.read.site not in gradients:
            raise Unsupported(
                phrase("errors.experiments.linear_answer"),
                expected=phrase("errors.experiments.gradient_site", site=rows.read.site),
                got=phrase("errors.common.none"),
            )
        gradient = np.asarray(gradients[rows.read.site], np.float64)
        head_gradient = gradient if rows.read.heads is None else gradient[list(rows.read.heads)]
        slopes.append(rows.by_unit(head_gradient[:, list(rows.read.queries)]))
    attained = sum(float((rows.weights * slope).sum()) for rows, slope in zip(m.sites, slopes, strict=True))
    assert isinstance(target, int)
    return Linear(value - attained, tuple(slopes), target)


def answers(
    case: Case, found: Sequence[Map], weights: Sequence[Sequence[Floats]], lines: Sequence[Linear] | None
) -> list[Floats]:
    """Return per example (variants, classes) predictions under these weights; `lines` replace passes if given."""
    if lines is not None:
        return [line.distribution(some) for line, some in zip(lines, weights, strict=True)]
    swept = with_weights(case, [edits(m, some) for m, some in zip(found, weights, strict=True)])
    distribution = _classes(swept)
    return [distribution[swept.rows(i)] for i in range(len(found))]


def changes(said: Sequence[Floats], base: Floats) -> list[Floats]:
    """Return per example (variants,) total variation from the unperturbed prediction (examples, classes)."""
    counts = [len(rows) for rows in said]
    if not sum(counts):
        return [np.zeros(0) for _ in said]
    apart = tvd(np.concatenate(said), np.repeat(base, counts, axis=0))
    return np.split(apart, np.cumsum(counts)[:-1])


def decided(case: Case) -> tuple[Floats, Ints]:
    """Return (examples, classes) unperturbed predictions, and (examples,) predicted classes."""
    distribution = _classes(case.base())
    return distribution, np.asarray(distribution.argmax(-1))


def _classes(answers: Answers) -> Floats:
    if answers.distribution is None:
        raise Unsupported(
            phrase("errors.experiments.other_attention"),
            expected=phrase("errors.common.classifier"),
            got=phrase("errors.common.another_task"),
        )
    return answers.distribution
