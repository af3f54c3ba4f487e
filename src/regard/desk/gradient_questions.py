"""Questions that need a backward pass: slopes, gradients, propagated relevance, differentiable functions."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from regard.desk.costs import Metered
from regard.desk.finite_answers import known_arrays, known_logits, known_relevance, known_slopes, known_tensor
from regard.desk.question_base import Bundle, DeskQuestion, R, targets_of
from regard.errors import InputError, phrase
from regard.models.ask import batch_function as batch_functions
from regard.models.ask import gradients, weight_batches
from regard.models.ask import input_function as input_functions
from regard.models.ask.propagated_relevance import propagated_relevance
from regard.models.propagation.rules import Rule
from regard.protocols import BatchFunction as AnyBatchFunction
from regard.protocols import Case, Point, PropagatedRelevance, Slopes
from regard.protocols import InputFunction as AnyInputFunction
from regard.protocols import WeightFunction as AnyWeightFunction
from regard.records import Edit, Example, Floats

if TYPE_CHECKING:
    from regard.desk.desk import Desk


@dataclass(frozen=True, slots=True)
class Slope:
    """Gradient of one example at one point."""

    dot: Floats
    norm: Floats
    value: float
    ends: tuple[float, float]


@dataclass(frozen=True)
class SlopeAt(DeskQuestion[Slope]):
    """Gradient of the objective at one point."""

    point: Point
    backward: ClassVar[bool] = True

    def bundle(self, place: int) -> Hashable:
        return self.example

    @classmethod
    def group(cls, bundle: Sequence[Self]) -> Hashable:
        return tuple(question.point for question in bundle)

    @classmethod
    def answers(cls, desk: Desk, batch: Sequence[Bundle]) -> list[list[Slope]]:
        points = [question.point for question in batch[0][0]]
        rows = gradients.slopes(desk.model, [encoded for _, encoded in batch], targets_of(desk, batch), points)
        answers = []
        for slopes in known_slopes(rows, desk.model.name):
            high, low = slopes.end_values
            lows = [low] * len(points) if slopes.lows is None else slopes.lows.tolist()
            each = zip(slopes.dot, slopes.norm, slopes.value, lows, strict=True)
            answers.append([Slope(dot, norm, float(value), (high, end)) for dot, norm, value, end in each])
        return answers


def slopes_at(case: Case, points: Sequence[Point]) -> list[Slopes]:
    """Gradients of the objective at these points, which share a baseline; one record per example."""
    baselines = {point.baseline for point in points}
    if len(baselines) > 1:
        raise InputError("points", expected=phrase("errors.desk.one_baseline_for_all"), got=str(sorted(baselines)))
    answers = iter(case.ask([SlopeAt(name, point) for name in case.ids for point in points]))
    return [_joined([next(answers) for _ in points]) for _ in case.ids]


def _joined(slopes: Sequence[Slope]) -> Slopes:
    # a point at the input itself was perhaps asked alone, and then nobody looked at the baseline
    ends = [s.ends for s in slopes if not np.isnan(s.ends).any()]
    lows = np.array([low for _, low in ends])
    return Slopes(
        np.stack([s.dot for s in slopes]),
        np.stack([s.norm for s in slopes]),
        np.array([s.value for s in slopes]),
        (ends[0][0], float(lows.mean())) if ends else slopes[0].ends,
        lows if len(lows) == len(slopes) else None,
    )


@dataclass(frozen=True)
class InputGradient(DeskQuestion[NDArray[np.float32]]):
    """Gradient of the objective at every entry of the continuous inputs."""

    cached: ClassVar[bool] = False
    backward: ClassVar[bool] = True

    @classmethod
    def answers(cls, desk: Desk, batch: Sequence[Bundle]) -> list[list[NDArray[np.float32]]]:
        rows = gradients.input_gradients(desk.model, [encoded for _, encoded in batch], targets_of(desk, batch))
        return [[gradient] for gradient in known_arrays(rows, desk.model.name)]


def input_gradients(case: Case) -> list[NDArray[np.float32]]:
    """Full gradient for each example: (positions, features) for text, else in the shape of the array."""
    return case.ask([InputGradient(name) for name in case.ids])


@dataclass(frozen=True)
class RelevanceBy(DeskQuestion[PropagatedRelevance]):
    """Relevance propagated backwards by named rules."""

    rule: Rule
    baseline: str
    backward: ClassVar[bool] = True

    @classmethod
    def group(cls, bundle: Sequence[Self]) -> Hashable:
        return bundle[0].rule, bundle[0].baseline

    @classmethod
    def answers(cls, desk: Desk, batch: Sequence[Bundle]) -> list[list[PropagatedRelevance]]:
        encoded, first = [one for _, one in batch], batch[0][0][0]
        rows = propagated_relevance(desk.model, encoded, targets_of(desk, batch), first.rule, first.baseline)
        return [[row] for row in known_relevance(rows, desk.model.name)]


def relevance_by_rules(case: Case, rule: Rule, baseline: str) -> list[PropagatedRelevance]:
    """Relevance propagated backwards by rules; one record per example, for one forward and one backward pass."""
    return case.ask([RelevanceBy(name, rule, baseline) for name in case.ids])


@dataclass(frozen=True, eq=False)
class _Function(DeskQuestion[R]):
    """Function that charges for every row it computes."""

    cached: ClassVar[bool] = False

    @classmethod
    def requests(cls, questions: Sequence[Self]) -> int:
        return 0

    def function(self, desk: Desk) -> Any:
        raise NotImplementedError

    @classmethod
    def compute(cls, desk: Desk, questions: Sequence[Self]) -> list[R]:
        check = known_logits if cls is BatchFunction else known_tensor
        checked = partial(check, name=desk.model.name)
        return [cast("R", Metered(question.function(desk), desk.meter, checked)) for question in questions]


@dataclass(frozen=True, eq=False)
class InputFunction(_Function[AnyInputFunction]):
    """Objective as a function of the continuous inputs."""

    def function(self, desk: Desk) -> AnyInputFunction:
        return input_functions.input_function(desk.model, desk.encoded(self.example), desk.target(self.example))


@dataclass(frozen=True, eq=False)
class WeightFunction(_Function[AnyWeightFunction]):
    """Answer as a function of attention weights; places: `replace` edits whose values are ignored."""

    places: Sequence[Edit]

    def function(self, desk: Desk) -> AnyWeightFunction:
        return weight_batches.weight_function(
            desk.model, desk.encoded(self.example), desk.target(self.example), self.places
        )


@dataclass(frozen=True, eq=False)
class BatchFunction(_Function[AnyBatchFunction]):
    """Examples of one shape as one function of their inputs; `example` is the first of them."""

    examples: Sequence[Example]

    def function(self, desk: Desk) -> AnyBatchFunction:
        return batch_functions.batch_function(desk.model, self.examples)


def input_function(case: Case, i: int) -> AnyInputFunction:
    """Objective of example i as a function of its continuous inputs; every call is counted."""
    return case.ask([InputFunction(case.ids[i])])[0]


def weight_function(case: Case, i: int, places: Sequence[Edit]) -> AnyWeightFunction:
    """Answer to example i as a function of the weights in these places; every call is counted."""
    return case.ask([WeightFunction(case.ids[i], places)])[0]


def batch_function(case: Case, positions: Sequence[int]) -> AnyBatchFunction:
    """Examples of one shape as one function of their inputs; every row is counted."""
    return case.ask([BatchFunction(case.ids[positions[0]], [case.examples[i] for i in positions])])[0]
