"""Object detector, one question per object: is this class at this query, or something else?

A picture has many answers, one per object query. Each has a class, a box, and its own row of the attention, so an
example is one object of a picture; the objects of one picture count as one independent draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch

from regard.errors import InputError, phrase
from regard.models.adapter import TorchModel
from regard.models.object_objective import OBJECT, decide_object, object_probabilities, read_object
from regard.models.read.encoded import Item
from regard.models.tasks import TaskRow
from regard.records import Example, Message, Text

OBJECTS = 4
"""Maximum objects of one picture to explain: the most probable ones."""
OBJECT_BOX = "object_box"
"""Key in the inputs of an object: top, left, bottom, right in pixels of the picture, for drawings alone."""
SURE = 0.5
"""Minimum probability of an object. If no query reaches it, only the most probable object is explained."""


@dataclass(frozen=True, slots=True)
class DetectedObject:
    """Object found by one query. box: top, left, bottom, right in pixels of the user's picture; None without boxes."""

    query: int
    label: int
    name: str
    probability: float
    box: tuple[float, float, float, float] | None


class DetectorModel(TorchModel):
    """Detector as a `protocols.Model`: a picture becomes its most probable objects."""

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        count = len(self.labels)
        self.row: TaskRow = replace(
            self.row, decide=partial(decide_object, labels=count), read=partial(read_object, labels=count)
        )
        self._counts = {"pictures": 0, "objects": 0, "unsure": 0}

    @property
    def notes(self) -> list[Text]:
        if not self._counts["pictures"]:
            return super().notes
        return [*super().notes, Message.of("data.detected_objects", most=OBJECTS, sure=SURE, **self._counts)]

    def objects(self, example: Example) -> list[DetectedObject]:
        """Every query of a picture with its most probable class, the most probable first."""
        item = super().encode(example)
        with torch.inference_mode():
            outputs, _ = self.outputs([item], None)
            probabilities = object_probabilities(outputs["logits"], len(self.labels))[0].float().cpu().numpy()
            boxes = outputs["pred_boxes"][0].float().cpu().numpy() if "pred_boxes" in outputs else None
        visible = _visible(item)
        order = np.argsort(-probabilities.max(-1), kind="stable")
        return [
            DetectedObject(
                query=int(query),
                label=int(probabilities[query].argmax()),
                name=self.labels[int(probabilities[query].argmax())],
                probability=float(probabilities[query].max()),
                box=None if boxes is None else _in_pixels(boxes[query], visible),
            )
            for query in order
        ]

    def query_names(self, example: Example) -> tuple[str, ...]:
        """Name each object query: its most probable class with the probability, in the order of the queries."""
        every = sorted(self.objects(example), key=lambda one: one.query)
        return tuple(f"{one.query}: {one.name} {one.probability:.0%}" for one in every)

    def query_boxes(self, example: Example) -> list[tuple[float, ...]]:
        """The box at each object query, in the order of the queries; () without boxes."""
        return [one.box or () for one in sorted(self.objects(example), key=lambda one: one.query)]

    def windows(self, example: Example) -> list[Example]:
        if OBJECT in example.inputs:
            return [example]
        every = self.objects(example)
        sure = [one for one in every if one.probability > SURE][:OBJECTS]
        self._counts["pictures"] += 1
        self._counts["objects"] += len(sure) or 1
        self._counts["unsure"] += not sure
        return [
            replace(
                example,
                id=f"{example.id}/{one.query}",
                inputs={
                    **example.inputs,
                    OBJECT: [one.query, one.label],
                    **({OBJECT_BOX: [round(edge, 1) for edge in one.box]} if one.box is not None else {}),
                },
                label=None,
                parent=example.parent or example.id,
            )
            for one in sure or every[:1]
        ]

    def encode(self, example: Example) -> Item:
        item = super().encode(example)
        if OBJECT not in example.inputs:
            return item
        target = example.inputs[OBJECT]
        if not isinstance(target, Sequence) or isinstance(target, str) or len(target) != 2:
            raise InputError(
                phrase("errors.common.example_example", example=repr(example.id)),
                expected=phrase("errors.models.query_and_class"),
                got=repr(target),
            )
        return replace(item, aside={**item.aside, OBJECT: np.array([int(i) for i in target], np.int64)})


def _visible(item: Item) -> tuple[float, float, float, float]:
    """The part of the user's picture that the units cover: top, left, bottom, right."""
    places = item.units.places[item.units.free]
    top, left = places[:, :2].min(0)
    bottom, right = places[:, 2:].max(0)
    return float(top), float(left), float(bottom), float(right)


def _in_pixels(
    box: np.ndarray[Any, np.dtype[np.float32]], visible: tuple[float, float, float, float]
) -> tuple[float, float, float, float]:
    """Centre and size on 0..1 -> top, left, bottom, right in pixels."""
    top, left, bottom, right = visible
    x, y, width, height = (float(number) for number in box)
    tall, broad = bottom - top, right - left
    return (
        top + (y - height / 2) * tall,
        left + (x - width / 2) * broad,
        top + (y + height / 2) * tall,
        left + (x + width / 2) * broad,
    )
