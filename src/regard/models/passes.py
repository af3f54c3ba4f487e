"""Captured and edited forward passes of the adapter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor, nn

from regard.errors import InputError, phrase
from regard.models.objective import TensorAnswers
from regard.models.read.encoded import Item
from regard.models.recorded_layers import layers_below
from regard.models.tasks import Outputs, Request, TaskRow
from regard.models.weight_versions import weight_versions
from regard.protocols import SiteAttention, Target
from regard.records import Check, Edits, Mode, Text
from regard.tap.capture_call import capture_call
from regard.tap.pass_history import forgettable
from regard.tap.replay import patterns_of, record_below
from regard.tap.replay_cache import Resume


class Runs(Protocol):
    """Interface of the adapter that this file uses."""

    @property
    def module(self) -> nn.Module: ...
    @property
    def row(self) -> TaskRow: ...
    @property
    def name(self) -> str: ...
    def tensors(self, items: Sequence[Item], targets: Sequence[Target] | None) -> tuple[dict[str, Tensor], Request]: ...
    def run(self, tensors: Mapping[str, Tensor], request: Request) -> Outputs: ...
    def run_read(self, tensors: Mapping[str, Tensor], request: Request, *, tapped: bool) -> Outputs: ...
    def groups(self, items: Sequence[Item]) -> list[list[int]]: ...


@dataclass(frozen=True, slots=True)
class Tapped:
    """Result of a captured pass: objective, sites, rejected softmaxes, and the kind of proof."""

    answers: TensorAnswers
    sites: Sequence[SiteAttention]
    rejected: Sequence[tuple[str, Text]]
    checked: Text


def run_captured(model: Runs, items: Sequence[Item], targets: Sequence[Target], *, mode: Mode, check: Check) -> Tapped:
    """Run one forward pass of the whole batch with the tap on."""
    refuse_several_lengths(model, items)
    with torch.inference_mode():
        tensors, request = model.tensors(items, targets)
        outputs, taps = capture_call(
            model.module, lambda: model.run(tensors, request), mode=mode, check=check, key_padding=key_padding(tensors)
        )
        answers = model.row.read(outputs, request, targets)
    return Tapped(answers, taps.sites, taps.rejected, taps.checked)


def key_padding(tensors: Mapping[str, Tensor]) -> Tensor | list[Tensor] | None:
    """Masks of real positions: the encoder's, and for teacher-forced targets the decoder's."""
    masks = [tensors["attention_mask"]] if "attention_mask" in tensors else []
    if "labels" in tensors:
        masks.append((tensors["labels"] >= 0).long())
    if not masks:
        return None
    return masks[0] if len(masks) == 1 else masks


def refuse_several_lengths(model: Runs, items: Sequence[Item]) -> None:
    """Refuse a batch of different lengths if the model takes no padding mask."""
    if len(model.groups(items)) > 1:
        raise InputError(
            phrase("errors.models.capture_model", model=model.name),
            expected=phrase("errors.models.examples_one_length_because_this_model"),
            got=phrase("errors.models.lengths_value", value=sorted({item.length for item in items})),
            remedy=phrase("errors.models.capture_them_one_by_one"),
        )


@dataclass(slots=True, eq=False, weakref_slot=True)
class EditedRuns:
    """Forward passes with edited attention.

    A second edit of the same sites of the same batch reuses everything below the lowest of them; so do many edits of
    one example in one batch.
    """

    _items: tuple[Item, ...] = ()
    _about: tuple[object, ...] = ()
    _resume: Resume | None = field(default=None)
    _trusted: dict[tuple[str, ...], bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        forgettable(self)

    def clear(self) -> None:
        """Forget the last batch, and the sites that allow sharing."""
        self._items, self._about, self._resume = (), (), None
        self._trusted.clear()

    def answers(self, model: Runs, items: Sequence[Item], targets: Sequence[Target], edits: Edits) -> TensorAnswers:
        refuse_several_lengths(model, items)
        sites = patterns_of(edits)
        if len(items) > 2 and all(item is items[0] for item in items) and self._trusted.get(sites, True):
            try:
                answers = _spread(model, items, targets, edits)
            except (RuntimeError, InputError, IndexError, ValueError):
                # what is below cannot be spread over more rows (a bias without a batch axis): computed again instead
                self._trusted[sites] = False
            else:
                if sites not in self._trusted:
                    whole = self._computed(model, items, targets, edits)
                    self._trusted[sites] = bool(torch.allclose(answers.value, whole.value, rtol=1e-4, atol=1e-4))
                    return whole
                return answers
        return self._computed(model, items, targets, edits)

    def _computed(self, model: Runs, items: Sequence[Item], targets: Sequence[Target], edits: Edits) -> TensorAnswers:
        about = (patterns_of(edits), repr(targets), weight_versions(model.module))
        again = about == self._about and len(items) == len(self._items) and all(map(_is, items, self._items))
        if not again:
            self._items, self._about, self._resume = tuple(items), about, None
        with torch.inference_mode():
            tensors, request = model.tensors(items, targets)
            if again and self._resume is None:
                _, self._resume = record_below(model.module, lambda: model.run(tensors, request), *patterns_of(edits))
            outputs, _ = capture_call(
                model.module,
                lambda: model.run_read(tensors, request, tapped=True),
                edits=edits,
                key_padding=key_padding(tensors),
                resume=self._resume,
            )
            return model.row.read(outputs, request, targets)


def _spread(model: Runs, items: Sequence[Item], targets: Sequence[Target], edits: Edits) -> TensorAnswers:
    """Run the edits of one example, one row each; the layers below the lowest edited site run for one row only."""
    with torch.inference_mode():
        one, asked_one = model.tensors(items[:1], targets[:1])
        below = layers_below(
            model.module, items[:1], targets[:1], patterns_of(edits), lambda: model.run(one, asked_one)
        )
        tensors, request = model.tensors(items, targets)
        outputs, _ = capture_call(
            model.module,
            lambda: model.run_read(tensors, request, tapped=True),
            edits=edits,
            key_padding=key_padding(tensors),
            resume=below.for_rows([0] * len(items)),
        )
        return model.row.read(outputs, request, targets)


def _is(one: Item, other: Item) -> bool:
    return one is other
