"""The case: some examples with a desk, the interface of explainers and metrics to the engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any, Self, TypeVar

import numpy as np

from regard.desk.answers import stacked
from regard.desk.changes import DeskChange
from regard.desk.desk import Desk
from regard.desk.questions import Removed, removals
from regard.desk.site_questions import Sites
from regard.errors import InputError, phrase
from regard.measures.keyed_random import keyed_rng
from regard.protocols import Change, Question, SiteAttention, Target
from regard.records import Answers, Bools, Example, Floats, Relevance, Spec
from regard.registry import build, method_spec

R = TypeVar("R")


class DeskCase:
    """Implements `protocols.Case`. `specs`: method name -> its Spec in this audit."""

    def __init__(
        self,
        desk: Desk,
        examples: Sequence[Example],
        specs: Mapping[str, Spec] | None = None,
        companions: Sequence[Example] = (),
    ) -> None:
        self._specs = dict(specs or {})
        self._bind(desk, examples, companions)

    def _bind(self, desk: Desk, examples: Sequence[Example], companions: Sequence[Example]) -> Self:
        """Bind these examples to this desk, with empty caches."""
        self.desk, self._others = desk, tuple(companions)
        self._companions: DeskCase | None = None
        self._relevances: dict[Spec, Relevance] = {}
        self._variants: dict[DeskChange, Self] = {}
        self.ids = tuple(example.id for example in examples)
        self.units = tuple(desk.admit(example) for example in examples)
        self.examples = tuple(desk.admission(name).example for name in self.ids)
        return self

    @property
    def targets(self) -> tuple[Target, ...]:
        return tuple(self.desk.targets(self.ids))

    @property
    def labels(self) -> tuple[str, ...]:
        return self.desk.model.labels

    @property
    def explainers(self) -> tuple[str, ...]:
        return tuple(reversed(self._specs))  # as `Settings.by_name` was filled from the last to the first

    @property
    def operators(self) -> tuple[str, ...]:
        return self.desk.model.operators

    @property
    def baselines(self) -> tuple[str, ...]:
        return self.desk.model.baselines

    @property
    def companions(self) -> DeskCase:
        if self._companions is None:
            readable = [example for example in self._others if self.desk.reads(example)]
            self._companions = copy(self)._bind(self.desk, readable, ())
        return self._companions

    def base(self) -> Answers:
        return stacked([1] * len(self.ids), self.desk.base(self.ids))

    def removed(self, drops: Sequence[Bools], operator: str | None = None) -> Answers:
        name, variants = removals(self, drops, operator)
        # nothing removed is the base answer
        whole = [example for example, drop in variants if not any(drop)]
        base = dict(zip(whole, self.desk.base(whole), strict=True))
        answers = iter(self.ask([Removed(example, name, drop) for example, drop in variants if any(drop)]))
        rows = [next(answers) if any(drop) else base[example] for example, drop in variants]
        return stacked([len(own) for own in drops], rows)

    def attention(self, i: int) -> Sequence[SiteAttention]:
        return self.ask([Sites(self.ids[i], beside=self.ids)])[0]

    def relevance(self, method: str | Spec) -> Relevance:
        spec = self.spec(method)
        if spec not in self._relevances:
            name = label(spec, self._specs)
            with self.desk.charged_to(*self.desk.payer("explainer", name)):
                relevance = build(spec)(self)
            self._relevances[spec] = checked(relevance, self, name)
        return self._relevances[spec]

    def rng(self, i: int | None, *keys: object) -> np.random.Generator:
        return keyed_rng(self.desk.seed, *(() if i is None else (self.ids[i],)), *keys)

    def subset(self, positions: Sequence[int]) -> Self:
        """Return the case restricted to some of its examples; keep the relevances computed so far."""
        part = copy(self)._bind(self.desk, [self.examples[i] for i in positions], self._others)
        part._relevances = {spec: selected(relevance, positions) for spec, relevance in self._relevances.items()}
        return part

    def variant(self, change: Change) -> Self:
        assert isinstance(change, DeskChange)
        bound = change.bound(self, self._others)
        if bound in self._variants:
            return self._variants[bound]
        variant = copy(self)._bind(self.desk.variant(bound), bound.examples(self.examples), ())
        if bound.cached:
            self._variants[bound] = variant
        return variant

    def ask(self, questions: Sequence[Question[R]]) -> list[R]:
        return self.desk.ask(questions)

    def spec(self, method: str | Spec | Callable[..., Any]) -> Spec:
        """Resolve a method name to the audit's own Spec, if any; a decorated function to its own."""
        if isinstance(method, Spec):
            return method
        if not isinstance(method, str):
            return method_spec(method)
        return self._specs.get(method) or Spec.parse("explainer", method)

    def learn(self, spec: Spec, relevance: Relevance) -> None:
        """Adopt cached results about exactly these examples."""
        if relevance.ids == self.ids:
            self._relevances[spec] = relevance


def label(spec: Spec, specs: Mapping[str, Spec]) -> str:
    """Label a Spec in the results: its bare name if the audit binds that name to this Spec."""
    return spec.name if specs.get(spec.name) == spec else str(spec)


def checked(relevance: object, case: DeskCase, label: str) -> Relevance:
    """Return the relevance under its label; raise unless it has one finite number per unit, 0 for special ones."""
    if not isinstance(relevance, Relevance):
        raise InputError(
            phrase("errors.desk.explainer_label", label=label),
            expected=phrase("errors.desk.relevance"),
            got=type(relevance).__name__,
        )
    sizes = np.diff(relevance.offsets).tolist()
    expected = [len(units) for units in case.units]
    if relevance.ids != case.ids or sizes != expected:
        raise InputError(
            phrase("errors.common.relevance_by_label", label=label),
            expected=phrase("errors.desk.values_for_ids", expected=expected, ids=list(case.ids)),
            got=phrase("errors.common.for_sizes", sizes=sizes, ids=list(relevance.ids)),
        )
    bad = int(np.count_nonzero(~np.isfinite(relevance.values)))
    if bad:
        raise InputError(
            phrase("errors.common.relevance_by_label", label=label),
            expected=phrase("errors.common.finite_numbers"),
            got=phrase("errors.desk.that_nan_or_infinite", bad=bad),
        )
    special = np.concatenate([units.special for units in case.units]) if case.ids else np.zeros(0, np.bool_)
    if np.any(relevance.values[special]):
        raise InputError(
            phrase("errors.common.relevance_by_label", label=label),
            expected=phrase("errors.desk.exactly_for_special_units"),
            got=phrase("errors.desk.nonzero_values"),
        )
    return Relevance(
        method=label,
        ids=relevance.ids,
        offsets=relevance.offsets,
        values=relevance.values,
        signed=relevance.signed,
        extras=relevance.extras,
    )


def selected(relevance: Relevance, positions: Sequence[int]) -> Relevance:
    """Select the relevance of some examples; extras per example and per unit follow, others are dropped."""
    extras: dict[str, Floats] = {}
    for name, values in relevance.extras.items():
        if len(values) == len(relevance.ids):
            extras[name] = values[list(positions)]
        elif len(values) == len(relevance.values):
            rows = [values[int(relevance.offsets[i]) : int(relevance.offsets[i + 1])] for i in positions]
            extras[name] = np.concatenate(rows) if rows else np.zeros(0)
    return Relevance.of(
        relevance.method,
        [relevance.ids[i] for i in positions],
        [relevance[i] for i in positions],
        signed=relevance.signed,
        extras=extras,
    )
