"""A toy model with a known answer, behind the real desk: a linear bag of words.

    value = +-(sum of word weights), the sign being that of the target class

so the exact attribution of a word is its weight by every method: gradient, integrated gradient, or removal by deletion.
Its attention is shown but not used (edits change nothing): by construction, attention here explains exactly as much as
it was given to, `ToyCase.exact`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.desk.padding import DenseSite
from regard.errors import Unsupported, phrase
from regard.measures.keyed_random import keyed_rng
from regard.models.ask.add_noise import add_noise
from regard.models.ask.batch_function import batch_function
from regard.models.ask.decomposition import decomposition
from regard.models.ask.gradients import input_gradients, slopes
from regard.models.ask.input_function import input_function
from regard.models.ask.lexicon import lexicon
from regard.models.ask.patching import patched_output
from regard.models.ask.propagated_relevance import propagated_relevance
from regard.models.ask.randomised import randomised_copy
from regard.models.ask.reorder import reorder
from regard.models.ask.sparse_recompute import approximately
from regard.models.ask.token_ids import token_ids
from regard.models.ask.value_zeroing import value_zeroing
from regard.models.ask.weight_batches import weight_function, with_weights
from regard.models.ask.weight_slopes import weight_slopes
from regard.models.read_rows import read_rows
from regard.protocols import Encoded, Lexicon, Parts, Point, PropagatedRelevance, Slopes, Target, WeightSlopes, Zeroed
from regard.records import Answers, Attention, Bools, Edit, Edits, Example, Floats, Ints, Relevance, Site, Spec, frozen
from regard.testing.toy_text import (
    SPECIAL_WEIGHT,
    WEIGHTS,
    ToyCapture,
    ToyFunction,
    ToyText,
    own_text,
    sign_of,
    softmax,
    units_of,
    word_number,
)

TEXTS = (
    "a truly wonderful film with a dull middle",
    "dull",
    "not bad not good just long and very very long",
    "wonderful wonderful cast terrible script",
    "terrible terrible terrible ending",
    "",
)

Flavour = Literal["pooling", "layers", "windowed", "none"]
_MASK_WEIGHT = 0.03
DECISIVE = 0.5
"""Minimum contribution of a listed word in the rationale."""


@dataclass(frozen=True, eq=False)
class ToyModel:
    """Implements `protocols.Model`. link "tanh" bends the sum, so that gradients at one point are no longer exact.

    flavour: "pooling" (one additive attention that follows the word weights), "layers" (two square self-attentions,
    read at [CLS]), "windowed" (keys that are not the units), "none". lean: contribution of [CLS], also for an empty
    text. draw: the words have random weights, as in a randomized copy. calls: number of calls by kind. reads_masks: the
    model was trained on masked words, so it is its own masked twin.
    """

    flavour: Flavour = "pooling"
    link: Literal["linear", "tanh"] = "linear"
    listed: Mapping[str, float] = field(default_factory=lambda: WEIGHTS)
    lean: float = SPECIAL_WEIGHT
    draw: int | None = None
    calls: Counter[str] = field(default_factory=Counter)
    reads_masks: bool = True
    name = "toy"
    task = "text-classification"
    modality = "text"
    notes = ()
    labels = ("negative", "positive")
    operators = ("delete", "mask")
    baselines = ("zero",)
    fingerprint = "toy"
    spec = None

    def weight(self, word: str) -> float:
        """The weight of a word; an unlisted one gets a small weight by its length."""
        if self.draw is not None:  # a word has one weight wherever it stands
            return float(keyed_rng(0, "weights", self.draw, word).standard_normal())
        return self.lean if word == "[CLS]" else self.listed.get(word, 0.03 * len(word) - 0.01)

    def example(self, text: str) -> Example:
        """A text as an example; its rationale are the listed words that speak for the prediction."""
        encoded = self.encode(Example("", {"text": text}))
        sign = 1 if encoded.weights.sum() >= 0 else -1
        listed = [name in self.listed for name in encoded.units.names]
        places = encoded.units.places[(sign * encoded.weights >= DECISIVE) & listed]
        return Example(f"toy:{text}", {"text": text}, rationale=tuple(tuple(map(float, place)) for place in places))

    def encode(self, example: Example) -> ToyText:
        text = str(example.inputs["text"])
        units = units_of(text)
        return ToyText(text, units, np.array([self.weight(name) for name in units.names]))

    def windows(self, example: Example) -> list[Example]:
        return [example]

    def remove(self, encoded: Encoded, drop: Bools, operator: str, rng: np.random.Generator) -> ToyText:
        self.calls["removed"] += 1
        item = own_text(encoded)
        return replace(item, weights=np.where(drop, 0.0 if operator == "delete" else _MASK_WEIGHT, item.weights))

    def predict(self, batch: Sequence[Encoded]) -> tuple[Answers, list[Target]]:
        targets: list[Target] = [int(own_text(encoded).weights.sum() >= 0) for encoded in batch]
        return self.forward(batch, targets), targets

    def forward(self, batch: Sequence[Encoded], targets: Sequence[Target], edits: Edits = ()) -> Answers:
        """Answer without attention: edits change nothing here."""
        signs = np.array([sign_of(target) for target in targets])
        sums = np.array([own_text(encoded).weights.sum() for encoded in batch])
        value = signs * self._bend(sums)
        probability = 1 / (1 + np.exp(-value))
        first = np.where(signs > 0, 1 - probability, probability)
        return Answers(np.arange(len(batch) + 1), value, probability, np.stack([first, 1 - first], -1))

    def _bend(self, z: Floats) -> Floats:
        return z if self.link == "linear" else np.tanh(z)

    def capture(self, batch: Sequence[Encoded], targets: Sequence[Target], **_: object) -> ToyCapture:
        self.calls["attention"] += len(batch)
        sites = [
            DenseSite(Attention(maps[0][0], frozen(np.stack([w for _, w in maps]), np.float32), checked="given"))
            for maps in zip(*self._padded(batch), strict=True)
        ]
        return ToyCapture(sites, [encoded.units for encoded in batch], self.forward(batch, targets))

    def _padded(self, batch: Sequence[Encoded]) -> list[list[tuple[Site, NDArray[np.float32]]]]:
        """Sites of each example; a pooling attention may be padded to a longer one."""
        widest = max(encoded.length for encoded in batch) if self.flavour == "pooling" else 0
        return [
            [
                (site, np.pad(w, ((0, 0), (0, 0), (0, max(0, widest - w.shape[2])))))
                for site, w in self._sites(own_text(e))
            ]
            for e in batch
        ]

    def _sites(self, item: ToyText) -> list[tuple[Site, NDArray[np.float32]]]:
        """(head, query, key) for each site."""
        w, n = np.abs(item.weights), item.length
        if self.flavour == "none":
            return []
        if self.flavour == "windowed":
            return [(Site("toy.window", 0, "windowed", 0, 1), np.full((1, n, 2), 0.5, np.float32))]
        if self.flavour == "pooling":
            sharp = np.stack([softmax(w), softmax(2 * w)])[:, None]
            return [(Site("toy.pool", 0, "pooling", 0, 2), sharp.astype(np.float32))]
        maps = keyed_rng(0, "toy layers", item.text).dirichlet(np.ones(n), size=(2, 2, n)).astype(np.float32)
        return [(Site(f"toy.layers.{k}", 0, "self", k, 2), maps[k]) for k in range(2)]

    # capabilities beyond `protocols.Model`

    def slopes(self, batch: Sequence[Encoded], targets: Sequence[Target], points: Sequence[Point]) -> list[Slopes]:
        if any(p.baseline != "zero" for p in points):
            raise Unsupported(
                phrase("errors.testing.toy_model"),
                expected=phrase("errors.testing.baseline_zero"),
                got=phrase("errors.testing.another_baseline"),
            )
        self.calls["slopes"] += len(batch) * len(points)
        gradients = []
        for item, target in zip(map(own_text, batch), targets, strict=True):
            w, sign = item.weights, sign_of(target)
            shift = [
                p.noise and p.noise * keyed_rng(0, item.text, "noise", p.draw).standard_normal(len(w)).sum()
                for p in points
            ]
            at = np.array([p.alpha for p in points]) * w.sum() + np.array(shift)
            steep = np.ones(len(points)) if self.link == "linear" else 1 / np.cosh(at) ** 2
            ends = (float(sign * self._bend(w.sum())), 0.0)
            norm = np.broadcast_to(steep[:, None], (len(points), len(w)))
            gradients.append(Slopes(frozen(sign * steep[:, None] * w), norm, frozen(sign * self._bend(at)), ends))
        return gradients

    def propagated(
        self, batch: Sequence[Encoded], targets: Sequence[Target], rule: str, baseline: str
    ) -> list[PropagatedRelevance]:
        """Share the linked value of the sum among its terms; rule "ln" takes the slope."""
        self.calls["slopes"] += len(batch)
        rows = []
        for item, target in zip(map(own_text, batch), targets, strict=True):
            w, sign = item.weights, sign_of(target)
            value = sign * float(self._bend(w.sum()))
            slope = sign / np.cosh(w.sum()) ** 2 if rule == "ln" and self.link == "tanh" else value / w.sum()
            units = np.where(item.units.free, w * slope, 0.0)
            special = float((w * slope)[item.units.special].sum())
            accounts = () if rule == "ln" else ("bias", "position", "softmax", "baseline", "objective")
            rows.append(PropagatedRelevance(frozen(units), special, dict.fromkeys(accounts, 0.0), value))
        return rows

    def input_gradients(self, batch: Sequence[Encoded], targets: Sequence[Target]) -> list[NDArray[np.float32]]:
        slopes = self.slopes(batch, targets, [Point()])
        signs = map(sign_of, targets)
        return [np.float32(s) * g.norm[0][:, None].astype(np.float32) for s, g in zip(signs, slopes, strict=True)]

    def weight_slopes(self, batch: Sequence[Encoded], targets: object, kind: str) -> list[list[WeightSlopes]]:
        """Return zero gradients: nothing here depends on attention."""
        self.calls["slopes"] += len(batch)
        self.calls["attention"] += len(batch)
        return [[WeightSlopes(site, w, np.zeros_like(w)) for site, w in sites] for sites in self._padded(batch)]

    def parts(self, encoded: Encoded, target: Target, keys: Sequence[str]) -> list[Parts]:
        """Decompose: the value of a unit, in every head, is its contribution to the sum."""
        parts = []
        for site, weights in (pair for pair in self._sites(own_text(encoded)) if pair[0].key in keys):
            adds = own_text(encoded).weights.astype(np.float32)[: weights.shape[2], None]
            own = np.zeros((weights.shape[1], 1), np.float32) if site.kind == "pooling" else adds
            values = np.stack([adds] * len(weights))
            whole = np.einsum("hqk,hkd->qd", weights, values) + own
            parts.append(
                Parts(
                    site=site,
                    weights=weights,
                    values=values,
                    own=own,
                    bias=np.zeros(1, np.float32),
                    whole=whole,
                    norms=(),
                    error=0.0,
                )
            )
        return parts

    def zeroed(self, encoded: Encoded, target: Target, keys: Sequence[str]) -> list[Zeroed]:
        """Return the share of a position that depends on each unit: its attention, with as much for itself."""
        zeroed = []
        for site, weights in (pair for pair in self._sites(own_text(encoded)) if pair[0].key in keys):
            mean = weights.mean(0, dtype=np.float64)
            own = np.eye(len(mean)) if mean.shape[0] == mean.shape[1] else 0.0
            zeroed.append(Zeroed(site, np.asarray(mean + own) / 2, 0.0))
        return zeroed

    def reading(self, encoded: Encoded, target: Target, site: Site) -> tuple[int, ...]:
        return (0,)

    def routed(self, encoded: Encoded, target: Target, reads: object, donors: Sequence[object]) -> Answers:
        return self.forward([encoded] * len(donors), [target] * len(donors))

    def swept(self, batch: Sequence[Encoded], targets: Sequence[Target], edits: Sequence[Sequence[Edit]]) -> Answers:
        counts = [0 if own[0].values is None else len(own[0].values) for own in edits]
        rows = [i for i, count in enumerate(counts) for _ in range(count)]
        return self.forward([batch[i] for i in rows], [targets[i] for i in rows])

    def steered(self, encoded: Encoded, target: Target, places: Sequence[Edit]) -> Any:
        """Answer independently of attention, although autograd sees a dependence."""
        distribution = self.forward([encoded], [target]).distribution

        def answer(weights: Sequence[Any]) -> Any:
            nothing = sum(w.flatten(1).sum(1, keepdim=True) for w in weights) * 0
            return nothing + nothing.new_tensor(np.array(distribution))

        return answer

    def nearly(self, encoded: Encoded, target: Target, variants: Sequence[Encoded], schedule: object) -> Answers:
        return self.forward(variants, [target] * len(variants))  # there are no layers to save work in

    def continuous(self, encoded: Encoded, target: Target) -> ToyFunction:
        self.calls["slopes"] += 1
        return ToyFunction(own_text(encoded).weights[None], sign_of(target), self.link)

    def together(self, examples: Sequence[Example]) -> ToyFunction:
        self.calls["slopes"] += 1
        return ToyFunction(np.stack([self.encode(example).weights for example in examples]), 1, self.link)

    def noisy(self, encoded: Encoded, noise: float, rng: np.random.Generator) -> tuple[ToyText, float]:
        item = own_text(encoded)
        w, free = item.weights, item.units.free
        if not free.any():
            return item, 0.0
        shift = np.where(free, noise * np.sqrt(np.mean(w[free] ** 2)) * rng.standard_normal(len(w)), 0.0)
        return replace(item, weights=w + shift), float(np.linalg.norm(shift) / np.linalg.norm(w[free]))

    def reordered(self, encoded: Encoded, order: Ints) -> ToyText:
        raise Unsupported(
            phrase("errors.testing.toy_model"),
            expected=phrase("errors.testing.texts_in_order"),
            got=phrase("errors.testing.another_order"),
        )

    def randomised(self, share: float, draw: int) -> ToyModel:
        return replace(self, draw=draw)  # there is but one layer, so any share of it is all of it

    def tokens(self, encoded: Encoded) -> Ints:
        return np.array([-1, *(word_number(word) for word in encoded.units.names[1:])], np.int64)

    def lexicon(self) -> Lexicon:
        """Return the listed words and a few others; the embedding of a word is its contribution to the sum."""
        words = sorted({*self.listed, *(word for text in TEXTS for word in text.split())})
        ids = np.array([word_number(word) for word in words], np.int64)
        adds = np.array([[self.weight(word)] for word in words], np.float32)
        return Lexicon(ids, tuple(words), np.ones(len(words), np.bool_), adds)


for _capability, _method in (
    (add_noise, "noisy"),
    (approximately, "nearly"),
    (batch_function, "together"),
    (decomposition, "parts"),
    (input_function, "continuous"),
    (input_gradients, "input_gradients"),
    (lexicon, "lexicon"),
    (patched_output, "routed"),
    (propagated_relevance, "propagated"),
    (randomised_copy, "randomised"),
    (read_rows, "reading"),
    (reorder, "reordered"),
    (slopes, "slopes"),
    (token_ids, "tokens"),
    (value_zeroing, "zeroed"),
    (weight_function, "steered"),
    (weight_slopes, "weight_slopes"),
    (with_weights, "swept"),
):
    # looked up by name, so that a subclass may answer otherwise
    _capability.register(ToyModel, lambda model, *args, method=_method: getattr(model, method)(*args))


class ToyCase(DeskCase):
    """Texts, or examples, in front of a `ToyModel`; see there for flavour, link, weights (`listed`) and lean.

    >>> case = ToyCase(("wonderful film",))
    >>> case.units[0].names, case.exact(0).tolist()
    (('[CLS]', 'wonderful', 'film'), [0.0, 2.0, 0.11])
    >>> case.base().value.tolist()
    [2.36]
    """

    explainers = ("attention", "leave_one_out", "random")

    def __init__(
        self,
        texts: Sequence[str | Example] = TEXTS,
        seed: int = 0,
        flavour: Flavour = "pooling",
        link: Literal["linear", "tanh"] = "linear",
        weights: Mapping[str, float] = WEIGHTS,
        lean: float = SPECIAL_WEIGHT,
        *,
        model: ToyModel | None = None,
    ) -> None:
        self.model = model or ToyModel(flavour, link, weights, lean)
        examples = [text if isinstance(text, Example) else self.model.example(text) for text in texts]
        companions = [self.model.example(text) for text in TEXTS if text]
        super().__init__(Desk(self.model, seed=seed), examples, {}, companions)

    @property
    def calls(self) -> Counter[str]:
        """Number of requests for attention, slopes, removals and random numbers."""
        return self.model.calls

    def exact(self, i: int) -> Floats:
        """(n,) the true relevance of each unit for the target (linear link); special units 0."""
        return np.where(self.units[i].free, sign_of(self.targets[i]) * self.word_weights(i), 0.0)

    def word_weights(self, i: int) -> Floats:
        """(n,): contribution of each unit to the sum, [CLS] first."""
        return own_text(self.desk.encoded(self.ids[i])).weights

    def relevance(self, method: str | Spec) -> Relevance:
        if self.spec(method).name == "planted":  # the truth itself, so that metrics can ask for it again in a variant
            return Relevance.of("planted", self.ids, [self.exact(i) for i in range(len(self.ids))], signed=True)
        return super().relevance(method)

    def base(self) -> Answers:
        """Read-only base answers, so that a method that changes them fails."""
        base = super().base()
        both = None if base.distribution is None else frozen(base.distribution)
        return Answers(base.offsets, frozen(base.value), frozen(base.probability), both)

    def rng(self, i: int | None, *keys: object) -> np.random.Generator:
        self.calls["rng"] += i is not None
        return super().rng(i, *keys)
