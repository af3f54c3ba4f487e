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
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from regard.errors import InputError, Unsupported
from regard.measures.keyed_random import keyed_rng
from regard.protocols import Point, SiteAttention, Slopes, Target
from regard.records import Answers, Attention, Bools, Edit, Example, Floats, Relevance, Site, Spec, Units, frozen
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
class ToyCase:
    """Implements `protocols.Case`. link "tanh" bends the sum, so that gradients at one point are no longer exact.

    flavour: "pooling" (one additive attention that follows the word weights), "layers" (two square self-attentions,
    read at [CLS]), "windowed" (keys that are not the units), "none".

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

    def subset(self, positions: Sequence[int]) -> ToyCase:
        """Some of the examples, in that order."""
        return replace(self, texts=tuple(self.texts[i] for i in positions), calls=Counter())

    def word_weights(self, i: int) -> Floats:
        """(n,) what each unit adds to the sum, [CLS] first; unlisted words add a little, by their length."""
        words = self.texts[i].split()
        return np.array([SPECIAL_WEIGHT, *(self.weights.get(w, 0.03 * len(w) - 0.01) for w in words)])

    def exact(self, i: int) -> Floats:
        """(n,) the true relevance of each unit for the predicted class (linear link); special units 0."""
        return np.where(self.units[i].free, self._sign(i) * self.word_weights(i), 0.0)

    def _sign(self, i: int) -> int:
        return 1 if self.word_weights(i).sum() >= 0 else -1

    def _bend(self, z: Floats) -> Floats:
        return z if self.link == "linear" else np.tanh(z)

    # what `Case` asks for
    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(f"toy:{text}" for text in self.texts)

    @property
    def examples(self) -> tuple[Example, ...]:
        return tuple(Example(name, {"text": text}) for name, text in zip(self.ids, self.texts, strict=True))

    @property
    def units(self) -> tuple[Units, ...]:
        return tuple(_units(text) for text in self.texts)

    @property
    def targets(self) -> tuple[Target, ...]:
        return tuple(int(self._sign(i) > 0) for i in range(len(self.texts)))

    @property
    def operators(self) -> tuple[str, ...]:
        return OPERATORS

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
            shift = [p.noise and p.noise * self.rng(i, "noise", p.draw).standard_normal(len(w)).sum() for p in points]
            at = np.array([p.alpha for p in points]) * w.sum() + np.array(shift)
            steep = np.ones(len(points)) if self.link == "linear" else 1 / np.cosh(at) ** 2
            ends = (float(sign * self._bend(w.sum())), 0.0)
            norm = np.broadcast_to(steep[:, None], (len(points), len(w)))
            out.append(Slopes(frozen(sign * steep[:, None] * w), norm, frozen(sign * self._bend(at)), ends))
        return out

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

    def reading(self, i: int, site: Site) -> tuple[int, ...]:
        return (0,)

    def edited(self, edits: Sequence[Sequence[Edit]]) -> Answers:
        return self.base()

    def relevance(self, method: str | Spec) -> Relevance:
        spec = method if isinstance(method, Spec) else Spec.parse("explainer", method)
        return cast("Relevance", build(spec)(self))

    def rng(self, i: int, *keys: object) -> np.random.Generator:
        self.calls["rng"] += 1
        return keyed_rng(self.seed, self.ids[i], *keys)


def _softmax(scores: Floats) -> Floats:
    e = np.exp(scores - scores.max())
    return np.asarray(e / e.sum())


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
