"""The desk: answers questions about one model in batches of similar length, and caches every answer.

The cache key is the question alone, so the base forward and the leave-one-out forwards of an example are computed once,
however many methods need them.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar
from weakref import proxy

from regard.desk.answers import Answer, AnswerCache, split
from regard.desk.batching import BATCH, TOKENS, Batching
from regard.desk.changes import Admission, DeskChange
from regard.desk.costs import CostMeter
from regard.desk.encoding import encoded_once
from regard.desk.finite_answers import UnknownAnswer, known
from regard.desk.questions import Base, DeskQuestion
from regard.models.ask.answers_in_words import name_of_answer
from regard.protocols import Encoded, Model, Question, Target
from regard.records import Answers, Example, Json, Units
from regard.store.shard_result import Cost

R = TypeVar("R")


class Desk:
    """Model with a cache of its answers; batches hold `batch` rows or `tokens` positions.

    A variant has an `origin`, whose targets it uses and whose meter it charges, and the `change` between them. pools:
    whether all attention so far was pooling attention, which padding does not change.
    """

    def __init__(
        self,
        model: Model,
        *,
        seed: int = 0,
        batch: int = BATCH,
        tokens: int = TOKENS,
        origin: Desk | None = None,
        change: DeskChange | None = None,
    ) -> None:
        self.model, self.seed, self.origin = model, seed, origin
        self.meter: CostMeter = CostMeter() if origin is None else origin.meter
        self.batching = Batching(batch, tokens)
        self.cache = AnswerCache()
        self.pools = False
        self.change = change or DeskChange()
        # not itself: a cycle would keep the attention of a finished shard until the next garbage collection
        self._admit = self.change.admit(proxy(self))
        self._admissions: dict[str, Admission] = {}
        self._shapes: dict[str, tuple[object, ...]] = {}
        self._variants: dict[DeskChange, Desk] = {}

    # ------------------------------------------------------------------ examples

    def encode(self, example: Example) -> Encoded:
        """Return the encoded example, from the cache that all users of this model share."""
        return encoded_once(self.model, example)

    def admit(self, example: Example) -> Units:
        """Encode an example and return its units."""
        if example.id not in self._admissions:
            self._admissions[example.id] = self._admit(example)
        return self.units(example.id)

    def admission(self, name: str) -> Admission:
        return self._admissions[name]

    def encoded(self, name: str) -> Encoded:
        return self._admissions[name].encoded

    def units(self, name: str) -> Units:
        return self._admissions[name].encoded.units

    def shape(self, name: str) -> tuple[object, ...]:
        """Shape key: examples with equal keys share a pass without padding."""
        if name not in self._shapes:
            encoded = self.encoded(name)
            units = encoded.units
            # sounds of as many frames may have more samples or fewer
            end = float(units.places[-1, 1]) if units.place_kind == "range" and len(units) else 0.0
            self._shapes[name] = encoded.length, len(units), units.shape, int(units.part.sum()), end
        return self._shapes[name]

    def answer(self, name: str) -> Json:
        """Target of an example in words, if the model has names."""
        return name_of_answer(self.model, self.target(name), self.encoded(name))

    def reads(self, example: Example) -> bool:
        """Encode an example; return whether the model can read and answer it."""
        try:
            self.admit(example)
            try:
                self.base([example.id])
            except UnknownAnswer:  # once more: every shard must find the same ones readable
                self.base([example.id])
        except Exception:  # who brings something from outside does without it; its own turn reports it
            return False
        return True

    # ------------------------------------------------------------------ questions

    def ask(self, questions: Sequence[Question[R]]) -> list[R]:
        """Return the answers, in order: cached for equal questions, otherwise computed by the model."""
        keys: list[Hashable] = []
        kinds: dict[type[DeskQuestion[Any]], dict[Hashable, DeskQuestion[Any]]] = {}
        everyone: dict[type[DeskQuestion[Any]], list[DeskQuestion[Any]]] = {}
        answers: dict[Hashable, Any] = {}
        for place, question in enumerate(questions):
            assert isinstance(question, DeskQuestion)
            key = question.key
            keys.append(place if key is None else key)
            everyone.setdefault(type(question), []).append(question)
            if key is not None and key in self.cache:
                answers[key] = self.cache[key]
            else:
                kinds.setdefault(type(question), {}).setdefault(keys[-1], question)
        for kind, kind_questions in everyone.items():
            self.meter.charge(requests=kind.requests(kind_questions))
        for kind, new in kinds.items():
            for key, answer in zip(new, kind.compute(self, list(new.values())), strict=True):
                answers[key] = answer
                if not isinstance(key, int):
                    self.cache.store(key, answer, large=kind.large)
        return [answers[key] for key in keys]

    def base(self, names: Sequence[str]) -> list[Answer]:
        """Answers of the unmodified model."""
        return [answer for answer, _ in self.ask([Base(name) for name in names])]

    def targets(self, names: Sequence[str]) -> list[Target]:
        """Targets of the objective: predictions of the unmodified model."""
        questions = [Base(name) for name in names]
        if any(question not in self.cache for question in questions):
            self.ask(questions)
        return [self.cache[question][1] for question in questions]

    def target(self, name: str) -> Target:
        return self.targets([name])[0]

    def split(self, answers: Answers) -> list[Answer]:
        """Split answers into one per row; raise if one of them is not finite."""
        return split(known(answers, self.model.name))

    # ------------------------------------------------------------------ variants

    def variant(self, change: DeskChange) -> Desk:
        """Desk of a variant."""
        if change in self._variants:
            return self._variants[change]
        desk = type(self)(
            change.model(self.model),
            seed=self.seed,
            batch=self.batching.rows,
            tokens=self.batching.tokens,
            origin=self,
            change=change,
        )
        if change.cached:
            self._variants[change] = desk
        return desk

    def fresh(self) -> Desk:
        """Return a desk whose cache holds the base answers of this one, and nothing else."""
        other = Desk(self.model, seed=self.seed, batch=self.batching.rows, tokens=self.batching.tokens)
        other._admissions = dict(self._admissions)
        for question in map(Base, self._admissions):
            if question in self.cache:
                other.cache.store(question, self.cache[question])
        return other

    def release(self) -> None:
        """Drop every answer and every variant; admitted examples and costs stay.

        A variant refers to its origin: left to the garbage collector, that cycle would hold the attention of finished
        examples through the next ones.
        """
        for variant in self._variants.values():
            variant.release()
        self._variants.clear()
        self.cache = AnswerCache()

    # ------------------------------------------------------------------ costs

    def charged_to(self, kind: str, method: str) -> AbstractContextManager[None]:
        """Charge seconds, forwards and requests inside the block to this method, and to no other."""
        return self.meter.charged_to(kind, method)

    def payer(self, kind: str, method: str) -> tuple[str, str]:
        """The payer of a method's work: the method itself, or the method that requested this variant."""
        return (kind, method) if self.origin is None else self.meter.payer

    def costs(self) -> tuple[Cost, ...]:
        """Costs so far by method, including the desks of the variants."""
        return self.meter.costs()
