"""A toy case with a known answer: a linear bag of words, without torch.

    value = +-(sum of word weights), the sign being that of the predicted class

so the exact attribution of a word is its weight, whichever way it is asked for: gradient, integrated gradient, or
removal by deletion. Its attention is shown but not used (`edited` changes nothing): by construction, attention here
explains exactly as much as it was given to, `ToyCase.exact`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from regard.desk.unit_alignment import unit_origins
from regard.errors import InputError, Unsupported
from regard.measures.keyed_random import keyed_rng
from regard.perturbations.apply import perturbed
from regard.protocols import (
    Change,
    Continuous,
    Lexicon,
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
from regard.records import (
    Answers,
    Attacked,
    Attention,
    Bools,
    Edit,
    Example,
    Floats,
    Ints,
    Perturbed,
    Relevance,
    Site,
    Spec,
    Threat,
    Units,
    frozen,
)
from regard.registry import build

TEXTS = (
    "a truly wonderful film with a dull middle",
    "dull",
    "not bad not good just long and very very long",
    "wonderful wonderful cast terrible script",
    "terrible terrible terrible ending",
    "",
)
WEIGHTS = {"wonderful": 2.0, "good": 1.0, "truly": 0.6, "dull": -1.2, "terrible": -1.9, "bad": -0.9, "not": -0.3}
SPECIAL_WEIGHT = 0.25
"""What [CLS] adds; a method that gives it away to a word is caught."""

Flavour = Literal["pooling", "layers", "windowed", "none"]
OPERATORS = ("delete", "mask")
_MASK_WEIGHT = 0.03
DECISIVE = 0.5
"""A listed word that adds at least this much to the prediction belongs to the rationale."""


@dataclass(frozen=True, slots=True, eq=False)
class ToySite:
    """Implements `protocols.SiteAttention` over a given (1, head, query, key) array."""

    site: Site
    weights: NDArray[np.float32]

    @property
    def shape(self) -> tuple[int, int, int, int]:
        return self.dense().shape

    def rows(self, example: int, queries: Sequence[int], heads: Sequence[int] | None = None) -> NDArray[np.float32]:
        chosen = self.weights[example] if heads is None else self.weights[example][list(heads)]
        return np.asarray(chosen[:, list(queries)])

    def dense(self) -> Attention:
        return Attention(self.site, self.weights, checked="given")


@dataclass(frozen=True)
class _ToyFunction:
    """Implements `protocols.Continuous`: x is what each unit adds. Who asks for it works with torch anyway."""

    weights: Floats
    sign: int
    link: str

    @property
    def x(self) -> Any:
        import torch

        return torch.from_numpy(self.weights[None].copy())

    @property
    def owner(self) -> Any:
        import torch

        return torch.arange(len(self.weights))[None]

    @property
    def module(self) -> Any:
        import torch

        return torch.nn.Identity()

    def baseline(self, name: str) -> Any:
        away = self.x * 0
        away[:, 0] = self.x[:, 0]
        return away

    def __call__(self, x: Any) -> Any:
        total = x.sum(-1)
        return self.sign * (total if self.link == "linear" else total.tanh())


@dataclass(frozen=True)
class ToyCase:
    """Implements `protocols.Case`. link "tanh" bends the sum, so that gradients at one point are no longer exact.

    flavour: "pooling" (one additive attention that follows the word weights), "layers" (two square self-attentions,
    read at [CLS]), "windowed" (keys that are not the units), "none". lean: what [CLS] adds, so also for an
    empty text. noise, spoilt: what a variant of the case differs in (see `noisy` and `randomised`). before, perturbed:
    the examples as they were, and what `changed` made of them. signs: what `instead` asks about, 1 or -1.

    >>> case = ToyCase(("wonderful film",))
    >>> case.units[0].names, case.exact(0).tolist()
    (('[CLS]', 'wonderful', 'film'), [0.0, 2.0, 0.11])
    >>> case.base().value.tolist()
    [2.36]
    """

    texts: tuple[str, ...] = TEXTS
    seed: int = 0
    flavour: Flavour = "pooling"
    link: Literal["linear", "tanh"] = "linear"
    weights: Mapping[str, float] = field(default_factory=lambda: WEIGHTS)
    calls: Counter[str] = field(default_factory=Counter)
    lean: float = SPECIAL_WEIGHT
    noise: tuple[float, int] | None = None
    spoilt: tuple[Change, int] | None = None
    before: tuple[Example, ...] | None = None
    perturbed: tuple[Perturbed, ...] = ()
    signs: tuple[int, ...] | None = None

    def subset(self, positions: Sequence[int]) -> ToyCase:
        """Some of the examples, in that order."""
        before = None if self.before is None else tuple(self.before[i] for i in positions)
        made = tuple(self.perturbed[i] for i in positions) if self.perturbed else ()
        texts = tuple(self.texts[i] for i in positions)
        return replace(self, texts=texts, before=before, perturbed=made, calls=Counter())

    def word_weights(self, i: int) -> Floats:
        """(n,) what each unit adds to the sum, [CLS] first; unlisted words add a little, by their length."""
        w = self._trained_weights(i)
        if self.spoilt is not None and self.spoilt[0] != "head":
            words = ("[CLS]", *self.texts[i].split())  # a word has one weight wherever it stands
            w = np.array([keyed_rng(self.seed, *self.spoilt, word).standard_normal() for word in words])
        return w + self._shift(i)

    def _trained_weights(self, i: int) -> Floats:
        words = self.texts[i].split()
        return np.array([self.lean, *(self.weights.get(w, 0.03 * len(w) - 0.01) for w in words)])

    def _shift(self, i: int) -> Floats:
        """The noise in what each unit adds; none on [CLS]."""
        w = self._trained_weights(i)
        if self.noise is None or len(w) < 2:
            return np.zeros(len(w))
        drawn = keyed_rng(self.seed, self.ids[i], "noisy", *self.noise).standard_normal(len(w))
        return np.where(np.arange(len(w)) > 0, self.noise[0] * np.sqrt(np.mean(w[1:] ** 2)) * drawn, 0.0)

    def exact(self, i: int) -> Floats:
        """(n,) the true relevance of each unit for the predicted class (linear link); special units 0."""
        return np.where(_units(self.texts[i]).free, self._sign(i) * self.word_weights(i), 0.0)

    def _sign(self, i: int) -> int:
        if self.signs is not None:
            return self.signs[i]
        # the targets of a variant are those of the case
        first = self if self.before is None else self._unchanged()
        predicted = 1 if first._trained_weights(i).sum() >= 0 else -1
        return -predicted if self.spoilt is not None and self.spoilt[0] == "head" else predicted

    def _unchanged(self) -> ToyCase:
        texts = tuple(str(example.inputs["text"]) for example in self.before or self.examples)
        return replace(self, texts=texts, before=None, perturbed=())

    def _bend(self, z: Floats) -> Floats:
        return z if self.link == "linear" else np.tanh(z)

    # what `Case` asks for
    @property
    def ids(self) -> tuple[str, ...]:
        if self.before is not None:
            return tuple(example.id for example in self.before)
        return tuple(f"toy:{text}" for text in self.texts)

    @property
    def examples(self) -> tuple[Example, ...]:
        if self.before is not None:
            return tuple(made.example for made in self.perturbed)
        return tuple(
            Example(name, {"text": text}, rationale=self._rationale(i))
            for i, (name, text) in enumerate(zip(self.ids, self.texts, strict=True))
        )

    def _rationale(self, i: int) -> tuple[tuple[float, ...], ...]:
        """The places of the listed words that speak for the prediction, whatever the variant."""
        trained, units = replace(self, noise=None, spoilt=None), _units(self.texts[i])
        decisive = (trained.exact(i) >= DECISIVE) & [name in self.weights for name in units.names]
        return tuple(tuple(map(float, units.places[j])) for j in np.flatnonzero(decisive))

    @property
    def units(self) -> tuple[Units, ...]:
        return tuple(_units(text) for text in self.texts)

    @property
    def targets(self) -> tuple[Target, ...]:
        return tuple(int(self._sign(i) > 0) for i in range(len(self.texts)))

    @property
    def labels(self) -> tuple[str, ...]:
        return ("negative", "positive")

    @property
    def explainers(self) -> tuple[str, ...]:
        return ("attention", "leave_one_out", "random")

    @property
    def operators(self) -> tuple[str, ...]:
        return OPERATORS

    @property
    def baselines(self) -> tuple[str, ...]:
        return ("zero",)

    def base(self) -> Answers:
        self.calls["base"] += len(self.texts)
        return self._answers([self.word_weights(i)[None] for i in range(len(self.texts))])

    def removed(self, drops: Sequence[Bools], operator: str | None = None) -> Answers:
        chosen = operator or OPERATORS[0]
        if chosen not in OPERATORS:
            raise InputError(f"operator {chosen!r}", expected=f"one of {', '.join(OPERATORS)}", got=chosen)
        left = []
        for i, (units, rows) in enumerate(zip(self.units, drops, strict=True)):
            if np.shape(rows)[1:] != (len(units),):
                raise InputError(f"drops of {self.ids[i]}", expected=f"(k, {len(units)})", got=str(np.shape(rows)))
            instead = 0.0 if chosen == "delete" else _MASK_WEIGHT
            left.append(np.where(np.logical_and(rows, units.free), instead, self.word_weights(i)))
            self.calls["removed"] += len(rows)
        return self._answers(left)

    def nearly_removed(self, drops: Sequence[Bools], schedule: Sequence[float], operator: str | None = None) -> Answers:
        return self.removed(drops, operator)  # there are no layers to save work in

    def _answers(self, rows: Sequence[Floats]) -> Answers:
        signs = np.repeat([self._sign(i) for i in range(len(rows))], [len(r) for r in rows])
        sums = np.concatenate([r.sum(-1) for r in rows]) if rows else np.zeros(0)
        value = signs * self._bend(sums)
        probability = 1 / (1 + np.exp(-value))
        first = np.where(signs > 0, 1 - probability, probability)
        offsets = np.concatenate([[0], np.cumsum([len(r) for r in rows])]).astype(np.int64)
        # read-only: at a real desk all methods look at the same arrays
        both = np.stack([first, 1 - first], -1)
        return Answers(frozen(offsets, np.int64), frozen(value), frozen(probability), frozen(both))

    def slopes(self, points: Sequence[Point]) -> list[Slopes]:
        if any(p.baseline != "zero" for p in points):
            raise Unsupported("the toy case", expected='baseline "zero"', got="another")
        out = []
        for i in range(len(self.texts)):
            w, sign = self.word_weights(i), self._sign(i)
            self.calls["slopes"] += len(points)
            shift = [
                p.noise and p.noise * keyed_rng(self.seed, self.ids[i], "noise", p.draw).standard_normal(len(w)).sum()
                for p in points
            ]
            at = np.array([p.alpha for p in points]) * w.sum() + np.array(shift)
            steep = np.ones(len(points)) if self.link == "linear" else 1 / np.cosh(at) ** 2
            ends = (float(sign * self._bend(w.sum())), 0.0)
            norm = np.broadcast_to(steep[:, None], (len(points), len(w)))
            out.append(Slopes(frozen(sign * steep[:, None] * w), norm, frozen(sign * self._bend(at)), ends))
        return out

    def continuous(self, i: int) -> Continuous:
        self.calls["slopes"] += 1
        return _ToyFunction(self.word_weights(i), self._sign(i), self.link)

    def attention(self, i: int) -> Sequence[SiteAttention]:
        self.calls["attention"] += 1
        w = np.abs(self.word_weights(i))
        n = len(w)
        if self.flavour == "none":
            return []
        if self.flavour == "windowed":
            return [ToySite(Site("toy.window", 0, "windowed", 0, 1), frozen(np.full((1, 1, n, 2), 0.5), np.float32))]
        if self.flavour == "pooling":
            sharp = np.stack([_softmax(w), _softmax(2 * w)])
            return [ToySite(Site("toy.pool", 0, "pooling", 0, 2), frozen(sharp[None, :, None], np.float32))]
        rng = keyed_rng(0, "toy layers", self.texts[i])
        maps = frozen(rng.dirichlet(np.ones(n), size=(2, 1, 2, n)), np.float32)
        return [ToySite(Site(f"toy.layers.{k}", 0, "self", k, 2), maps[k]) for k in range(2)]

    def weight_slopes(self, i: int, kind: WeightGradientKind = "in_graph") -> Sequence[WeightSlopes]:
        """Nothing here depends on attention, and its gradient says so."""
        self.calls["slopes"] += 1
        shown = [(s.site, s.dense().weights[0]) for s in self.attention(i)]
        return [WeightSlopes(site, weights, np.zeros_like(weights)) for site, weights in shown]

    def parts(self, i: int, keys: Sequence[str]) -> Sequence[Parts]:
        """The value of a unit, in every head, is what it adds to the sum; self-attention keeps its unit."""
        made = []
        for shown in (s for s in self.attention(i) if s.site.key in keys):
            weights = shown.dense().weights[0]
            adds = self.word_weights(i).astype(np.float32)[: weights.shape[2], None]
            own = np.zeros((weights.shape[1], 1), np.float32) if shown.site.kind == "pooling" else adds
            values = np.stack([adds] * len(weights))
            whole = np.einsum("hqk,hkd->qd", weights, values) + own
            made.append(Parts(shown.site, weights, values, own, np.zeros(1, np.float32), whole, (), 0.0))
        return made

    def zeroed(self, i: int, keys: Sequence[str]) -> Sequence[Zeroed]:
        """How much of what a position is made of goes with each unit: its attention, with as much for itself."""
        made = []
        for shown in (s for s in self.attention(i) if s.site.key in keys):
            mean = shown.dense().weights[0].mean(0, dtype=np.float64)
            kept = np.eye(len(mean)) if mean.shape[0] == mean.shape[1] else 0.0
            made.append(Zeroed(shown.site, np.asarray(mean + kept) / 2, 0.0))
        return made

    def reading(self, i: int, site: Site) -> tuple[int, ...]:
        return (0,)

    def variants(self, edits: Sequence[Sequence[Sequence[Edit]]]) -> Answers:
        self.calls["edited"] += sum(map(len, edits))
        rows = [np.repeat(self.word_weights(i)[None], len(some), 0) for i, some in enumerate(edits)]
        return self._answers(rows)

    def swept(self, edits: Sequence[Sequence[Edit]]) -> Answers:
        counts = [0 if not some or some[0].values is None else len(some[0].values) for some in edits]
        self.calls["edited"] += sum(counts)
        return self._answers([np.repeat(self.word_weights(i)[None], n, 0) for i, n in enumerate(counts)])

    def steered(self, i: int, places: Sequence[Edit]) -> Steered:
        """Nothing here depends on attention, but in the eyes of autograd."""
        said = self.subset([i]).base().distribution
        assert said is not None

        def answer(weights: Sequence[Any]) -> Any:
            self.calls["edited"] += len(weights[0])
            nothing = sum(w.flatten(1).sum(1, keepdim=True) for w in weights) * 0
            return nothing + nothing.new_tensor(np.array(said))

        return answer

    def edited(self, edits: Sequence[Sequence[Edit]]) -> Answers:
        return self.base()

    def relevance(self, method: str | Spec) -> Relevance:
        spec = method if isinstance(method, Spec) else Spec.parse("explainer", method)
        if spec.name == "planted":  # the truth itself, so that metrics can ask for it again in a variant
            rows = [self.exact(i) for i in range(len(self.texts))]
            return Relevance.of("planted", self.ids, rows, signed=True)
        return cast("Relevance", build(spec)(self))

    @property
    def moved(self) -> Floats:
        sizes = [
            (np.linalg.norm(self._shift(i)), np.linalg.norm(self._trained_weights(i)[1:]))
            for i in range(len(self.texts))
        ]
        return np.array([change / whole if whole else 0.0 for change, whole in sizes])

    @property
    def companions(self) -> ToyCase:
        return replace(self, texts=tuple(text for text in TEXTS if text), calls=Counter())

    def routed(self, i: int, reads: Sequence[Read], donors: Sequence[tuple[int, Sequence[Read]]]) -> Answers:
        """Nothing here depends on attention: the answer stays what it is."""
        self.calls["edited"] += len(donors)
        rows = np.repeat(self.word_weights(i)[None], len(donors), 0)
        return self.subset([i])._answers([rows])

    @property
    def orders(self) -> tuple[Ints, ...]:
        return tuple(np.arange(len(units)) for units in self.units)

    def shuffled(self, draw: int = 0) -> ToyCase:
        raise Unsupported("the toy case", expected="texts in the order in which they are named", got="another order")

    @property
    def origins(self) -> tuple[Ints, ...]:
        if self.before is None:
            return tuple(np.arange(len(units)) for units in self.units)
        first = self._unchanged().units
        pairs = zip(first, self.units, self.before, self.perturbed, strict=True)
        return tuple(unit_origins(old, new, example, made) for old, new, example, made in pairs)

    def changed(self, noise: str | Spec, severity: int) -> ToyCase:
        spec = noise if isinstance(noise, Spec) else Spec.parse("perturbation", noise)
        made = tuple(perturbed(example, spec, severity, self.seed) for example in self.examples)
        texts = tuple(str(one.example.inputs["text"]) for one in made)
        return replace(self, texts=texts, before=self.examples, perturbed=made, calls=Counter())

    def noisy(self, noise: float, draw: int = 0) -> ToyCase:
        return replace(self, noise=(float(noise), int(draw)))

    def randomised(self, change: Change, share: float = 1.0, draw: int = 0) -> ToyCase:
        return replace(self, spoilt=(change, int(draw)))  # there is but one layer, so any share of it is all of it

    def asked(self, candidates: Sequence[Sequence[Example]]) -> Answers:
        rows = []
        for some in candidates:
            self.calls["asked"] += len(some)
            other = replace(self, texts=tuple(str(e.inputs["text"]) for e in some), before=None, signs=None)
            rows.append(np.array([[other.word_weights(k).sum()] for k in range(len(some))]).reshape(-1, 1))
        return self._answers(rows)

    def instead(self, examples: Sequence[Example], targets: Sequence[Target] | None = None) -> ToyCase:
        signs = [self._sign(i) if targets is None else 1 if targets[i] else -1 for i in range(len(examples))]
        texts = tuple(str(example.inputs["text"]) for example in examples)
        return replace(self, texts=texts, before=None, perturbed=(), signs=tuple(signs), calls=Counter())

    def input_gradients(self) -> list[NDArray[np.float32]]:
        self.calls["slopes"] += len(self.texts)
        slopes = self.slopes([Point()])
        return [np.float32(self._sign(i)) * s.norm[0][:, None].astype(np.float32) for i, s in enumerate(slopes)]

    def read(self, example: Example) -> Ints:
        return np.array([-1, *(_number(word) for word in str(example.inputs["text"]).split())], np.int64)

    def lexicon(self) -> Lexicon:
        """The listed words and a few others; the embedding of a word is what it adds to the sum."""
        words = sorted({*self.weights, *(word for text in TEXTS for word in text.split())})
        adds = [[self.weights.get(w, 0.03 * len(w) - 0.01)] for w in words]
        ids = np.array([_number(word) for word in words], np.int64)
        return Lexicon(ids, tuple(words), np.ones(len(words), np.bool_), np.array(adds, np.float32))

    def together(self, positions: Sequence[int]) -> Together:
        self.calls["slopes"] += 1
        return ToyTogether(np.stack([self.word_weights(i) for i in positions]), self.link)

    def attacked(self, method: str | Spec, threat: Threat | None = None) -> Sequence[Attacked]:
        spec = method if isinstance(method, Spec) else Spec.parse("attack", method)
        return tuple(build(spec)(self, threat or Threat()))

    def rng(self, i: int, *keys: object) -> np.random.Generator:
        self.calls["rng"] += 1
        return keyed_rng(self.seed, self.ids[i], *keys)


@dataclass(frozen=True)
class ToyTogether:
    """Implements `protocols.Together`: x is what each unit adds, [CLS] is not free."""

    weights: Floats
    link: str
    user = False
    classes = 2

    @property
    def x(self) -> Any:
        import torch

        return torch.from_numpy(self.weights.copy())

    @property
    def free(self) -> Any:
        import torch

        return (torch.arange(self.weights.shape[1]) > 0).expand(self.weights.shape)

    @property
    def owner(self) -> Any:
        import torch

        return torch.arange(self.weights.shape[1]).expand(self.weights.shape)

    def logits(self, x: Any, rows: Sequence[int] | None = None) -> Any:
        import torch

        total = x.sum(-1)
        score = total if self.link == "linear" else total.tanh()
        return torch.stack([-score / 2, score / 2], -1)

    def back(self, row: int, x: Any) -> Example:
        raise Unsupported("the toy case", expected="an input of numbers", got="a text")


@lru_cache(maxsize=4096)
def _number(word: str) -> int:
    """A number for each spelling."""
    return int(keyed_rng(0, "toy token", word).integers(1 << 40))


def _softmax(scores: Floats) -> Floats:
    e = np.exp(scores - scores.max())
    return np.asarray(e / e.sum())


@lru_cache(maxsize=4096)  # read-only, and asked for again and again
def _units(text: str) -> Units:
    words = text.split()
    places, start = [(0, 0)], 0
    for word in words:
        start = text.index(word, start)
        places.append((start, start + len(word)))
        start += len(word)
    n = len(words) + 1
    index = np.arange(n)
    none = np.zeros(n, np.int64)
    return Units(("[CLS]", *words), "word", "span", np.array(places, float), index == 0, index - 1, none, index, (n,))
