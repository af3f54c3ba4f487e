"""Generating model, one question per step: may this token come next, given the input and the tokens before it?

A whole sequence is not a decision among classes, so nothing can flip, and there is no single map to judge. Each step
is: it has one token, one row of the cross-attention, and the question "this token or another".
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from regard.errors import InputError, Unsupported, phrase
from regard.measures.keyed_random import keyed_rng
from regard.models.adapter import TorchModel
from regard.models.encoder_memory import EncoderMemory
from regard.models.other_task import OtherTask
from regard.models.read.encoded import Item
from regard.models.tasks import TASKS, WRITTEN, Outputs, Request, padded
from regard.protocols import Model, Target
from regard.records import Example, Message, Text

STEPS = 4
"""Maximum steps of one input, drawn at random; they count as one independent draw."""
SURE = 0.5
"""Minimum probability of a token: it must exceed all others together, or the question has no answer that could flip."""


class StepModel(OtherTask):
    """Generating model as a `protocols.Model` of its steps: an input becomes some of its steps."""

    def __init__(self, model: TorchModel) -> None:
        super().__init__(model, TASKS["written_token"])
        self._whole = model
        self._encoder = EncoderMemory() if model.modality == "audio" else None
        self._counts = {"count": 0, "steps": 0, "unsure": 0, "repeated": 0, "other": 0}

    @property
    def notes(self) -> list[Text]:
        facts = self._counts
        if not facts["count"]:
            return super().notes
        return [*super().notes, Message.of("data.written_steps", most=STEPS, sure=SURE, **facts)]

    def windows(self, example: Example) -> list[Example]:
        if WRITTEN in example.inputs:
            return [example]
        return [step for window in super().windows(example) for step in self._steps(window)]

    def encode(self, example: Example) -> Item:
        item = super().encode(example)
        written = example.inputs.get(WRITTEN)
        if not isinstance(written, Sequence) or not len(written) or isinstance(written, str):
            raise InputError(
                phrase("errors.common.example_example", example=repr(example.id)),
                expected=phrase("errors.models.tokens_written_so_far"),
                got=repr(written),
                remedy=phrase("errors.models.model_windows_example_which_gives"),
            )
        return replace(item, aside={WRITTEN: np.array([int(token) for token in written], np.int64)})

    def tensors(self, items: Sequence[Item], targets: Sequence[Target] | None) -> tuple[dict[str, Tensor], Request]:
        tensors = self.reader.collate(list(items), self.device, self.dtype)
        rows: list[Target] = []
        for i, item in enumerate(items):
            before = [int(token) for token in item.aside[WRITTEN][:-1]]
            target = targets[i] if targets is not None else int(item.aside[WRITTEN][-1])
            rows.append([*before, int(str(target))])
        tensors["labels"] = torch.from_numpy(padded(rows, -100)).to(self.device)
        return tensors, Request(items, tensors)

    def outputs(self, items: Sequence[Item], targets: Sequence[Target] | None) -> tuple[Outputs, Request]:
        with self._reading_once():
            return super().outputs(items, targets)

    def _reading_once(self) -> AbstractContextManager[None]:
        return nullcontext() if self._encoder is None else self._encoder.used(self.module)

    def _steps(self, example: Example) -> list[Example]:
        """Return the example at some of its steps: tokens that the model is sure of, drawn at random, in order."""
        item = super().encode(example)
        with torch.inference_mode(), self._reading_once():
            (ids,) = self._whole.generate([item])
            outputs, _ = self._whole.outputs([item], [list(ids)])
            rows = torch.softmax(outputs["logits"][0, : len(ids)].float(), -1)
            sure = rows[torch.arange(len(ids)), torch.tensor(ids, device=rows.device)] > SURE
        positions = own_positions(self._whole, ids)
        own = positions[: first_repeat([ids[i] for i in positions])]
        steps = [i for i in own if bool(sure[i])]
        lot = keyed_rng(0, "steps", example.id).permutation(len(steps))[:STEPS]
        sampled = sorted(steps[int(k)] for k in lot)
        self._counts["count"] += 1
        self._counts["steps"] += len(sampled)
        self._counts["unsure"] += len(own) - len(steps)
        self._counts["repeated"] += len(positions) - len(own)
        self._counts["other"] += len(steps) - len(sampled)
        return [
            replace(
                example,
                id=f"{example.id}/{step}",
                inputs={**example.inputs, WRITTEN: [int(token) for token in ids[: step + 1]]},
                label=None,
                parent=example.parent or example.id,
                alignment=None,
            )
            for step in sampled
        ]


def own_positions(model: TorchModel, ids: Sequence[int]) -> list[int]:
    """Positions of the tokens that are text: not the end, padding, or a token that the model received as input."""
    native: Any = model.module
    end = getattr(getattr(native, "generation_config", None), "eos_token_id", None)
    ends = end if isinstance(end, list) else [end]
    skipped = model.traits.forced | {int(i) for i in ends if i is not None} | model.traits.ends | {model.traits.pad_id}
    return [i for i, token in enumerate(ids) if token not in skipped]


def repeating_texts(model: Model, targets: Sequence[Target]) -> list[Text]:
    """One note about generated texts that repeat themselves up to their end; none for other models."""
    if not isinstance(model, TorchModel) or not model.traits.encoder_decoder or model.task != "sequence_to_sequence":
        return []
    texts = [
        [int(t) for t in cast("Sequence[int]", target)]
        for target in targets
        if isinstance(target, Sequence) and not isinstance(target, str)
    ]
    lengths = [
        (len(positions := own_positions(model, ids)), first_repeat([ids[i] for i in positions])) for ids in texts
    ]
    loops = [length - first for length, first in lengths if first < length]
    if not loops:
        return []
    return [Message.of("data.repeating_text", tokens=sum(loops), of=sum(length for length, _ in lengths))]


def first_repeat(tokens: Sequence[int]) -> int:
    """Position at which a text begins to repeat itself up to its end, at least three times; its length if it does not.

    A model in a loop copies its own text: such steps say nothing about the input.

    >>> first_repeat([7, 1, 2, 1, 2, 1, 2, 1]), first_repeat([1, 2, 1, 2]), first_repeat([])
    (3, 4, 0)
    """
    count = first = len(tokens)
    for period in range(1, count // 3 + 1):
        start = count
        while start > period and tokens[start - 1] == tokens[start - 1 - period]:
            start -= 1
        if count - (start - period) >= 3 * period:
            first = min(first, start)
    return first


def writer(model: Model) -> TorchModel:
    """Return the model itself if it generates behind an encoder; raise Unsupported otherwise."""
    if (
        not isinstance(model, TorchModel)
        or not model.traits.encoder_decoder
        or model.task not in ("sequence_to_sequence", "written_token")
    ):
        expected = phrase("errors.models.model_with_encoder_and_decoder")
        raise Unsupported(phrase("errors.common.model_live", live=model.name), expected=expected, got=model.task)
    return model


def steps_if_writer(model: Model) -> Model:
    """Wrap a model that generates whole sequences for its steps; return any other model unchanged."""
    writes = isinstance(model, TorchModel) and model.task == "sequence_to_sequence"
    return steps_of(model) if writes else model


def steps_of(model: Model) -> StepModel:
    """Wrap a generating model for its steps."""
    if isinstance(model, StepModel):
        return model
    if not isinstance(model, TorchModel) or model.task != "sequence_to_sequence":
        raise Unsupported(
            phrase("errors.models.steps_model", model=model.name),
            expected=phrase("errors.models.sequence_to_sequence_model"),
            got=model.task,
        )
    return StepModel(model)
