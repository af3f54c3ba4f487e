"""Changes that make a variant of a case: noise in the inputs, another order, another model, another class.

A variant has its own desk, uses the targets of its origin, and charges the method that requested it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from regard.desk.unit_alignment import unit_origins
from regard.errors import Text, Unsupported, phrase
from regard.measures.keyed_random import keyed_rng
from regard.models.ask.add_noise import add_noise
from regard.models.ask.randomised import randomised_copy
from regard.models.ask.reorder import reorder
from regard.perturbations.apply import perturber
from regard.perturbations.columns import fitted
from regard.protocols import Case, Change, Encoded, Model, Target
from regard.records import Example, Ints, Json, Perturbed, Spec, Units
from regard.registry import entry, named_model, names

if TYPE_CHECKING:
    from regard.desk.desk import Desk

_TWINS: dict[tuple[Spec, str], Model] = {}
"""Models retrained with one change, by their source and the fingerprint of the original."""
MASKING = 0.5
"""Share of masked texts in the training of a twin (Madsen et al. 2024)."""


@dataclass(frozen=True, slots=True, eq=False)
class Admission:
    """An example as a desk reads it.

    displacement: shift of the continuous inputs, as a share of their norm. order: (n,) the unit of the original in each
    place. origins: computes (n,) the original unit of each unit, -1 for none. The last two are None if units keep their
    places.
    """

    example: Example
    encoded: Encoded
    displacement: float = 0.0
    order: Ints | None = None
    origins: Callable[[], Ints] | None = None


Admit = Callable[[Example], Admission]


class DeskChange(Change):
    """Base of all changes: may replace the model, the encoding of examples, or the targets; by default nothing."""

    cached: ClassVar[bool] = True
    """Whether the desk caches the variant."""

    def bound(self, case: Case, companions: Sequence[Example]) -> DeskChange:
        """Return the change with the facts it needs from the case."""
        return self

    def model(self, model: Model) -> Model:
        return model

    def admit(self, desk: Desk) -> Admit:
        """Function that encodes examples at the variant's desk."""
        return lambda example: Admission(example, desk.encode(example))

    def examples(self, examples: Sequence[Example]) -> Sequence[Example]:
        return examples

    def targets(self, names: Sequence[str], origin: Desk) -> list[Target]:
        """Targets of the objective for examples of the variant."""
        return origin.targets(names)


@dataclass(frozen=True, slots=True)
class Noisy(DeskChange):
    """Gaussian noise in the continuous inputs, `noise` times their root mean square; see `noisy` of the model."""

    noise: float
    draw: int = 0

    def admit(self, desk: Desk) -> Admit:
        def admit(example: Example) -> Admission:
            rng = keyed_rng(desk.seed, example.id, "noisy", float(self.noise), int(self.draw))
            encoded, displacement = add_noise(desk.model, desk.encode(example), float(self.noise), rng)
            return Admission(example, encoded, displacement)

        return admit


@dataclass(frozen=True, slots=True)
class Shuffled(DeskChange):
    """The free units in another order."""

    draw: int = 0

    def admit(self, desk: Desk) -> Admit:
        def admit(example: Example) -> Admission:
            encoded = desk.encode(example)
            order = shuffle(encoded.units, keyed_rng(desk.seed, example.id, "shuffled", int(self.draw)))
            return Admission(example, reorder(desk.model, encoded, order), order=order)

        return admit


@dataclass(frozen=True, slots=True)
class PerturbedBy(DeskChange):
    """The examples under a named noise (kind "perturbation", severity 1 to 5); ids and labels stay."""

    noise: str | Spec
    severity: int

    def bound(self, case: Case, companions: Sequence[Example]) -> PerturbedBy:
        spec = self.noise if isinstance(self.noise, Spec) else Spec.parse("perturbation", self.noise)
        # what is normal for a column is measured on the same rows for every shard
        return replace(self, noise=fitted(spec, companions or case.examples))

    def admit(self, desk: Desk) -> Admit:
        assert isinstance(self.noise, Spec), "bound to a case before it is used"
        perturb, origin = perturber(self.noise, desk.seed, desk.model), desk.origin

        def admit(example: Example) -> Admission:
            noised: Perturbed = perturb(example, self.severity)
            encoded = desk.encode(noised.example)

            def origins() -> Ints:
                assert origin is not None
                return unit_origins(origin.admit(example), encoded.units, example, noised)

            return Admission(noised.example, encoded, origins=origins)

        return admit


@dataclass(frozen=True, slots=True)
class Randomized(DeskChange):
    """A copy of the model in which the top `share` of the blocks have permuted weights."""

    share: float = 1.0
    draw: int = 0

    def model(self, model: Model) -> Model:
        return randomised_copy(model, self.share, self.draw)


@dataclass(frozen=True, slots=True)
class ShuffledLabels(DeskChange):
    """The same model trained on shuffled labels; Unsupported without a training recipe."""

    def model(self, model: Model) -> Model:
        return _twin(model, "labels", "shuffled", remedy=phrase("errors.desk.by_head_which_swaps_classes"))


@dataclass(frozen=True, slots=True)
class MaskTuned(DeskChange):
    """The same model trained on masked texts too; the model itself if it already was.

    Unsupported without a training recipe, and if the twin's predictions differ from the model's on whole texts (see
    `twin_check`).
    """

    def model(self, model: Model) -> Model:
        if reads_masks(model):
            return model
        name = "" if model.spec is None else model.spec.name
        if (Path(name).expanduser() / "regard.json").is_file():
            twin = _rebuilt(model, Spec("source", "masked_twin", {"directory": name}))
        else:
            remedy = phrase("errors.desk.model_by_regard_train_classifier")
            twin = _twin(model, "masking", MASKING, remedy=remedy)
        from regard.desk.twin_check import usable_twin

        return usable_twin(model, twin)


@dataclass(frozen=True, slots=True)
class OtherClass(DeskChange):
    """The same model with another target class."""

    draw: int = 0

    def targets(self, names: Sequence[str], origin: Desk) -> list[Target]:
        others: list[Target] = []
        for target, answer in zip(origin.targets(names), origin.base(names), strict=True):
            classes = 0 if answer.distribution is None else len(answer.distribution)
            if classes < 2 or not isinstance(target, int):
                raise Unsupported(
                    phrase("errors.desk.another_class_for_model", model=origin.model.name),
                    expected=phrase("errors.common.model_that_chooses_among_classes"),
                    got=phrase("errors.desk.task_task", task=origin.model.task),
                )
            others.append((target + 1 + self.draw % (classes - 1)) % classes)
        return others


@dataclass(frozen=True, slots=True, eq=False)
class Replaced(DeskChange):
    """Other examples, one for each, with the same or the given targets; the variant is not cached."""

    replacements: Sequence[Example]
    new_targets: Sequence[Target] | None = None
    originals: tuple[str, ...] = ()
    cached: ClassVar[bool] = False

    def bound(self, case: Case, companions: Sequence[Example]) -> Replaced:
        return replace(self, originals=case.ids)

    def examples(self, examples: Sequence[Example]) -> Sequence[Example]:
        return self.replacements

    def targets(self, names: Sequence[str], origin: Desk) -> list[Target]:
        places = {example.id: place for place, example in enumerate(self.replacements)}
        decided = origin.targets([self.originals[places[name]] for name in names])
        own = self.new_targets or [None] * len(self.replacements)
        return [
            target if own[places[name]] is None else own[places[name]]
            for name, target in zip(names, decided, strict=True)
        ]


def shuffle(units: Units, rng: np.random.Generator) -> Ints:
    """Return (n,) the unit for each place: free units permuted within their part, without fixed points if possible."""
    order = np.arange(len(units))
    for part in np.unique(units.part):
        free = np.flatnonzero(units.free & (units.part == part))
        if len(free) > 1:
            # a rotation of a random order moves every unit
            permuted = rng.permutation(free)
            order[permuted] = np.roll(permuted, 1)
    return order


def reads_masks(model: Model) -> bool:
    """Return whether the model was trained on masked inputs: a masked twin, or a network trained with `masking`."""
    if getattr(model, "reads_masks", False):
        return True
    name = "" if model.spec is None else model.spec.name
    try:
        recipe = json.loads((Path(name).expanduser() / "training.json").read_text("utf-8"))["recipe"]
        return float(recipe["learner"]["params"].get("masking", 0.0)) > 0
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        source = named_model(name) if name else None
    return source is not None and (source.name == "masked_twin" or bool(source.params.get("masking")))


def _twin(model: Model, parameter: str, value: Json, *, remedy: Text) -> Model:
    """Train the model's recipe with one parameter changed on first use, and cache the result."""
    spec = None if model.spec is None else Spec.parse("source", model.spec.name)
    has_source = spec is not None and spec.name in names("source")
    trainable = has_source and spec is not None and parameter in {p.name for p in entry("source", spec.name).parameters}
    if spec is None or model.spec is None or not trainable:
        raise Unsupported(
            phrase("errors.desk.twin_with_parameter", model=model.name, parameter=parameter, value=value),
            expected=phrase("errors.desk.model_by_name_whose_recipe", parameter=parameter),
            got=phrase("errors.desk.model_that_not_trained_here"),
            remedy=remedy,
        )
    return _rebuilt(model, Spec("source", spec.name, {**spec.params, parameter: value}))


def _rebuilt(model: Model, source: Spec) -> Model:
    """Build the model of this source once, opened as `model` was."""
    assert model.spec is not None
    key = (source, model.fingerprint)
    if key not in _TWINS:
        from regard.models.open.load import rebuild

        _TWINS[key] = rebuild(Spec("model", str(source), model.spec.params))
    return _TWINS[key]
