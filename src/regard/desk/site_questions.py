"""Questions about model internals: attention, its gradients, and its decomposition.

Examples of one length share a pass; under pooling attention, those of similar length do, since padding changes nothing.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Self, TypeVar

import numpy as np

from regard.desk.finite_answers import known, known_parts, known_weight_slopes, known_zeroed
from regard.desk.padding import DenseSite, RowOf, unpadded_gradients, unpadded_sites
from regard.desk.questions import Base, Bundle, DeskQuestion, ReadRows
from regard.models.ask import decomposition as decompositions
from regard.models.ask.value_zeroing import value_zeroing
from regard.models.ask.weight_slopes import predicted_weight_slopes, weight_slopes
from regard.protocols import Case, Parts, SiteAttention, WeightGradientKind, WeightSlopes, Zeroed
from regard.records import Attention, Site

if TYPE_CHECKING:
    from regard.desk.desk import Desk

R = TypeVar("R")
TOGETHER = 1024
"""Maximum positions of examples of one length that share a pass."""
NEAR = 0.2
"""Maximum difference in length of examples that share a pass under pooling attention."""


@dataclass(frozen=True)
class _Shared(DeskQuestion[R]):
    """Question whose pass also answers it for other examples. beside: the examples expected next."""

    beside: Sequence[str] = field(default=(), compare=False, kw_only=True)

    def look(self, desk: Desk) -> None:
        """Run a pass and cache the answers for all of its examples, this one last."""
        raise NotImplementedError

    @classmethod
    def compute(cls, desk: Desk, questions: Sequence[Self]) -> list[R]:
        answers: list[R] = []
        for question in questions:
            if question not in desk.cache:
                question.look(desk)
            answers.append(desk.cache[question])
        return answers


@dataclass(frozen=True)
class Sites(_Shared[Sequence[SiteAttention]]):
    """The attention sites of one example alone: no padding, whatever the model's layout."""

    def look(self, desk: Desk) -> None:
        frozen = WeightGradients(self.example, "frozen")
        if desk.pools and frozen in desk.cache:  # the pass for the gradients met the same weights
            (slopes,) = desk.ask([frozen])
            sites = [DenseSite(Attention(s.site, np.array(s.weights[None]), None, "first")) for s in slopes]
            desk.cache.store(self, sites)
            return
        names = _alike(desk, self.example, [other for other in self.beside if Sites(other) not in desk.cache])
        examples = _captured(desk, names)
        if examples is None:
            names, examples = [self.example], [_capture(desk, [self.example])]
        for name, sites_of_one in zip(names, examples, strict=True):
            desk.cache.store(Sites(name), sites_of_one)
        desk.pools = all(site.site.kind == "pooling" for site in examples[0])
        desk.meter.charge(forwards=len(names))


def _captured(desk: Desk, names: Sequence[str]) -> list[Sequence[SiteAttention]] | None:
    """Sites of each of these; None if the rows of a pass are not these examples alone."""
    sites = _capture(desk, names)
    lengths = [desk.encoded(name).length for name in names]
    if len(names) == 1:
        return [sites]
    if any(site.shape[0] != len(names) for site in sites):  # examples are cut into pieces
        desk.pools = False
        return None
    if all(site.site.kind == "pooling" for site in sites):
        examples = unpadded_sites([site.dense() for site in sites], lengths)
        desk.pools = desk.pools and examples is not None
        return examples
    if len(set(lengths)) > 1:
        return None
    return [[RowOf(site, row) for site in sites] for row in range(len(names))]


def _capture(desk: Desk, names: Sequence[str]) -> Sequence[SiteAttention]:
    """Sites of a pass whose answers are finite."""
    capture = desk.model.capture([desk.encoded(name) for name in names], desk.targets(names))
    known(capture.answers, desk.model.name)
    return capture.sites


def _alike(desk: Desk, name: str, others: Sequence[str]) -> list[str]:
    """The example and others that fit in a batch with it."""
    names = _near(desk, name, others)
    if any(isinstance(target, list) for target in desk.targets(names)):
        return [name]  # what is written differs in length, whatever is read
    return names


def _near(desk: Desk, name: str, others: Sequence[str]) -> list[str]:
    """The example and others of the same length; of similar length under pooling attention."""
    shape, length = desk.shape(name), desk.encoded(name).length
    if desk.pools:
        distances = [(abs(desk.encoded(o).length - length), o) for o in others if o != name]
        neighbours = [other for distance, other in sorted(distances) if distance <= NEAR * length]
    else:
        neighbours = [other for other in others if other != name and desk.shape(other) == shape]
    room = TOGETHER * 2 if desk.pools else TOGETHER
    return [name, *neighbours][: max(1, min(desk.batching.rows, room // max(1, length)))]


@dataclass(frozen=True)
class WeightGradients(_Shared[Sequence[WeightSlopes]]):
    """Gradients with respect to the attention weights of every site."""

    kind: WeightGradientKind
    large: ClassVar[bool] = True

    def look(self, desk: Desk) -> None:
        others = [other for other in self.beside if WeightGradients(other, self.kind) not in desk.cache]
        if Base(self.example) not in desk.cache and self._decided(desk, others):
            return
        names = _alike(desk, self.example, others)
        encoded, targets = [desk.encoded(name) for name in names], desk.targets(names)
        if not self._cache(desk, names, [*weight_slopes(desk.model, encoded, targets, self.kind)]):
            # padding that is not at the end: one by one, which is right whatever the layout
            each = zip(names, encoded, targets, strict=True)
            for name, item, target in reversed([*each]):
                self._cache(desk, [name], weight_slopes(desk.model, [item], [target], self.kind))
        desk.meter.charge(forwards=len(names), backwards=len(names))

    def _decided(self, desk: Desk, others: Sequence[str]) -> bool:
        """Compute the missing base answers and the gradients in one pass; False if that fails."""
        if desk.origin is not None or not predicted_weight_slopes.supports(desk.model):
            return False
        names = _near(desk, self.example, [other for other in others if Base(other) not in desk.cache])
        results = predicted_weight_slopes(desk.model, [desk.encoded(name) for name in names], self.kind)
        if results is None:
            return False
        rows, targets, gradients = results
        answers = desk.split(rows)
        if not self._cache(desk, names, gradients):
            return False
        for name, decision in zip(names, zip(answers, targets, strict=True), strict=True):
            desk.cache.store(Base(name), decision)
        desk.meter.charge(forwards=len(names), backwards=len(names))
        return True

    def _cache(self, desk: Desk, names: Sequence[str], gradients: Sequence[Sequence[WeightSlopes]]) -> bool:
        """Cache the gradients of a pass; False, and nothing cached, if its padding cannot be cut off."""
        for one in gradients:
            known_weight_slopes(one, desk.model.name)
        examples = unpadded_gradients(gradients, [desk.encoded(name).length for name in names])
        if examples is None:
            return False
        for name, one in reversed([*zip(names, examples, strict=True)]):
            desk.cache.store(WeightGradients(name, self.kind), one, large=True)
        return True


def weight_gradients(case: Case, i: int, kind: WeightGradientKind = "in_graph") -> Sequence[WeightSlopes]:
    """Gradients with respect to the attention weights of every site of example i, in the order of the pass."""
    return case.ask([WeightGradients(case.ids[i], kind, beside=case.ids)])[0]


@dataclass(frozen=True)
class _OfSite(DeskQuestion[R]):
    """A question about one site; all sites of an example are answered in one call."""

    site: str
    large: ClassVar[bool] = True

    @classmethod
    def requests(cls, questions: Sequence[Self]) -> int:
        return len({question.example for question in questions})

    def bundle(self, place: int) -> Hashable:
        return self.example

    @classmethod
    def group(cls, bundle: Sequence[Self]) -> Hashable:
        return bundle[0].example


@dataclass(frozen=True)
class Decomposition(_OfSite[Parts]):
    """Per-key vectors whose sum is the attention output of a site."""

    @classmethod
    def cost(cls, bundle: Sequence[Self], answers: Sequence[Parts]) -> int:
        # each site is reached once, and the layers together are then asked for each head
        return 1 + len(bundle) + max(part.site.heads for part in answers)

    @classmethod
    def answers(cls, desk: Desk, batch: Sequence[Bundle]) -> list[list[Parts]]:
        ((bundle, encoded),) = batch
        parts = decompositions.decomposition(
            desk.model, encoded, desk.target(bundle[0].example), [question.site for question in bundle]
        )
        by_site = {part.site.key: part for part in known_parts(parts, desk.model.name)}
        return [[by_site[question.site] for question in bundle]]


@dataclass(frozen=True)
class ZeroedValues(_OfSite[Zeroed]):
    """Distance that the layer output around a site moves when the value of one key is zero, for every key."""

    @classmethod
    def cost(cls, bundle: Sequence[Self], answers: Sequence[Zeroed]) -> int:
        return 1 + len(bundle) + int(max(zeroed.distance.shape[1] for zeroed in answers))

    @classmethod
    def answers(cls, desk: Desk, batch: Sequence[Bundle]) -> list[list[Zeroed]]:
        ((bundle, encoded),) = batch
        outputs = value_zeroing(
            desk.model, encoded, desk.target(bundle[0].example), [question.site for question in bundle]
        )
        by_site = {zeroed.site.key: zeroed for zeroed in known_zeroed(outputs, desk.model.name)}
        return [[by_site[question.site] for question in bundle]]


def decomposition(case: Case, i: int, sites: Sequence[str]) -> list[Parts]:
    """The decomposition of the attention output of these sites (their keys) of example i."""
    return case.ask([Decomposition(case.ids[i], site) for site in sites])


def zeroed_values(case: Case, i: int, sites: Sequence[str]) -> list[Zeroed]:
    """Return the change of the layers around these sites (their keys) when one key of example i has a zero value."""
    return case.ask([ZeroedValues(case.ids[i], site) for site in sites])


def read_rows(case: Case, i: int, site: Site) -> tuple[int, ...]:
    """The query rows of a site that the objective of example i reads."""
    return case.ask([ReadRows(case.ids[i], site)])[0]
