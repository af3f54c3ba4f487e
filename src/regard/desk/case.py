"""The case: some examples in front of a desk. What explainers and metrics see of the engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from regard.desk.answers import Said
from regard.desk.desk import Desk
from regard.errors import InputError
from regard.measures.keyed_random import keyed_rng
from regard.models.ask.lexicon import lexicon
from regard.models.ask.token_ids import token_ids
from regard.perturbations.columns import fitted
from regard.protocols import (
    BatchFunction,
    Change,
    InputFunction,
    Lexicon,
    Parts,
    Point,
    Read,
    SiteAttention,
    Slopes,
    Target,
    WeightFunction,
    WeightGradientKind,
    WeightSlopes,
    Zeroed,
)
from regard.records import Answers, Attacked, Bools, Edit, Example, Floats, Ints, Relevance, Site, Spec, Threat, Units
from regard.registry import build


class DeskCase:
    """Implements `protocols.Case`. `specs` says which Spec this audit means by the name of a method."""

    def __init__(
        self,
        desk: Desk,
        examples: Sequence[Example],
        specs: Mapping[str, Spec] | None = None,
        companions: Sequence[Example] = (),
    ) -> None:
        self._desk = desk
        self._others = tuple(companions)
        self._companions: DeskCase | None = None
        self._ids = tuple(example.id for example in examples)
        self._specs = dict(specs or {})
        self._known: dict[Spec, Relevance] = {}
        self._variants: dict[Desk, DeskCase] = {}
        self._attacked: dict[tuple[Spec, Threat], Sequence[Attacked]] = {}
        self._units = tuple(desk.welcome(example) for example in examples)
        self._examples = tuple(desk.example(example) for example in examples)

    @property
    def ids(self) -> tuple[str, ...]:
        return self._ids

    @property
    def examples(self) -> tuple[Example, ...]:
        return self._examples

    @property
    def units(self) -> tuple[Units, ...]:
        return self._units

    @property
    def targets(self) -> tuple[Target, ...]:
        return tuple(self._desk.targets(self._ids))

    @property
    def labels(self) -> tuple[str, ...]:
        return self._desk.model.labels

    @property
    def explainers(self) -> tuple[str, ...]:
        return tuple(reversed(self._specs))  # as `Settings.by_name` was filled from the last to the first

    @property
    def operators(self) -> tuple[str, ...]:
        return self._desk.model.operators

    @property
    def baselines(self) -> tuple[str, ...]:
        return self._desk.model.baselines

    @property
    def seed(self) -> int:
        return self._desk.seed

    def base(self) -> Answers:
        return _answers([1] * len(self._ids), self._desk.base(self._ids))

    def removed(self, drops: Sequence[Bools], operator: str | None = None) -> Answers:
        chosen, asked = self._drops(drops, operator)
        return _answers([len(rows) for rows in drops], self._desk.removed(asked, chosen))

    def nearly_removed(self, drops: Sequence[Bools], schedule: Sequence[float], operator: str | None = None) -> Answers:
        chosen, asked = self._drops(drops, operator)
        return _answers([len(rows) for rows in drops], self._desk.nearly_removed(asked, chosen, schedule))

    def _drops(self, drops: Sequence[Bools], operator: str | None) -> tuple[str, list[tuple[str, Bools]]]:
        chosen = operator or self.operators[0]
        if chosen not in self.operators:
            raise InputError(f"operator {chosen!r}", expected=f"one of {', '.join(self.operators)}", got=chosen)
        asked = []
        for name, units, rows in zip(self._ids, self.units, drops, strict=True):
            if np.ndim(rows) != 2 or np.shape(rows)[1] != len(units):
                raise InputError(
                    f"drops of example {name}", expected=f"shape (variants, {len(units)})", got=str(np.shape(rows))
                )
            # special units are never removed, whatever a method asks
            asked += [(name, np.logical_and(row, units.free)) for row in np.asarray(rows, np.bool_)]
        return chosen, asked

    def slopes(self, points: Sequence[Point]) -> list[Slopes]:
        return self._desk.slopes(self._ids, points)

    def continuous(self, i: int) -> InputFunction:
        return self._desk.continuous(self._ids[i])

    def weight_slopes(self, i: int, kind: WeightGradientKind = "in_graph") -> Sequence[WeightSlopes]:
        return self._desk.weight_slopes(self._ids[i], kind, beside=self._ids)

    def parts(self, i: int, keys: Sequence[str]) -> Sequence[Parts]:
        return self._desk.parts(self._ids[i], keys)

    def zeroed(self, i: int, keys: Sequence[str]) -> Sequence[Zeroed]:
        return self._desk.zeroed(self._ids[i], keys)

    def attention(self, i: int) -> Sequence[SiteAttention]:
        return self._desk.attention(self._ids[i], beside=self._ids)

    def reading(self, i: int, site: Site) -> tuple[int, ...]:
        return self._desk.reading(self._ids[i], site)

    def edited(self, edits: Sequence[Sequence[Edit]]) -> Answers:
        asked = list(zip(self._ids, edits, strict=True))
        return _answers([1] * len(self._ids), self._desk.edited(asked))

    def variants(self, edits: Sequence[Sequence[Sequence[Edit]]]) -> Answers:
        asked = [(name, one) for name, some in zip(self._ids, edits, strict=True) for one in some]
        return _answers([len(some) for some in edits], self._desk.edited(asked))

    def swept(self, edits: Sequence[Sequence[Edit]]) -> Answers:
        counts = [0 if not some or some[0].values is None else len(some[0].values) for some in edits]
        return self._desk.swept(self._ids, edits, counts)

    def steered(self, i: int, places: Sequence[Edit]) -> WeightFunction:
        return self._desk.steered(self._ids[i], places)

    def relevance(self, method: str | Spec) -> Relevance:
        spec = self.spec(method)
        if spec not in self._known:
            name = label(spec, self._specs)
            with self._desk.paid_by(*self._desk.payer_of("explainer", name)):
                found = build(spec)(self)
            self._known[spec] = checked(found, self, name)
        return self._known[spec]

    def rng(self, i: int, *keys: object) -> np.random.Generator:
        return keyed_rng(self._desk.seed, self._ids[i], *keys)

    def spec(self, method: str | Spec) -> Spec:
        """What is meant by a name: the audit's own Spec where it has one."""
        if isinstance(method, Spec):
            return method
        return self._specs.get(method) or Spec.parse("explainer", method)

    def subset(self, positions: Sequence[int]) -> DeskCase:
        """The same case with some of its examples; what is known about them stays known."""
        part = DeskCase(self._desk, [self._examples[i] for i in positions], self._specs, self._others)
        part._known = {spec: selected(relevance, positions) for spec, relevance in self._known.items()}
        return part

    @property
    def companions(self) -> DeskCase:
        if self._companions is None:
            readable = [example for example in self._others if self._desk.reads(example)]
            self._companions = DeskCase(self._desk, readable, self._specs)
        return self._companions

    def routed(self, i: int, reads: Sequence[Read], donors: Sequence[tuple[int, Sequence[Read]]]) -> Answers:
        names = self.companions.ids
        said = self._desk.routed(self._ids[i], reads, [(names[d], theirs) for d, theirs in donors])
        return _answers([len(said)], said)

    @property
    def orders(self) -> tuple[Ints, ...]:
        return tuple(self._desk.order(name) for name in self._ids)

    def shuffled(self, draw: int = 0) -> DeskCase:
        return self._variant(self._desk.shuffled(draw))

    @property
    def moved(self) -> Floats:
        return np.array([self._desk.moved(name) for name in self._ids], np.float64)

    def noisy(self, noise: float, draw: int = 0) -> DeskCase:
        return self._variant(self._desk.noisy(noise, draw))

    @property
    def origins(self) -> tuple[Ints, ...]:
        return tuple(self._desk.origins(name) for name in self._ids)

    def changed(self, noise: str | Spec, severity: int) -> DeskCase:
        spec = noise if isinstance(noise, Spec) else Spec.parse("perturbation", noise)
        # what is normal for a column is measured on the same rows for every shard
        return self._variant(self._desk.changed(fitted(spec, self._others or self._examples), severity))

    def asked(self, candidates: Sequence[Sequence[Example]]) -> Answers:
        asked = [(name, one) for name, some in zip(self._ids, candidates, strict=True) for one in some]
        return _answers([len(some) for some in candidates], self._desk.asked(asked))

    def instead(self, examples: Sequence[Example], targets: Sequence[Target] | None = None) -> DeskCase:
        given = [None] * len(examples) if targets is None else targets
        about = {e.id: (name, t) for e, name, t in zip(examples, self._ids, given, strict=True)}
        return DeskCase(self._desk.instead(about), examples, self._specs)

    def input_gradients(self) -> list[NDArray[np.float32]]:
        return self._desk.input_gradients(self._ids)

    def read(self, example: Example) -> Ints:
        return token_ids(self._desk.model, self._desk.model.encode(example))

    def lexicon(self) -> Lexicon:
        return lexicon(self._desk.model)

    def together(self, positions: Sequence[int]) -> BatchFunction:
        return self._desk.together([self._examples[i] for i in positions])

    def attacked(self, method: str | Spec, threat: Threat | None = None) -> Sequence[Attacked]:
        spec = method if isinstance(method, Spec) else Spec.parse("attack", method)
        key = (spec, threat or Threat())
        if key not in self._attacked:
            with self._desk.paid_by(*self._desk.payer_of("attack", str(spec))):
                self._attacked[key] = tuple(build(spec)(self, key[1]))
        return self._attacked[key]

    def randomised(self, change: Change, share: float = 1.0, draw: int = 0) -> DeskCase:
        return self._variant(self._desk.spoilt(change, share, draw))

    def _variant(self, desk: Desk) -> DeskCase:
        if desk not in self._variants:
            self._variants[desk] = DeskCase(desk, self._examples, self._specs)
        return self._variants[desk]

    def learn(self, spec: Spec, relevance: Relevance) -> None:
        """Take over what was found out about exactly these examples."""
        if relevance.ids == self._ids:
            self._known[spec] = relevance


def label(spec: Spec, specs: Mapping[str, Spec]) -> str:
    """How a Spec is called in the results: by its name where the audit means just this Spec by it."""
    return spec.name if specs.get(spec.name) == spec else str(spec)


def _answers(counts: Sequence[int], said: Sequence[Said]) -> Answers:
    rows = [s.distribution for s in said]
    full = [row for row in rows if row is not None]
    return Answers(
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        np.array([s.value for s in said], np.float64),
        np.array([s.probability for s in said], np.float64),
        np.stack(full) if full and len(full) == len(rows) else None,
    )


def checked(relevance: object, case: DeskCase, label: str) -> Relevance:
    """The relevance under its label, or an error if it is not one finite number per unit, 0 for special ones."""
    if not isinstance(relevance, Relevance):
        raise InputError(f"explainer {label}", expected="a Relevance", got=type(relevance).__name__)
    sizes = np.diff(relevance.offsets).tolist()
    wanted = [len(units) for units in case.units]
    if relevance.ids != case.ids or sizes != wanted:
        raise InputError(
            f"relevance by {label}", expected=f"{wanted} values for {list(case.ids)}",
            got=f"{sizes} for {list(relevance.ids)}",
        )  # fmt: skip
    bad = int(np.count_nonzero(~np.isfinite(relevance.values)))
    if bad:
        raise InputError(f"relevance by {label}", expected="finite numbers", got=f"{bad} that are NaN or infinite")
    special = np.concatenate([units.special for units in case.units]) if case.ids else np.zeros(0, np.bool_)
    if np.any(relevance.values[special]):
        raise InputError(f"relevance by {label}", expected="exactly 0 for special units", got="other values")
    return Relevance(label, relevance.ids, relevance.offsets, relevance.values, relevance.signed, relevance.extras)


def selected(relevance: Relevance, positions: Sequence[int]) -> Relevance:
    """The relevance of some of its examples; extras per example and per unit follow, others are dropped."""
    extras: dict[str, Floats] = {}
    for name, values in relevance.extras.items():
        if len(values) == len(relevance.ids):
            extras[name] = values[list(positions)]
        elif len(values) == len(relevance.values):
            rows = [values[int(relevance.offsets[i]) : int(relevance.offsets[i + 1])] for i in positions]
            extras[name] = np.concatenate(rows) if rows else np.zeros(0)
    return Relevance.of(
        relevance.method, [relevance.ids[i] for i in positions], [relevance[i] for i in positions],
        signed=relevance.signed, extras=extras,
    )  # fmt: skip
