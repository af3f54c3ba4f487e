"""The desk: answers questions about one model, in batches of like length, and never computes the same thing twice.

Whoever asks, a question is known by (example, request): the base forward and the leave-one-out forwards of an
example are computed once, however many methods need them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from regard.desk.answers import Said, joined, one_by_one, some_of
from regard.desk.batching import BATCH, TOKENS, Batching
from regard.desk.costs import Till
from regard.desk.counted import PaidFunction, PaidSteering, PaidTogether
from regard.desk.finite_answers import UnknownAnswer, known, known_arrays, known_slopes
from regard.desk.looks import Held, Looks, RowOf, taken_apart
from regard.desk.shuffled_labels import shuffled_twin
from regard.desk.unit_alignment import unit_origins
from regard.errors import InputError, Unsupported
from regard.measures.keyed_random import keyed_rng
from regard.models.ask.add_noise import add_noise
from regard.models.ask.answers_in_words import name_of_answer
from regard.models.ask.batch_function import batch_function
from regard.models.ask.gradients import input_gradients
from regard.models.ask.gradients import slopes as slopes_at
from regard.models.ask.input_function import input_function
from regard.models.ask.patching import patched_output
from regard.models.ask.randomised import randomised_copy
from regard.models.ask.reorder import reorder
from regard.models.ask.sparse_recompute import approximately
from regard.models.ask.weight_batches import weight_function, with_weights
from regard.models.ask.weight_slopes import predicted_weight_slopes
from regard.models.read_rows import read_rows
from regard.perturbations.apply import perturber
from regard.protocols import (
    BatchFunction,
    Change,
    Encoded,
    InputFunction,
    Model,
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
from regard.records import (
    Answers,
    Attention,
    Bools,
    Edit,
    Edits,
    Example,
    Floats,
    Ints,
    Json,
    Perturbed,
    Site,
    Spec,
    Units,
)
from regard.store.shard_result import Cost

TOGETHER = 1024
"""Positions of examples of one length that are looked into in one pass."""
NEAR = 0.2
"""How much longer or shorter an example may be to be looked into in the same pass, where attention only pools."""


@dataclass(frozen=True, slots=True)
class _Slope:
    """The gradient of one example at one point."""

    dot: Floats
    norm: Floats
    value: float
    ends: tuple[float, float]


class Desk:
    """One model and what it has said so far. `batch` rows, or `tokens` positions, go through it at a time.

    A variant (`noisy`, `spoilt`, `shuffled`, `changed`) has an `origin`, whose targets it is asked about and whose till
    it pays into. noise: (size, draw) of what is added to the continuous inputs. order: the draw by which units changed
    places. other_class: ask about the class that many further on. change: the perturbation and its severity.
    about: which example of the origin each of these stands for, and what is asked (None: what that one is asked about).
    """

    def __init__(
        self,
        model: Model,
        *,
        seed: int = 0,
        batch: int = BATCH,
        tokens: int = TOKENS,
        origin: Desk | None = None,
        noise: tuple[float, int] | None = None,
        other_class: int | None = None,
        order: int | None = None,
        change: tuple[Spec, int] | None = None,
        about: Mapping[str, tuple[str, Target]] | None = None,
    ) -> None:
        self._till: Till = Till() if origin is None else origin._till
        self._pay = self._till.pay
        self.model, self.seed = model, seed
        self._batching = Batching(batch, tokens)
        self._encoded: dict[str, Encoded] = {}
        self._base: dict[str, tuple[Said, Target]] = {}
        self._removed: dict[tuple[str, str, bytes], Said] = {}
        self._slopes: dict[tuple[str, Point], _Slope] = {}
        self._sites: dict[str, Sequence[SiteAttention]] = {}
        self._forms: dict[str, tuple[object, ...]] = {}
        self._pools = False
        self._edited: dict[tuple[str, str], Said] = {}
        self._looks = Looks(model, self._pay)
        self._origin, self._noise, self._other_class = origin, noise, other_class
        self._about = dict(about or {})
        self._order = order
        self._orders: dict[str, Ints] = {}
        self._change = change
        self._perturber = None if change is None else perturber(change[0], seed, model)
        self._perturbed: dict[str, Perturbed] = {}
        self._originals: dict[str, Example] = {}
        self._origins: dict[str, Ints] = {}
        self._routed: dict[tuple[object, ...], Said] = {}
        self._heard: dict[object, Said] = {}
        self._moved: dict[str, float] = {}
        self._variants: dict[tuple[object, ...], Desk] = {}

    # ------------------------------------------------------------------ examples

    def welcome(self, example: Example) -> Units:
        """Read an example in; its units."""
        if example.id not in self._encoded:
            encoded = self.model.encode(self._put_on(example))
            if self._noise is not None:
                rng = keyed_rng(self.seed, example.id, "noisy", *self._noise)
                encoded, self._moved[example.id] = add_noise(self.model, encoded, self._noise[0], rng)
            if self._order is not None:
                drawn = keyed_rng(self.seed, example.id, "shuffled", self._order)
                self._orders[example.id] = shuffle(encoded.units, drawn)
                encoded = reorder(self.model, encoded, self._orders[example.id])
            self._encoded[example.id] = encoded
        return self._encoded[example.id].units

    def _put_on(self, example: Example) -> Example:
        """The example as this desk reads it: changed, where it is the desk of a noise."""
        if self._perturber is None or self._change is None:
            return example
        self._originals[example.id] = example
        self._perturbed[example.id] = self._perturber(example, self._change[1])
        return self._perturbed[example.id].example

    def example(self, example: Example) -> Example:
        """What the model was shown of an example that was read in."""
        made = self._perturbed.get(example.id)
        return example if made is None else made.example

    def origins(self, name: str) -> Ints:
        """(n,) the unit of the original that each unit comes from, -1 for none; as they are, but for a changed desk."""
        if name not in self._origins:
            if self._origin is None or name not in self._perturbed:
                return np.arange(len(self.units(name)))
            original = self._originals[name]
            before = self._origin.welcome(original)
            self._origins[name] = unit_origins(before, self.units(name), original, self._perturbed[name])
        return self._origins[name]

    def units(self, name: str) -> Units:
        return self._encoded[name].units

    def answer(self, name: str) -> Json:
        """The target of an example in words, where the model knows any."""
        (target,) = self.targets([name])
        return name_of_answer(self.model, target, self._encoded[name])

    def moved(self, name: str) -> float:
        """How far the noise moved an example, as a share of its norm."""
        return self._moved.get(name, 0.0)

    def order(self, name: str) -> Ints:
        """(n,) which unit of the example stands in each place; as they are, but for a shuffled desk."""
        return self._orders.get(name, np.arange(len(self.units(name))))

    def reads(self, example: Example) -> bool:
        """Whether the model can read and answer an example; it is read in."""
        try:
            self.welcome(example)
            try:
                self.base([example.id])
            except UnknownAnswer:  # once more: every shard must find the same ones readable
                self.base([example.id])
        except Exception:  # who brings something from outside does without it; its own turn reports it
            return False
        return True

    def fresh(self) -> Desk:
        """A desk that knows the undisturbed answers of this one, and nothing else that was asked here."""
        other = Desk(self.model, seed=self.seed, batch=self._batching.rows, tokens=self._batching.tokens)
        other._encoded, other._base = dict(self._encoded), dict(self._base)
        return other

    # ------------------------------------------------------------------ variants

    def shuffled(self, draw: int) -> Desk:
        """The desk of the same model for inputs whose units have changed places."""
        return self._variant(("shuffled", draw), lambda: self.model, order=int(draw))

    def changed(self, noise: Spec, severity: int) -> Desk:
        """The desk of the same model for examples under a named noise."""
        return self._variant(("changed", noise, severity), lambda: self.model, change=(noise, severity))

    def noisy(self, noise: float, draw: int) -> Desk:
        """The desk of the same model for inputs with noise."""
        return self._variant(("noise", noise, draw), lambda: self.model, noise=(float(noise), int(draw)))

    def spoilt(self, change: Change, share: float, draw: int) -> Desk:
        """The desk of a spoilt model, or with "head" of the same model asked about another class."""
        if change == "head":
            return self._variant((change, draw), lambda: self.model, other_class=draw)
        if change == "labels":
            return self._variant((change,), lambda: shuffled_twin(self.model))
        return self._variant((change, share, draw), lambda: randomised_copy(self.model, share, draw))

    def _variant(
        self, key: tuple[object, ...], model: Callable[[], Model], *, noise: tuple[float, int] | None = None,
        other_class: int | None = None, order: int | None = None, change: tuple[Spec, int] | None = None,
    ) -> Desk:  # fmt: skip
        if key not in self._variants:
            self._variants[key] = Desk(
                model(), seed=self.seed, batch=self._batching.rows, tokens=self._batching.tokens, origin=self,
                noise=noise, other_class=other_class, order=order, change=change,
            )  # fmt: skip
        return self._variants[key]

    def _given_targets(self, names: Sequence[str], origin: Desk) -> list[Target]:
        """What a variant is asked about: what its origin decided, or another class than that."""
        stand = [self._about.get(name, (name, None)) for name in names]
        decided = origin.targets([one for one, _ in stand])
        targets = [t if given is None else given for t, (_, given) in zip(decided, stand, strict=True)]
        if self._other_class is None:
            return targets
        moved: list[Target] = []
        for target, said in zip(targets, origin.base(names), strict=True):
            classes = 0 if said.distribution is None else len(said.distribution)
            if classes < 2 or not isinstance(target, int):
                raise Unsupported(
                    f"another class for {self.model.name}", expected="a model that chooses among classes",
                    got=f"the task {self.model.task}",
                )  # fmt: skip
            moved.append((target + 1 + self._other_class % (classes - 1)) % classes)
        return moved

    # ------------------------------------------------------------------ questions

    def base(self, names: Sequence[str]) -> list[Said]:
        """What the model says undisturbed."""
        self._pay(requests=len(names))
        new = [name for name in dict.fromkeys(names) if name not in self._base]

        def ask(part: Sequence[str]) -> list[tuple[Said, Target]]:
            encoded = [self._encoded[name] for name in part]
            if self._origin is None:
                answers, targets = self.model.predict(encoded)
            else:
                targets = self._given_targets(part, self._origin)
                answers = self.model.forward(encoded, targets)
            return list(zip(self._each(answers), targets, strict=True))

        # the undisturbed forwards belong to everyone; those of a variant to whoever asked for it
        with self.paid_by(*self.payer_of("model", "base")):
            for name, answer in zip(new, self._batching.answers(new, self._lengths(new), ask), strict=True):
                self._base[name] = answer
            self._pay(forwards=len(new))
        return [self._base[name][0] for name in names]

    def targets(self, names: Sequence[str]) -> list[Target]:
        """What the objective is about: what the model predicts undisturbed."""
        if any(name not in self._base for name in names):
            self.base(names)
        return [self._base[name][1] for name in names]

    def removed(self, asked: Sequence[tuple[str, Bools]], operator: str) -> list[Said]:
        """What it says without the marked units; nothing removed is the base answer."""
        self._pay(requests=len(asked))
        keys = [(name, operator, np.asarray(drop, np.bool_).tobytes()) for name, drop in asked]
        idle = dict.fromkeys(key[0] for key in keys if not any(key[2]) and key not in self._removed)
        for name, said in zip(idle, self._quietly_base(list(idle)), strict=True):
            self._removed[name, operator, bytes(len(self.units(name)))] = said
        new = [key for key in dict.fromkeys(keys) if key not in self._removed]
        self.targets([key[0] for key in new])
        changed = []
        for name, _, drop in new:
            # the numbers belong to what is removed, so a repeated question has a repeated answer
            rng = keyed_rng(self.seed, name, "remove", operator, drop)
            mask = np.frombuffer(drop, np.bool_)
            changed.append((name, self.model.remove(self._encoded[name], mask, operator, rng)))

        def ask(part: Sequence[tuple[str, Encoded]]) -> list[Said]:
            targets = [self._base[name][1] for name, _ in part]
            return self._each(self.model.forward([encoded for _, encoded in part], targets))

        answers = self._batching.answers(changed, [encoded.length for _, encoded in changed], ask)
        self._removed.update(zip(new, answers, strict=True))
        self._pay(forwards=len(new))
        return [self._removed[key] for key in keys]

    def slopes(self, names: Sequence[str], points: Sequence[Point]) -> list[Slopes]:
        """Gradients of the objective at the points, for each example; the points share one baseline."""
        if len({point.baseline for point in points}) > 1:
            raise InputError("points", expected="one baseline for all", got=str(sorted({p.baseline for p in points})))
        self._pay(requests=len(names) * len(points))
        self.targets(names)
        groups: dict[tuple[Point, ...], list[str]] = {}
        for name in dict.fromkeys(names):
            missing = tuple(p for p in dict.fromkeys(points) if (name, p) not in self._slopes)
            if missing:
                groups.setdefault(missing, []).append(name)
        for missing, group in groups.items():

            def ask(part: Sequence[str], missing: tuple[Point, ...] = missing) -> list[Slopes]:
                targets = [self._base[name][1] for name in part]
                slopes = slopes_at(self.model, [self._encoded[name] for name in part], targets, missing)
                return list(known_slopes(slopes, self.model.name))

            found = self._batching.answers(group, self._lengths(group), ask)
            for name, slopes in zip(group, found, strict=True):
                high, low = slopes.end_values
                for j, point in enumerate(missing):
                    own = low if slopes.lows is None else float(slopes.lows[j])
                    self._slopes[name, point] = _Slope(
                        slopes.dot[j], slopes.norm[j], float(slopes.value[j]), (high, own)
                    )
            self._pay(forwards=len(group) * len(missing), backwards=len(group) * len(missing))
        return [_together([self._slopes[name, point] for point in points]) for name in names]

    def nearly_removed(
        self, asked: Sequence[tuple[str, Bools]], operator: str, schedule: Sequence[float]
    ) -> list[Said]:
        """`removed` of variants of one example at a time, with only a share of the positions recomputed."""
        self._pay(requests=len(asked))
        self.targets([name for name, _ in asked])
        groups: dict[str, list[int]] = {}
        for i, (name, _) in enumerate(asked):
            groups.setdefault(name, []).append(i)
        found: dict[int, Said] = {}
        for name, mine in groups.items():
            changed = []
            for i in mine:
                drop = np.asarray(asked[i][1], np.bool_)
                rng = keyed_rng(self.seed, name, "remove", operator, drop.tobytes())
                changed.append(self.model.remove(self._encoded[name], drop, operator, rng))

            def ask(part: Sequence[Encoded], name: str = name) -> list[Said]:
                return self._each(approximately(self.model, self._encoded[name], self._base[name][1], part, schedule))

            found.update(zip(mine, self._batching.answers(changed, [e.length for e in changed], ask), strict=True))
        self._pay(forwards=len(asked))
        return [found[i] for i in range(len(asked))]

    def continuous(self, name: str) -> InputFunction:
        """The objective as a function; its caller pays for every row."""
        (target,) = self.targets([name])
        return PaidFunction(input_function(self.model, self._encoded[name], target), self._pay, self.model.name)

    def attention(self, name: str, beside: Sequence[str] = ()) -> Sequence[SiteAttention]:
        """The sites of one example alone: no padding, whatever the model's layout.

        beside: others that will be asked about too; those of the same length share the pass, and where attention only
        pools, those of like length.
        """
        self._pay(requests=1)
        if name not in self._sites and self._pools and self._looks.knows((name, "frozen")):
            # the pass for the gradients met the same weights
            slopes = self.weight_slopes(name, "frozen")
            self._sites[name] = [Held(Attention(s.site, np.array(s.weights[None]), None, "first")) for s in slopes]
        if name not in self._sites:
            alike = self._alike(name, [other for other in beside if other not in self._sites])
            found = self._captured(alike)
            if found is None:
                alike, found = [name], [self._capture([name])]
            self._sites.update(zip(alike, found, strict=True))
            self._pools = all(site.site.kind == "pooling" for site in found[0])
            self._pay(forwards=len(alike))
        return self._sites[name]

    def _captured(self, alike: Sequence[str]) -> list[Sequence[SiteAttention]] | None:
        """The sites of each of these; None where the rows of a pass are not these examples alone."""
        sites = self._capture(alike)
        if len(alike) == 1:
            return [sites]
        if any(site.shape[0] != len(alike) for site in sites):  # examples are cut into pieces
            self._pools = False
            return None
        if all(site.site.kind == "pooling" for site in sites):
            apart = taken_apart([site.dense() for site in sites], self._lengths(alike))
            self._pools = self._pools and apart is not None
            return apart
        if len(set(self._lengths(alike))) > 1:
            return None
        return [[RowOf(site, row) for site in sites] for row in range(len(alike))]

    def _capture(self, names: Sequence[str]) -> Sequence[SiteAttention]:
        """The sites of a pass whose answers are numbers."""
        capture = self.model.capture([self._encoded[name] for name in names], self.targets(names))
        known(capture.answers, self.model.name)
        return capture.sites

    def _alike(self, name: str, others: Sequence[str]) -> list[str]:
        """The example and others of the same length, as many as go in a batch together without padding.

        What attention pools is not changed by padding, so there a little of it is allowed.
        """
        found = self._near(name, others)
        if any(isinstance(target, list) for target in self.targets(found)):
            return [name]  # what is written differs in length, whatever is read
        return found

    def _near(self, name: str, others: Sequence[str]) -> list[str]:
        form, length = self._form(name), self._encoded[name].length
        if self._pools:
            near = [(abs(self._encoded[o].length - length), o) for o in others if o != name]
            found = [other for far, other in sorted(near) if far <= NEAR * length]
        else:
            found = [other for other in others if other != name and self._form(other) == form]
        room = TOGETHER * 2 if self._pools else TOGETHER
        return [name, *found][: max(1, min(self._batching.rows, room // max(1, length)))]

    def _form(self, name: str) -> tuple[object, ...]:
        if name not in self._forms:
            units = self._encoded[name].units
            # sounds of as many frames may have more samples or fewer
            end = float(units.places[-1, 1]) if units.place_kind == "range" and len(units) else 0.0
            self._forms[name] = self._encoded[name].length, len(units), units.shape, int(units.part.sum()), end
        return self._forms[name]

    def reading(self, name: str, site: Site) -> tuple[int, ...]:
        """The query rows of a site that the objective reads."""
        (target,) = self.targets([name])
        return read_rows(self.model, self._encoded[name], target, site)

    def weight_slopes(self, name: str, kind: WeightGradientKind, beside: Sequence[str] = ()) -> Sequence[WeightSlopes]:
        """Gradients with respect to the attention weights of one example; `beside` as in `attention`."""
        if self._looks.knows((name, kind)):
            return self._looks.weight_slopes([name], [self._encoded[name]], [None], kind)
        others = [other for other in beside if not self._looks.knows((other, kind))]
        if name not in self._base and self._decided_with_slopes(name, kind, others):
            return self._looks.weight_slopes([name], [self._encoded[name]], [None], kind)
        alike = self._alike(name, others)
        return self._looks.weight_slopes(alike, [self._encoded[n] for n in alike], self.targets(alike), kind)

    def _decided_with_slopes(self, name: str, kind: WeightGradientKind, others: Sequence[str]) -> bool:
        """One pass for what the model says to these, which nobody asked yet, and for the slopes; False if it cannot."""
        if self._origin is not None or not predicted_weight_slopes.supports(self.model):
            return False
        alike = self._near(name, [other for other in others if other not in self._base])
        encoded = [self._encoded[n] for n in alike]
        found = predicted_weight_slopes(self.model, encoded, kind)
        if found is None:
            return False
        known(found[0], self.model.name)
        if not self._looks.hold(alike, encoded, found[2], kind):
            return False
        self._base.update(zip(alike, zip(self._each(found[0]), found[1], strict=True), strict=True))
        self._pay(forwards=len(alike), backwards=len(alike))
        return True

    def parts(self, name: str, keys: Sequence[str]) -> Sequence[Parts]:
        """What the attention of one example is made of."""
        return self._looks.parts(name, keys, self._encoded[name], *self.targets([name]))

    def zeroed(self, name: str, keys: Sequence[str]) -> Sequence[Zeroed]:
        """What every layer gives out for one example when the value of one key is zero."""
        return self._looks.zeroed(name, keys, self._encoded[name], *self.targets([name]))

    def edited(self, asked: Sequence[tuple[str, Sequence[Edit]]]) -> list[Said]:
        """What it says with edited attention. Examples of like length share a batch, each row with its own edits."""
        self._pay(requests=len(asked))
        keys = [(name, _edit_key(edits)) for name, edits in asked]
        groups: dict[str, list[tuple[str, str]]] = {}
        by_key = {key: edits for key, (_, edits) in zip(keys, asked, strict=True)}
        for key in by_key:
            if key not in self._edited:
                # values and permutations belong to one example's shape: its variants share a batch, others have theirs
                own = any(e.values is not None or e.what == "permute" for e in by_key[key])
                groups.setdefault(key[0] if own else "", []).append(key)
        self.targets([name for name, _ in asked])
        for group in groups.values():

            def ask(part: Sequence[tuple[str, str]]) -> list[Said]:
                targets = [self._base[name][1] for name, _ in part]
                alike = len({text for _, text in part}) == 1
                edits: Edits = list(by_key[part[0]]) if alike else [list(by_key[key]) for key in part]
                return self._each(self.model.forward([self._encoded[name] for name, _ in part], targets, edits))

            answers = self._batching.answers(group, self._lengths([name for name, _ in group]), ask)
            self._edited.update(zip(group, answers, strict=True))
            self._pay(forwards=len(group))
        return [self._edited[key] for key in keys]

    def swept(self, names: Sequence[str], edits: Sequence[Sequence[Edit]], counts: Sequence[int]) -> Answers:
        """What it says with each of many attentions, given as arrays; too many to be remembered one by one."""
        self._pay(requests=sum(counts))
        self.targets(names)
        asked = [i for i, count in enumerate(counts) if count]

        def ask(part: Sequence[int]) -> list[Answers]:
            targets = [self._base[names[i]][1] for i in part]
            said = with_weights(self.model, [self._encoded[names[i]] for i in part], targets, [edits[i] for i in part])
            known(said, self.model.name)
            ends = np.cumsum([0, *(counts[i] for i in part)]).tolist()
            return [some_of(said, start, stop) for start, stop in pairwise(ends)]

        found = dict(
            zip(asked, self._batching.answers(asked, self._lengths([names[i] for i in asked]), ask), strict=True)
        )
        self._pay(forwards=sum(counts))
        return joined(counts, [found[i] for i in asked])

    def steered(self, name: str, places: Sequence[Edit]) -> WeightFunction:
        """The answer as a function of attention weights; its caller pays for every row."""
        (target,) = self.targets([name])
        return PaidSteering(
            weight_function(self.model, self._encoded[name], target, places), self._pay, self.model.name
        )

    def routed(self, name: str, reads: Sequence[Read], donors: Sequence[tuple[str, Sequence[Read]]]) -> list[Said]:
        """What it says about one example with the attention output of each donor in place of its own."""
        self._pay(requests=len(donors))
        keys = [(name, donor, tuple(reads), tuple(theirs)) for donor, theirs in donors]
        new = [i for i, key in enumerate(keys) if key not in self._routed]
        if new:
            (target,) = self.targets([name])
            given = [(self._encoded[donors[i][0]], self.targets([donors[i][0]])[0], donors[i][1]) for i in new]
            answers = patched_output(self.model, self._encoded[name], target, reads, given)
            self._routed.update(zip([keys[i] for i in new], self._each(answers), strict=True))
            self._pay(forwards=len(new))
        return [self._routed[key] for key in keys]

    # ------------------------------------------------------------------ other inputs

    def instead(self, about: Mapping[str, tuple[str, Target]]) -> Desk:
        """A desk for other examples that stand for some of these; nobody remembers it but who asked for it."""
        return Desk(
            self.model,
            seed=self.seed,
            batch=self._batching.rows,
            tokens=self._batching.tokens,
            origin=self,
            about=about,
        )

    def asked(self, asked: Sequence[tuple[str, Example]]) -> list[Said]:
        """What it says to other inputs, about the targets of these examples; NaN where it cannot read one.

        Texts that were asked about before are remembered: searches come to the same text in several ways.
        """
        self._pay(requests=len(asked))
        self.targets([name for name, _ in asked])
        keys = [_written(name, example) for name, example in asked]
        read: list[tuple[int, Encoded]] = []
        for i in {key or i: i for i, key in enumerate(keys) if key not in self._heard}.values():
            with suppress(InputError):  # a text that became too long, or lost its last word
                read.append((i, self.model.encode(asked[i][1])))

        def ask(part: Sequence[tuple[int, Encoded]]) -> list[Said]:
            targets = [self._base[asked[i][0]][1] for i, _ in part]
            return self._each(self.model.forward([encoded for _, encoded in part], targets))

        said = self._batching.answers(read, [encoded.length for _, encoded in read], ask)
        self._pay(forwards=len(read))
        found = {i: answer for (i, _), answer in zip(read, said, strict=True)}
        self._heard.update((key, found[i]) for i in found if (key := keys[i]) is not None)
        known = [found.get(i) or self._heard.get(key) for i, key in enumerate(keys)]
        return [answer or self._unread(name) for answer, (name, _) in zip(known, asked, strict=True)]

    def _unread(self, name: str) -> Said:
        known = self._base[name][0].distribution
        return Said(np.nan, np.nan, None if known is None else np.full_like(known, np.nan))

    def input_gradients(self, names: Sequence[str]) -> list[NDArray[np.float32]]:
        """The gradient of the objective at every entry of the continuous inputs."""
        self._pay(requests=len(names), forwards=len(names), backwards=len(names))
        targets = dict(zip(names, self.targets(names), strict=True))

        def ask(part: Sequence[str]) -> list[NDArray[np.float32]]:
            gradients = input_gradients(self.model, [self._encoded[n] for n in part], [targets[n] for n in part])
            return known_arrays(gradients, self.model.name)

        return self._batching.answers(names, self._lengths(names), ask)

    def together(self, examples: Sequence[Example]) -> BatchFunction:
        """Examples as one function; its caller pays for every row."""
        return PaidTogether(batch_function(self.model, examples), self._pay, self.model.name)

    # ------------------------------------------------------------------ who pays

    def paid_by(self, kind: str, method: str) -> AbstractContextManager[None]:
        """Seconds, forwards and requests inside are charged to this method, and to no other."""
        return self._till.paid_by(kind, method)

    def payer_of(self, kind: str, method: str) -> tuple[str, str]:
        """Who is charged for a method's work: the method itself; at the desk of a variant, whoever asked for it."""
        return (kind, method) if self._origin is None else self._till.payer

    def costs(self) -> tuple[Cost, ...]:
        """What everyone spent so far, here and at the desks of the variants."""
        return self._till.costs()

    # ------------------------------------------------------------------ batches

    def _each(self, answers: Answers) -> list[Said]:
        """The answer to each question, none of them unknown."""
        return one_by_one(known(answers, self.model.name))

    def _lengths(self, names: Iterable[str]) -> list[int]:
        return [self._encoded[name].length for name in names]

    def _quietly_base(self, names: Sequence[str]) -> list[Said]:
        self.targets(names)
        return [self._base[name][0] for name in names]


def shuffle(units: Units, rng: np.random.Generator) -> Ints:
    """(n,) the unit for each place: free units change places within their part, and none stays if that can be had."""
    order = np.arange(len(units))
    for part in np.unique(units.part):
        free = np.flatnonzero(units.free & (units.part == part))
        if len(free) > 1:
            # a rotation of a random order moves every unit
            drawn = rng.permutation(free)
            order[drawn] = np.roll(drawn, 1)
    return order


def _together(slopes: Sequence[_Slope]) -> Slopes:
    # a point at the input itself was perhaps asked alone, and then nobody looked at the baseline
    known = [s.ends for s in slopes if not np.isnan(s.ends).any()]
    lows = np.array([low for _, low in known])
    return Slopes(
        np.stack([s.dot for s in slopes]), np.stack([s.norm for s in slopes]), np.array([s.value for s in slopes]),
        (known[0][0], float(lows.mean())) if known else slopes[0].ends, lows if len(lows) == len(slopes) else None,
    )  # fmt: skip


def _written(name: str, example: Example) -> object | None:
    """What an input is remembered by; None where it is not text alone."""
    items = example.inputs.items()
    return (name, *sorted(items)) if all(isinstance(value, str) for _, value in items) else None


def _edit_key(edits: Sequence[Edit]) -> str:
    return repr([(replace(e, values=None), None if e.values is None else e.values.tobytes()) for e in edits])
