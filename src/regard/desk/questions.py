"""Questions about examples: frozen values with a cache key, a cost, a batch group, and a function that answers a batch.

A method builds them through the functions here, and its case passes them to the desk:

    gradients = slopes_at(case, [Point()])       # one `Slopes` per example
    answers = edited(case, [[[Edit("uniform")]] for _ in case.ids])

A capability that one method needs is one class here (or beside the method): `Desk.ask` does the rest.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from regard.desk.answers import Answer, concatenated, section, stacked
from regard.desk.costs import Metered
from regard.desk.finite_answers import known, known_arrays, known_logits, known_relevance, known_slopes, known_tensor
from regard.errors import InputError, phrase
from regard.measures.keyed_random import keyed_rng
from regard.models.ask import batch_function as batch_functions
from regard.models.ask import gradients, patching, sparse_recompute, weight_batches
from regard.models.ask import input_function as input_functions
from regard.models.ask import token_ids as ids_of_tokens
from regard.models.ask.lexicon import lexicon
from regard.models.ask.propagated_relevance import propagated_relevance
from regard.models.propagation.rules import Rule
from regard.models.read_rows import read_rows
from regard.protocols import BatchFunction as AnyBatchFunction
from regard.protocols import Case, Encoded, Lexicon, Point, PropagatedRelevance, Question, Read, Slopes, Target
from regard.protocols import InputFunction as AnyInputFunction
from regard.protocols import WeightFunction as AnyWeightFunction
from regard.records import Answers, Attacked, Bools, Edit, Edits, Example, Floats, Ints, Site, Spec, Threat
from regard.registry import build

if TYPE_CHECKING:
    from regard.desk.desk import Desk

R = TypeVar("R")
Bundle = tuple[list[Any], Encoded]
"""Questions that share one row of a batch, and the model input for them."""


@dataclass(frozen=True)
class DeskQuestion(Question[R]):
    """A question about one example. Answers are cached by equality, large answers within a limit."""

    example: str
    cached: ClassVar[bool] = True
    large: ClassVar[bool] = False
    backward: ClassVar[bool] = False

    @property
    def key(self) -> Hashable | None:
        """Cache key of the answer; None for no caching."""
        return self if self.cached else None

    @classmethod
    def requests(cls, questions: Sequence[Self]) -> int:
        """Number of requests that these questions count as."""
        return len(questions)

    @classmethod
    def cost(cls, bundle: Sequence[Self], answers: Sequence[R]) -> int:
        """Forward passes of a bundle (and backward passes, if `backward` is set)."""
        return len(bundle)

    def bundle(self, place: int) -> Hashable:
        """Key of the batch row: questions with equal keys share it."""
        return place

    @classmethod
    def group(cls, bundle: Sequence[Self]) -> Hashable:
        """Key of the batch: bundles with equal keys may share it."""
        return None

    def encoded(self, desk: Desk) -> Encoded | None:
        """Model input; None if the model cannot read it."""
        return desk.encoded(self.example)

    def unread(self, desk: Desk) -> R:
        """Answer if the model cannot read the input."""
        raise NotImplementedError

    @classmethod
    def answers(cls, desk: Desk, batch: Sequence[Bundle]) -> list[list[R]]:
        """Answer every question of each bundle in one pass of the model."""
        raise NotImplementedError

    @classmethod
    def compute(cls, desk: Desk, questions: Sequence[Self]) -> list[R]:
        """Compute the answers that are not cached, in batches of similar length."""
        bundles: dict[Hashable, list[int]] = {}
        for place, question in enumerate(questions):
            bundles.setdefault(question.bundle(place), []).append(place)
        desk.targets([questions[places[0]].example for places in bundles.values()])
        groups: dict[Hashable, list[list[int]]] = {}
        for places in bundles.values():
            groups.setdefault(cls.group([questions[place] for place in places]), []).append(places)
        answers: dict[int, R] = {}
        for group in groups.values():
            readable: list[tuple[list[int], Bundle]] = []
            for places in group:
                encoded = questions[places[0]].encoded(desk)
                if encoded is None:
                    answers |= {place: questions[place].unread(desk) for place in places}
                else:
                    readable.append((places, ([questions[place] for place in places], encoded)))
            batch = [bundle for _, bundle in readable]
            rows = desk.batching.answers(batch, [e.length for _, e in batch], partial(cls.answers, desk))
            for (places, _), row in zip(readable, rows, strict=True):
                answers |= dict(zip(places, row, strict=True))
            forwards = sum(cls.cost(bundle, row) for (bundle, _), row in zip(batch, rows, strict=True))
            desk.meter.charge(forwards=forwards, backwards=forwards if cls.backward else 0)
        return [answers[place] for place in range(len(questions))]


def _targets(desk: Desk, batch: Sequence[Bundle]) -> list[Target]:
    return desk.targets([bundle[0].example for bundle, _ in batch])


# ---------------------------------------------------------------------- answers


@dataclass(frozen=True)
class Base(DeskQuestion[tuple[Answer, Target]]):
    """Base answer about the target: the model's prediction, or the variant's own target."""

    @classmethod
    def compute(cls, desk: Desk, questions: Sequence[Self]) -> list[tuple[Answer, Target]]:
        names = [question.example for question in questions]

        def answers(part: Sequence[str]) -> list[tuple[Answer, Target]]:
            encoded = [desk.encoded(name) for name in part]
            if desk.origin is None:
                rows, targets = desk.model.predict(encoded)
            else:
                targets = desk.change.targets(part, desk.origin)
                rows = desk.model.forward(encoded, targets)
            return list(zip(desk.split(rows), targets, strict=True))

        # the undisturbed forwards belong to everyone; those of a variant to whoever asked for it
        with desk.charged_to(*desk.payer("model", "base")):
            rows = desk.batching.answers(names, [desk.encoded(name).length for name in names], answers)
            desk.meter.charge(forwards=len(names))
        return rows


@dataclass(frozen=True)
class Removed(DeskQuestion[Answer]):
    """Answer without the units marked in `drop` (one byte each)."""

    operator: str
    drop: bytes

    def encoded(self, desk: Desk) -> Encoded:
        # the numbers belong to what is removed, so a repeated question has a repeated answer
        rng = keyed_rng(desk.seed, self.example, "remove", self.operator, self.drop)
        drop = np.frombuffer(self.drop, np.bool_)
        return desk.model.remove(desk.encoded(self.example), drop, self.operator, rng)

    @classmethod
    def answers(cls, desk: Desk, batch: Sequence[Bundle]) -> list[list[Answer]]:
        rows = desk.model.forward([encoded for _, encoded in batch], _targets(desk, batch))
        return [[answer] for answer in desk.split(rows)]


@dataclass(frozen=True)
class NearlyRemoved(Removed):
    """`Removed`, recomputing only the share `schedule` of the positions, from the first layer on."""

    schedule: tuple[float, ...]
    cached: ClassVar[bool] = False

    @classmethod
    def group(cls, bundle: Sequence[Self]) -> Hashable:
        return bundle[0].example

    @classmethod
    def answers(cls, desk: Desk, batch: Sequence[Bundle]) -> list[list[Answer]]:
        first = batch[0][0][0]
        variants, target = [encoded for _, encoded in batch], desk.target(first.example)
        rows = sparse_recompute.approximately(desk.model, desk.encoded(first.example), target, variants, first.schedule)
        return [[answer] for answer in desk.split(rows)]


def removals(case: Case, drops: Sequence[Bools], operator: str | None) -> tuple[str, list[tuple[str, bytes]]]:
    """Return the operator, and (example, dropped units) of every variant; special units are never removed."""
    name = operator or case.operators[0]
    if name not in case.operators:
        raise InputError(
            phrase("errors.common.operator_name", name=repr(name)),
            expected=phrase("errors.common.one_allowed", allowed=", ".join(case.operators)),
            got=name,
        )
    variants = []
    for example, units, rows in zip(case.ids, case.units, drops, strict=True):
        if np.ndim(rows) != 2 or np.shape(rows)[1] != len(units):
            raise InputError(
                phrase("errors.desk.drops_example", example=example),
                expected=phrase("errors.desk.shape_variants", n=len(units)),
                got=str(np.shape(rows)),
            )
        variants += [(example, np.logical_and(row, units.free).tobytes()) for row in np.asarray(rows, np.bool_)]
    return name, variants


def nearly_removed(
    case: Case, drops: Sequence[Bools], schedule: Sequence[float], operator: str | None = None
) -> Answers:
    """Approximate `Case.removed`: recompute only the share `schedule` of the positions, from the first layer on."""
    name, variants = removals(case, drops, operator)
    questions = [NearlyRemoved(example, name, drop, tuple(schedule)) for example, drop in variants]
    return stacked([len(rows) for rows in drops], case.ask(questions))


@dataclass(frozen=True)
class Edited(DeskQuestion[Answer]):
    """Answer with edited attention."""

    edits: tuple[Edit, ...]

    @property
    def key(self) -> Hashable:
        return Edited, self.example, self.text

    @cached_property
    def text(self) -> str:
        """The edits as text, with their arrays as bytes."""
        return repr([(replace(e, values=None), None if e.values is None else e.values.tobytes()) for e in self.edits])

    @classmethod
    def group(cls, bundle: Sequence[Self]) -> Hashable:
        # values and permutations belong to one example's shape: its variants share a batch, others have theirs
        own = any(e.values is not None or e.what == "permute" for e in bundle[0].edits)
        return bundle[0].example if own else ""

    @classmethod
    def answers(cls, desk: Desk, batch: Sequence[Bundle]) -> list[list[Answer]]:
        questions: list[Edited] = [bundle[0] for bundle, _ in batch]
        alike = len({question.text for question in questions}) == 1
        edits: Edits = list(questions[0].edits) if alike else [list(question.edits) for question in questions]
        rows = desk.model.forward([encoded for _, encoded in batch], _targets(desk, batch), edits)
        return [[answer] for answer in desk.split(rows)]


def edited(case: Case, variants: Sequence[Sequence[Sequence[Edit]]]) -> Answers:
    """Answers under edits: variants[i] holds the variants of example i, each a list of edits; one row per variant."""
    pairs = zip(case.ids, variants, strict=True)
    questions = [Edited(name, tuple(edits)) for name, own in pairs for edits in own]
    return stacked([len(own) for own in variants], case.ask(questions))


@dataclass(frozen=True, eq=False)
class WithWeights(DeskQuestion[Answers]):
    """Answers under many attention maps, given as arrays; too many to cache one by one."""

    edits: tuple[Edit, ...]
    cached: ClassVar[bool] = False

    def __len__(self) -> int:
        return 0 if not self.edits or self.edits[0].values is None else len(self.edits[0].values)

    @classmethod
    def requests(cls, questions: Sequence[Self]) -> int:
        return sum(map(len, questions))

    @classmethod
    def cost(cls, bundle: Sequence[Self], answers: Sequence[Answers]) -> int:
        return len(bundle[0])

    @classmethod
    def answers(cls, desk: Desk, batch: Sequence[Bundle]) -> list[list[Answers]]:
        questions: list[WithWeights] = [bundle[0] for bundle, _ in batch]
        encoded = [one for _, one in batch]
        rows = weight_batches.with_weights(
            desk.model, encoded, _targets(desk, batch), [question.edits for question in questions]
        )
        known(rows, desk.model.name)
        ends = np.cumsum([0, *map(len, questions)]).tolist()
        return [[section(rows, start, stop)] for start, stop in pairwise(ends)]


def with_weights(case: Case, edits: Sequence[Sequence[Edit]]) -> Answers:
    """Answers under given weights: edits[i] holds one `replace` per site, with values (attention, head, query, key).

    One row per attention map, example after example.
    """
    assert len(case.targets) == len(edits)
    questions = [WithWeights(name, tuple(own)) for name, own in zip(case.ids, edits, strict=True)]
    answers = iter(case.ask([question for question in questions if len(question)]))
    nothing = Answers(np.zeros(2, np.int64), np.zeros(0), np.zeros(0))
    return concatenated([next(answers) if len(question) else nothing for question in questions])


@dataclass(frozen=True)
class Patched(DeskQuestion[Answer]):
    """Answer with the attention output of a donor example in the rows that the objective reads."""

    reads: tuple[Read, ...]
    donor: str
    donor_reads: tuple[Read, ...]

    def bundle(self, place: int) -> Hashable:
        return self.example, self.reads

    @classmethod
    def group(cls, bundle: Sequence[Self]) -> Hashable:
        return bundle[0].example, bundle[0].reads

    @classmethod
    def answers(cls, desk: Desk, batch: Sequence[Bundle]) -> list[list[Answer]]:
        ((bundle, encoded),) = batch
        donors = [(desk.encoded(q.donor), desk.target(q.donor), q.donor_reads) for q in bundle]
        rows = patching.patched_output(desk.model, encoded, desk.target(bundle[0].example), bundle[0].reads, donors)
        return [desk.split(rows)]


def patched(case: Case, i: int, reads: Sequence[Read], donors: Sequence[tuple[int, Sequence[Read]]]) -> Answers:
    """Answers for example i with the attention output of companions (position, their rows) instead of its own."""
    names = case.companions.ids
    questions = [Patched(case.ids[i], tuple(reads), names[donor], tuple(own)) for donor, own in donors]
    return stacked([len(questions)], case.ask(questions))


@dataclass(frozen=True, eq=False)
class AnswerTo(DeskQuestion[Answer]):
    """Answer to another input, about the target of the example; NaN if the model cannot read it.

    Texts are cached, because searches reach the same text in several ways.
    """

    candidate: Example

    @property
    def key(self) -> Hashable | None:
        items = self.candidate.inputs.items()
        texts = all(isinstance(value, str) for _, value in items)
        return (AnswerTo, self.example, *sorted(cast("Any", items))) if texts else None

    def encoded(self, desk: Desk) -> Encoded | None:
        try:
            return desk.model.encode(self.candidate)
        except InputError:  # a text that became too long, or lost its last word
            return None

    def unread(self, desk: Desk) -> Answer:
        (base,) = desk.base([self.example])
        rows = base.distribution
        return Answer(np.nan, np.nan, None if rows is None else np.full_like(rows, np.nan))

    @classmethod
    def answers(cls, desk: Desk, batch: Sequence[Bundle]) -> list[list[Answer]]:
        rows = desk.model.forward([encoded for _, encoded in batch], _targets(desk, batch))
        return [[answer] for answer in desk.split(rows)]


def answers_to(case: Case, candidates: Sequence[Sequence[Example]]) -> Answers:
    """Answers to other inputs in place of each example, about its target; one row per candidate, example by example."""
    pairs = zip(case.ids, candidates, strict=True)
    questions = [AnswerTo(name, candidate) for name, own in pairs for candidate in own]
    return stacked([len(own) for own in candidates], case.ask(questions))


# ---------------------------------------------------------------------- gradients of the inputs


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
        rows = gradients.slopes(desk.model, [encoded for _, encoded in batch], _targets(desk, batch), points)
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
        rows = gradients.input_gradients(desk.model, [encoded for _, encoded in batch], _targets(desk, batch))
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
        rows = propagated_relevance(desk.model, encoded, _targets(desk, batch), first.rule, first.baseline)
        return [[row] for row in known_relevance(rows, desk.model.name)]


def relevance_by_rules(case: Case, rule: Rule, baseline: str) -> list[PropagatedRelevance]:
    """Relevance propagated backwards by rules; one record per example, for one forward and one backward pass."""
    return case.ask([RelevanceBy(name, rule, baseline) for name in case.ids])


# ---------------------------------------------------------------------- differentiable functions


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


# ---------------------------------------------------------------------- facts that cost nothing


@dataclass(frozen=True, eq=False)
class _Fact(DeskQuestion[R]):
    """A question that runs no forward pass."""

    cached: ClassVar[bool] = False

    @classmethod
    def requests(cls, questions: Sequence[Self]) -> int:
        return 0

    def fact(self, desk: Desk) -> R:
        raise NotImplementedError

    @classmethod
    def compute(cls, desk: Desk, questions: Sequence[Self]) -> list[R]:
        return [question.fact(desk) for question in questions]


@dataclass(frozen=True, eq=False)
class ReadRows(_Fact[tuple[int, ...]]):
    """Query rows of a site that the objective reads."""

    site: Site

    def fact(self, desk: Desk) -> tuple[int, ...]:
        return read_rows(desk.model, desk.encoded(self.example), desk.target(self.example), self.site)


@dataclass(frozen=True, eq=False)
class TokenIds(_Fact[Ints]):
    """(units,) token ids of a text; any text, not only that of the example."""

    candidate: Example

    def fact(self, desk: Desk) -> Ints:
        return ids_of_tokens.token_ids(desk.model, desk.model.encode(self.candidate))


class Vocabulary(_Fact[Lexicon]):
    """The model's input vocabulary."""

    def fact(self, desk: Desk) -> Lexicon:
        return lexicon(desk.model)


class Displacement(_Fact[float]):
    """Distance by which a variant moved the continuous inputs, relative to their norm; 0 in the case itself."""

    def fact(self, desk: Desk) -> float:
        return desk.admission(self.example).displacement


class UnitOrder(_Fact[Ints]):
    """(n,): the original unit in each place; 0, 1, 2... except for a shuffled variant."""

    def fact(self, desk: Desk) -> Ints:
        order = desk.admission(self.example).order
        return np.arange(len(desk.units(self.example))) if order is None else order


class UnitOrigins(_Fact[Ints]):
    """(n,): the original unit of each unit, -1 for none; 0, 1, 2... except for a perturbed variant.

    See `origins` for pieces of words; sums over `groups` are exact.
    """

    def fact(self, desk: Desk) -> Ints:
        origins = desk.admission(self.example).origins
        return np.arange(len(desk.units(self.example))) if origins is None else origins()


def token_ids(case: Case, example: Example) -> Ints:
    """Return (units,) token ids of a text; runs no model."""
    return case.ask([TokenIds(example.id, example)])[0]


def vocabulary(case: Case) -> Lexicon:
    """Input vocabulary of the model; Unsupported if it reads no tokens or they have no spelling."""
    return case.ask([Vocabulary("")])[0]


# ---------------------------------------------------------------------- attacks


@dataclass(frozen=True)
class AttackRun(DeskQuestion[Sequence[Attacked]]):
    """Results of an attack on a whole case."""

    case: Case
    spec: Spec
    threat: Threat

    @classmethod
    def requests(cls, questions: Sequence[Self]) -> int:
        return 0

    @classmethod
    def compute(cls, desk: Desk, questions: Sequence[Self]) -> list[Sequence[Attacked]]:
        results: list[Sequence[Attacked]] = []
        for question in questions:
            with desk.charged_to(*desk.payer("attack", str(question.spec))):
                results.append(tuple(build(question.spec)(question.case, question.threat)))
        return results


def attacked(case: Case, method: str | Spec, threat: Threat | None = None) -> Sequence[Attacked]:
    """Attack every example of the case; computed once."""
    spec = method if isinstance(method, Spec) else Spec.parse("attack", method)
    return case.ask([AttackRun("", case, spec, threat or Threat())])[0]
