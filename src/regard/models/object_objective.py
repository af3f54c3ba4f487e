"""The objective of a detector: the log-odds of one class at one object query.

target: [query, class]. A detector with a class "no object" (DETR, YOLOS) has one more logit than labels and shares one
softmax; one without it (Conditional DETR and others with a focal loss) has an independent yes or no for every label.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from regard.errors import InputError, phrase
from regard.models import objective
from regard.models.objective import TensorAnswers
from regard.models.read.encoded import Item

if TYPE_CHECKING:
    from regard.models.tasks import Outputs, Request, Runner
    from regard.protocols import Target

OBJECT = "object"
"""Keys in the inputs of an example and beside its arrays: the query and the class of the explained object."""


def has_no_object(logits: Tensor, labels: int) -> bool:
    """Return whether the last logit of every query means "no object"."""
    width = logits.shape[-1]
    if logits.ndim != 3 or width not in (labels, labels + 1):
        expected = phrase("errors.models.detector_logits", labels=labels, labels_b=labels + 1)
        raise InputError(phrase("errors.models.detector_output"), expected=expected, got=str(tuple(logits.shape)))
    return width == labels + 1


def object_probabilities(logits: Tensor, labels: int) -> Tensor:
    """(pictures, queries, labels) the probability of each class at each query."""
    logits = objective.wide(logits)
    return torch.softmax(logits, -1)[..., :labels] if has_no_object(logits, labels) else torch.sigmoid(logits)


def decide_object(run: Runner, items: Sequence[Item], *, labels: int) -> list[Target]:
    """Object that the example names; without one, the most probable object of the picture."""
    targets: list[Target] = [
        [int(i) for i in np.asarray(item.aside[OBJECT])] if OBJECT in item.aside else None for item in items
    ]
    if all(target is not None for target in targets):
        return targets
    probabilities = object_probabilities(run.outputs(items, None)[0]["logits"], labels)
    best = probabilities.flatten(1).argmax(-1).tolist()
    return [t if t is not None else list(divmod(int(k), labels)) for t, k in zip(targets, best, strict=True)]


def read_object(outputs: Outputs, request: Request, targets: Sequence[Target], *, labels: int) -> TensorAnswers:
    """Return two classes: something else at this query, and this class."""
    logits = outputs["logits"]
    pairs = [_pair(target) for target in targets]
    queries = torch.tensor([query for query, _ in pairs], device=logits.device)
    classes = torch.tensor([label for _, label in pairs], device=logits.device)
    rows = logits[torch.arange(len(pairs), device=logits.device), queries]
    read = objective.one_of_many if has_no_object(logits, labels) else objective.each_alone
    answers = read(rows, classes)
    return answers._replace(distribution=torch.stack([1 - answers.probability, answers.probability], -1))


def _pair(target: Target) -> tuple[int, int]:
    if isinstance(target, list) and len(target) == 2:
        query, label = target
        if isinstance(query, int) and isinstance(label, int):
            return query, label
    raise InputError("target", expected="[query, class]", got=repr(target))
