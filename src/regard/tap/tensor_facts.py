"""Facts about a tensor in one pass: scores, weights, weights times values, and its origin."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from regard.errors import Text, phrase
from regard.tap.layout import Layout, Step, covered


@dataclass(frozen=True, slots=True)
class Scores:
    """Origin of scores: (q, k), or a linear map whose output axes `features` have `shape`.

    factors: the two sides of a product with one learned side (a query that is a parameter).
    """

    q: Tensor | None = None
    k: Tensor | None = None
    shape: tuple[int, ...] = ()
    features: tuple[int, ...] = ()
    steps: tuple[Step, ...] | None = ()
    factors: tuple[Tensor, Tensor] | None = None

    @property
    def linear(self) -> bool:
        return self.q is None


@dataclass(slots=True, eq=False)
class Softmax:
    """Softmax of this pass, and its later use."""

    weights: Tensor
    axis: int
    scores: Scores | None
    of_data: bool
    query: Mark | None = None
    key: Mark | None = None
    layout: Layout | None = None
    values: Tensor | None = None
    used: Tensor | None = None
    steps: tuple[Step, ...] = ()
    changed: bool = False
    selected: bool = False
    summed_elsewhere: bool = False
    roots: frozenset[int] = frozenset()
    total: bool = False  # so far only numbers were summed with it (a mask that it is normalised by), no states

    @property
    def reason(self) -> Text:
        """Reason why it is not attention; "" if it is."""
        if self.layout is not None:
            return ""
        if self.weights.ndim and self.weights.shape[self.axis] == 1:
            return phrase("errors.tap.softmax_one_entry")
        if self.selected:
            return phrase("errors.tap.softmax_router")
        if not self.of_data:
            return phrase("errors.tap.softmax_learned_mixture")
        if self.over_features():
            return phrase("errors.tap.softmax_over_outputs")
        if self.summed_elsewhere:
            return phrase("errors.tap.softmax_summed_elsewhere")
        return phrase("errors.tap.softmax_not_weighting")

    def over_features(self) -> bool:
        if self.scores is None or not self.scores.linear:
            return False
        scores = self.scores
        size = self.weights.shape[self.axis]
        ranges = covered(scores.shape, scores.steps, self.axis) if scores.steps is not None else None
        if ranges is None:
            return any(scores.shape[i] == size > 1 for i in scores.features)
        return any(ranges[i][1] > ranges[i][0] for i in scores.features)


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of `softmax` (or their logarithms), rearranged by `steps`."""

    softmax: Softmax
    steps: tuple[Step, ...] = ()
    changed: bool = False
    log: bool = False


@dataclass(frozen=True, slots=True)
class Weighted:
    """Weights times values, not summed yet."""

    weights: Weights
    used: Tensor
    values: Tensor


@dataclass(frozen=True, slots=True)
class Mark:
    """Facts about one tensor in this pass.

    roots: the module inputs it was made from. data: made from the model's input. learned: made from parameters.
    """

    book: object
    roots: frozenset[int] = frozenset()
    data: bool = False
    learned: bool = False
    scores: Scores | None = None
    weights: Weights | None = None
    weighted: Weighted | None = None
