"""What an audit will cost, before it starts: the same methods and the same desk, over a model that only counts.

The stand-in answers with numbers made of the question, so methods whose requests do not depend on the answers are
counted exactly; methods that look at the answers (the k most relevant units) are counted as if answers were random.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.audits.shard import Settings, compute
from regard.errors import Unsupported
from regard.protocols import (
    Capture,
    Check,
    Continuous,
    Edits,
    Encoded,
    Lexicon,
    Mode,
    Model,
    Parts,
    Point,
    Read,
    SiteAttention,
    Slopes,
    Steered,
    Target,
    Together,
    WeightGradientKind,
    WeightSlopes,
    Zeroed,
)
from regard.records import Answers, Attention, Bools, Edit, Example, Floats, Ints, Json, Site, Spec, Units
from regard.store.shard_result import Cost

_ROWS = 8
MOST_KINDS = 12
ABOVE = 0.25
"""What lies above an edited attention, as a share of the whole pass: about one layer of four."""


@dataclass(frozen=True, slots=True)
class Probe:
    """What one real look at the model tells: its sites and its speed. Refusals are kept as they were given."""

    length: int
    target: Target
    classes: int | None
    sites: tuple[tuple[Site, tuple[int, int, int, int]], ...]
    no_capture: Unsupported | None
    no_slopes: Unsupported | None
    forward_seconds: float
    slope_seconds: float
    capture_seconds: float
    checked: str = "never"
    rejected: tuple[tuple[str, str], ...] = ()


def probe(model: Model, encoded: Encoded, rng: np.random.Generator) -> Probe:
    """Time the model on half of an example, so that no question of the audit itself is asked twice."""
    free = np.flatnonzero(encoded.units.free)
    drop = np.zeros(len(encoded.units), np.bool_)
    drop[free[: max(1, len(free) // 2)]] = True
    half = model.remove(encoded, drop, model.operators[0], rng)
    answers, (target,) = model.decide([half])
    forward = _seconds(lambda: model.forward([half] * _ROWS, [target] * _ROWS)) / _ROWS
    sites: tuple[tuple[Site, tuple[int, int, int, int]], ...] = ()
    no_capture = no_slopes = None
    slope = capture = 0.0
    checked = "never"
    rejected: tuple[tuple[str, str], ...] = ()
    try:
        first = model.capture([half], [target])
        sites, checked, rejected = tuple((s.site, s.shape) for s in first.sites), first.checked, tuple(first.rejected)
        capture = _seconds(lambda: model.capture([half], [target]))
    except Unsupported as error:
        no_capture = error
    try:
        path = [Point(alpha=(k + 0.5) / _ROWS) for k in range(_ROWS)]
        slope = _seconds(lambda: model.slopes([half] * 2, [target] * 2, path)) / (2 * _ROWS)
    except Unsupported as error:
        no_slopes = error
    classes = None if answers.distribution is None else int(np.shape(answers.distribution)[1])
    return Probe(half.length, target, classes, sites, no_capture, no_slopes, forward, slope, capture, checked, rejected)


def _seconds(call: Callable[[], object]) -> float:
    """The fastest of three calls: the first one may have to warm up, and the machine may be busy."""
    spent = []
    for _ in range(3):
        start = time.perf_counter()
        call()
        spent.append(time.perf_counter() - start)
    return min(spent)


@dataclass(frozen=True, slots=True)
class _Ghost:
    """An encoded example without its content."""

    units: Units
    length: int
    key: int

    def random(self, *more: int) -> np.random.Generator:
        return np.random.default_rng([self.key, *more])


@dataclass(frozen=True, slots=True)
class _GhostSite:
    """Attention of the right shape, made up."""

    site: Site
    shape: tuple[int, int, int, int]
    ghosts: tuple[_Ghost, ...]

    def _weights(self) -> NDArray[np.float32]:
        key, shape = zlib.crc32(self.site.key.encode()), self.shape[1:]
        weights = np.stack([ghost.random(key).random(shape, np.float32) for ghost in self.ghosts])
        return np.asarray(weights / weights.sum(-1, keepdims=True), np.float32)

    def rows(self, example: int, queries: Sequence[int], heads: Sequence[int] | None = None) -> NDArray[np.float32]:
        chosen = self._weights()[example][:, list(queries)]
        return np.asarray(chosen if heads is None else chosen[list(heads)], np.float32)

    def dense(self) -> Attention:
        return Attention(self.site, self._weights())


@dataclass(frozen=True, slots=True)
class _GhostFunction:
    """A function of one number per unit, made up; who asks for it works with torch anyway."""

    ghost: _Ghost
    spend: Callable[[int], None]

    @property
    def x(self) -> Any:
        import torch

        return torch.from_numpy(self.ghost.random().normal(size=(1, len(self.ghost.units)))).float()

    @property
    def owner(self) -> Any:
        import torch

        return torch.arange(len(self.ghost.units))[None]

    @property
    def module(self) -> Any:
        import torch

        return torch.nn.Identity()

    def baseline(self, name: str) -> Any:
        return self.x * 0

    def __call__(self, x: Any) -> Any:
        self.spend(len(x))
        return x.sum(-1)


@dataclass(frozen=True, slots=True)
class _GhostCapture:
    sites: Sequence[SiteAttention]
    units: Sequence[Units]
    answers: Answers
    rejected: Sequence[tuple[str, str]] = ()
    checked: str = "never"


@dataclass(frozen=True, slots=True)
class _GhostSteering:
    """Equal probabilities, which depend on the weights in the eyes of autograd alone."""

    classes: int
    spend: Callable[[int], None]

    def __call__(self, weights: Sequence[Any]) -> Any:
        self.spend(len(weights[0]))
        nothing = sum(w.flatten(1).sum(1, keepdim=True) for w in weights) * 0
        return nothing + nothing.new_full((1, self.classes), 1 / self.classes)


@dataclass(frozen=True)
class _GhostTogether:
    """The inputs as they are and equal answers, which depend on them in the eyes of autograd alone."""

    examples: tuple[Example, ...]
    real: Together
    classes: int
    spend: Callable[[int], None]

    @property
    def x(self) -> Any:
        return self.real.x

    @property
    def free(self) -> Any:
        return self.real.free

    @property
    def owner(self) -> Any:
        return self.real.owner

    @property
    def user(self) -> bool:
        return self.real.user

    def logits(self, x: Any, rows: Sequence[int] | None = None) -> Any:
        self.spend(len(x))
        return (x.flatten(1).sum(1, keepdim=True) * 0).expand(-1, self.classes)

    def back(self, row: int, x: Any) -> Example:
        return self.real.back(row, x)


def _variants(edits: Sequence[Edit]) -> int:
    return 0 if not edits or edits[0].values is None else len(edits[0].values)


class CountingModel:
    """Implements `protocols.Model` without ever running the model; `seconds` is what that would have taken."""

    def __init__(self, model: Model, seen: Probe) -> None:
        self._model, self._probe = model, seen
        self.seconds = 0.0

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def task(self) -> str:
        return self._model.task

    @property
    def labels(self) -> tuple[str, ...]:
        return self._model.labels

    @property
    def operators(self) -> tuple[str, ...]:
        return self._model.operators

    @property
    def baselines(self) -> tuple[str, ...]:
        return self._model.baselines

    @property
    def fingerprint(self) -> str:
        return self._model.fingerprint

    @property
    def spec(self) -> Spec | None:
        return None

    def encode(self, example: Example) -> Encoded:
        real = self._model.encode(example)
        return _Ghost(real.units, real.length, zlib.crc32(example.id.encode()))

    def windows(self, example: Example) -> list[Example]:
        return [example]

    def remove(self, encoded: Encoded, drop: Bools, operator: str, rng: np.random.Generator) -> Encoded:
        return _Ghost(encoded.units, encoded.length, zlib.crc32(drop.tobytes(), _ghost(encoded).key))

    def decide(self, batch: Sequence[Encoded]) -> tuple[Answers, list[Target]]:
        return self.forward(batch, []), [self._probe.target] * len(batch)

    def forward(self, batch: Sequence[Encoded], targets: Sequence[Target], edits: Edits = ()) -> Answers:
        self._spend(batch, self._probe.forward_seconds)
        share = np.array([_ghost(e).key / 2**32 for e in batch])
        many = self._probe.classes
        rows = None if many is None else np.full((len(batch), many), 1.0 / many)
        return Answers(np.arange(len(batch) + 1, dtype=np.int64), 4 * share - 2, share, rows)

    def capture(
        self, batch: Sequence[Encoded], targets: Sequence[Target], *, mode: Mode = "qk", check: Check = "first"
    ) -> Capture:
        if self._probe.no_capture is not None:
            raise self._probe.no_capture
        ghosts = tuple(_ghost(e) for e in batch)
        ghost = ghosts[0]
        self._spend(batch, self._probe.capture_seconds)

        def scaled(size: int) -> int:  # an axis as long as the probe stands for positions
            return ghost.length if size == self._probe.length else size

        sites = [
            _GhostSite(site, (len(ghosts), heads, scaled(queries), scaled(keys)), ghosts)
            for site, (_, heads, queries, keys) in self._probe.sites
        ]
        answers = Answers(np.arange(len(ghosts) + 1), np.zeros(len(ghosts)), np.full(len(ghosts), 0.5))
        return _GhostCapture(sites, [g.units for g in ghosts], answers)

    def slopes(self, batch: Sequence[Encoded], targets: Sequence[Target], points: Sequence[Point]) -> list[Slopes]:
        if self._probe.no_slopes is not None:
            raise self._probe.no_slopes
        self._spend(batch, self._probe.slope_seconds * len(points))
        found = []
        for e in batch:
            dot: Floats = _ghost(e).random().normal(size=(len(points), len(e.units))) * e.units.free
            found.append(Slopes(dot, np.abs(dot), np.zeros(len(points)), (1.0, 0.0)))
        return found

    def continuous(self, encoded: Encoded, target: Target) -> Continuous:
        if self._probe.no_slopes is not None:
            raise self._probe.no_slopes
        ghost = _ghost(encoded)
        return _GhostFunction(ghost, lambda rows: self._spend([ghost] * rows, self._probe.slope_seconds))

    def input_gradients(self, batch: Sequence[Encoded], targets: Sequence[Target]) -> list[NDArray[np.float32]]:
        if self._probe.no_slopes is not None:
            raise self._probe.no_slopes
        self._spend(batch, self._probe.slope_seconds)
        return [_ghost(e).random(1).standard_normal((len(e.units), 8)).astype(np.float32) for e in batch]

    def lexicon(self) -> Lexicon:
        real = self._model.lexicon()
        few = np.random.default_rng(0).standard_normal((len(real.ids), 8)).astype(np.float32)
        return replace(real, vectors=few)  # as wide as the gradients that are made up

    def tokens(self, encoded: Encoded) -> Ints:
        return np.zeros(len(encoded.units), np.int64)

    def together(self, examples: Sequence[Example]) -> Together:
        if self._probe.no_slopes is not None:
            raise self._probe.no_slopes
        ghosts = [_ghost(self.encode(example)) for example in examples]
        classes = self._probe.classes or 2
        return _GhostTogether(
            tuple(examples), self._model.together(examples), classes,
            lambda rows: self._spend(ghosts[:1] * rows, self._probe.slope_seconds),
        )  # fmt: skip

    def nearly(
        self, encoded: Encoded, target: Target, variants: Sequence[Encoded], schedule: Sequence[float]
    ) -> Answers:
        before = self.seconds
        answers = self.forward(variants, [])
        self.seconds = before + (self.seconds - before) * float(np.mean(schedule))
        return answers

    def reading(self, encoded: Encoded, target: Target, site: Site) -> tuple[int, ...]:
        return (0,)

    def weight_slopes(self, encoded: Encoded, target: Target, kind: WeightGradientKind) -> Sequence[WeightSlopes]:
        if self._probe.no_slopes is not None:
            raise self._probe.no_slopes
        self._spend([encoded], self._probe.slope_seconds)
        found = []
        for site in self.capture([encoded], [target]).sites:
            weights = site.dense().weights[0]
            found.append(WeightSlopes(site.site, weights, weights))
        return found

    def weight_slopes_each(
        self, batch: Sequence[Encoded], targets: Sequence[Target], kind: WeightGradientKind
    ) -> Sequence[Sequence[WeightSlopes]]:
        return [self.weight_slopes(encoded, None, kind) for encoded in batch]

    def parts(self, encoded: Encoded, target: Target, keys: Sequence[str]) -> Sequence[Parts]:
        found = []
        for site in self._these(encoded, target, keys):
            weights = site.dense().weights[0]
            self._spend([encoded] * (1 + site.site.heads), self._probe.forward_seconds)
            values = np.ones((len(weights), weights.shape[2], 1), np.float32)
            own = np.ones((weights.shape[1], 1), np.float32)
            found.append(Parts(site.site, weights, values, own, own[0] * 0, own + len(weights), (), 0.0))
        return found

    def zeroed(self, encoded: Encoded, target: Target, keys: Sequence[str]) -> Sequence[Zeroed]:
        found = []
        for site in self._these(encoded, target, keys):
            weights = site.dense().weights[0]
            self._spend([encoded] * weights.shape[2], self._probe.forward_seconds / max(1, len(self._probe.sites)))
            found.append(Zeroed(site.site, weights.mean(0, dtype=np.float64), 0.0))
        return found

    def noisy(self, encoded: Encoded, noise: float, rng: np.random.Generator) -> tuple[Encoded, float]:
        if self._probe.no_slopes is not None:  # continuous inputs are what gradients are taken of
            raise self._probe.no_slopes
        return _Ghost(encoded.units, encoded.length, int(rng.integers(2**32))), noise

    def reordered(self, encoded: Encoded, order: Ints) -> Encoded:
        return _Ghost(encoded.units, encoded.length, zlib.crc32(order.tobytes(), _ghost(encoded).key))

    def routed(
        self,
        encoded: Encoded,
        target: Target,
        reads: Sequence[Read],
        donors: Sequence[tuple[Encoded, Target, Sequence[Read]]],
    ) -> Answers:
        self._spend([e for e, _, _ in donors] * 2, self._probe.forward_seconds)
        return self.forward([encoded] * len(donors), [])

    def swept(self, batch: Sequence[Encoded], targets: Sequence[Target], edits: Sequence[Sequence[Edit]]) -> Answers:
        rows = [e for e, some in zip(batch, edits, strict=True) for _ in range(_variants(some))]
        before = self.seconds
        answers = self.forward(rows, [])
        self.seconds = before + (self.seconds - before) * ABOVE
        return answers

    def steered(self, encoded: Encoded, target: Target, places: Sequence[Edit]) -> Steered:
        if self._probe.no_slopes is not None:
            raise self._probe.no_slopes
        return _GhostSteering(
            self._probe.classes or 1, lambda rows: self._spend([encoded] * rows, ABOVE * self._probe.slope_seconds)
        )

    def randomised(self, share: float, draw: int) -> CountingModel:
        return self  # it answers at random as it is

    def _these(self, encoded: Encoded, target: Target, keys: Sequence[str]) -> list[SiteAttention]:
        by_key = {site.site.key: site for site in self.capture([encoded], [target]).sites}
        return [by_key[key] for key in keys]

    def _spend(self, batch: Sequence[Encoded], seconds: float) -> None:
        self.seconds += seconds * sum(e.length for e in batch) / max(1, self._probe.length)


def _ghost(encoded: Encoded) -> _Ghost:
    if not isinstance(encoded, _Ghost):
        raise TypeError(f"a counting model was given {type(encoded).__name__}")
    return encoded


@dataclass(frozen=True, slots=True)
class Estimate:
    """What an audit will cost. `skipped` are methods that this model does not support."""

    examples: int
    forwards: int
    backwards: int
    seconds: float
    methods: tuple[Cost, ...]
    skipped: dict[str, str]

    def to_json(self) -> dict[str, Json]:
        return {
            "examples": self.examples, "forwards": self.forwards, "backwards": self.backwards,
            "seconds": round(self.seconds, 2), "skipped": dict(self.skipped),
        }  # fmt: skip


def estimate(model: Model, examples: Sequence[Example], settings: Settings, seen: Probe) -> Estimate:
    """The cost of all examples. Those with the same number of units cost the same, so one of each kind is counted.

    Of more than MOST_KINDS kinds, neighbours in length are counted as one: what methods do grows evenly with length.
    """
    kinds: dict[tuple[int, int, int], list[Example]] = {}
    for example in examples:
        try:
            encoded = model.encode(example)
        except Exception:  # it will be reported when its turn comes
            continue
        units = encoded.units
        kinds.setdefault((encoded.length, len(units), int(units.free.sum())), []).append(example)
    total: dict[tuple[str, str], Cost] = {}
    skipped: dict[str, str] = {}
    for number, alike in enumerate(_few(kinds)):
        if not number:  # what is only paid once (imports, first calls) is not multiplied
            compute(CountingModel(model, seen), alike[:1], settings)
        counter = CountingModel(model, seen)
        page = compute(counter, alike[:1], settings)
        skipped.update(page.skipped)
        own = sum(c.seconds for c in page.costs) + counter.seconds
        spent = sum(c.forwards + c.backwards for c in page.costs) or 1
        for c in page.costs:
            m = len(alike)
            share = own * (c.forwards + c.backwards) / spent
            cost = Cost(c.kind, c.method, share * m, c.forwards * m, c.backwards * m, c.requests * m)
            key = (c.kind, c.method)
            total[key] = total[key].plus(cost) if key in total else cost
    costs = tuple(total.values())
    return Estimate(
        sum(map(len, kinds.values())), sum(c.forwards for c in costs), sum(c.backwards for c in costs),
        sum(c.seconds for c in costs), costs, skipped,
    )  # fmt: skip


def _few(kinds: Mapping[tuple[int, int, int], list[Example]]) -> list[list[Example]]:
    """Groups of examples that cost about the same, the one of middling length first."""
    if len(kinds) <= MOST_KINDS:
        return list(kinds.values())
    sorted_ = [example for key in sorted(kinds) for example in kinds[key]]
    cuts = np.linspace(0, len(sorted_), MOST_KINDS + 1).astype(int).tolist()
    groups = [sorted_[a:b] for a, b in pairwise(cuts)]
    return [[group[len(group) // 2], *group[: len(group) // 2], *group[len(group) // 2 + 1 :]] for group in groups]
