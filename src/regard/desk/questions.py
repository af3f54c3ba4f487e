"""Questions about examples: frozen values with a cache key, a cost, a batch group, and a function that answers a batch.

A method builds them through the functions here, and its case passes them to the desk:

    gradients = slopes_at(case, [Point()])       # one `Slopes` per example
    answers = edited(case, [[[Edit("uniform")]] for _ in case.ids])

A capability that one method needs is one class here (or beside the method): `Desk.ask` does the rest.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np

from regard.desk.answers import Answer, concatenated, section, stacked
from regard.desk.finite_answers import known
from regard.desk.gradient_questions import batch_function as batch_function
from regard.desk.gradient_questions import input_function as input_function
from regard.desk.gradient_questions import input_gradients as input_gradients
from regard.desk.gradient_questions import relevance_by_rules as relevance_by_rules
from regard.desk.gradient_questions import slopes_at as slopes_at
from regard.desk.gradient_questions import weight_function as weight_function
from regard.desk.question_base import Bundle as Bundle
from regard.desk.question_base import DeskQuestion as DeskQuestion
from regard.desk.question_base import targets_of
from regard.desk.reader_questions import Displacement as Displacement
from regard.desk.reader_questions import ReadRows as ReadRows
from regard.desk.reader_questions import UnitOrder as UnitOrder
from regard.desk.reader_questions import UnitOrigins as UnitOrigins
from regard.desk.reader_questions import token_ids as token_ids
from regard.desk.reader_questions import vocabulary as vocabulary
from regard.errors import InputError, phrase
from regard.measures.keyed_random import keyed_rng
from regard.models.ask import patching, sparse_recompute, weight_batches
from regard.protocols import Case, Encoded, Read, Target
from regard.records import Answers, Attacked, Bools, Edit, Edits, Example, Spec, Threat
from regard.registry import build

if TYPE_CHECKING:
    from regard.desk.desk import Desk


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
        rows = desk.model.forward([encoded for _, encoded in batch], targets_of(desk, batch))
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
        rows = desk.model.forward([encoded for _, encoded in batch], targets_of(desk, batch), edits)
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
            desk.model, encoded, targets_of(desk, batch), [question.edits for question in questions]
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
        rows = desk.model.forward([encoded for _, encoded in batch], targets_of(desk, batch))
        return [[answer] for answer in desk.split(rows)]


def answers_to(case: Case, candidates: Sequence[Sequence[Example]]) -> Answers:
    """Answers to other inputs in place of each example, about its target; one row per candidate, example by example."""
    pairs = zip(case.ids, candidates, strict=True)
    questions = [AnswerTo(name, candidate) for name, own in pairs for candidate in own]
    return stacked([len(own) for own in candidates], case.ask(questions))


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
