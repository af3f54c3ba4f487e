"""Material of a survey: the caller's input as examples with the model's predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.audits.resolve import default_data, matched, open_data, prepared
from regard.datasets.examples import IN_MEMORY, Examples
from regard.errors import InputError, RegardError, phrase
from regard.protocols import Dataset, Encoded, Model, Target
from regard.records import Example, Ints, Message, Text
from regard.surveys.heads.importance import batches


@dataclass(frozen=True, slots=True)
class Material:
    """Encoded examples with the target of each."""

    model: Model
    examples: list[Example]
    encoded: list[Encoded]
    targets: list[Target]

    @property
    def clusters(self) -> Ints:
        return np.unique([e.cluster for e in self.examples], return_inverse=True)[1].astype(np.int64)

    def some(self, chosen: Sequence[int]) -> Material:
        examples, encoded, targets = self.examples, self.encoded, self.targets
        return Material(
            self.model, [examples[i] for i in chosen], [encoded[i] for i in chosen], [targets[i] for i in chosen]
        )


def material_of(
    live: Model,
    model: str | Model,
    data: str | Dataset | Sequence[str | Example] | None,
    limit: int,
    seed: int,
    *,
    labels: str | None = None,
) -> tuple[Material, list[int | None], list[Text], str]:
    """Return the material, the class of each example if known, notes about the data, and its name."""
    if limit < 1:
        raise InputError("limit", expected=phrase("errors.common.at_least_one_example"), got=str(limit))
    dataset = _opened(default_data(model) if data is None else data, limit, seed)
    examples, notes = prepared(live, dataset, limit)
    labelled = bool(live.labels) and "classification" in live.task and any(e.label is not None for e in examples)
    if labelled:
        try:
            examples, _ = matched(live, dataset, examples, labels)
        except RegardError as reason:
            if labels is not None:  # a map that the user wrote must fit
                raise
            labelled = False
            notes.append(Message.of("heads.note.no_accuracy", reason=str(reason)))
    readable: list[Example] = []
    encoded: list[Encoded] = []
    for example in examples:
        try:
            encoded.append(live.encode(example))
            readable.append(example)
        except RegardError as reason:
            notes.append(Message.of("heads.note.skipped", reason=str(reason)))
    if not readable:
        raise InputError(
            phrase("errors.common.data_path", path=dataset.name),
            expected=phrase("errors.surveys.example_that_model_can_read"),
            got=phrase("errors.common.none"),
        )
    targets: list[Target] = []
    for batch in batches(encoded):
        targets += live.predict([encoded[i] for i in batch])[1]
    at = {label: i for i, label in enumerate(live.labels)}
    gold = [at.get(str(e.label)) if labelled and e.label is not None else None for e in readable]
    return Material(live, readable, encoded, targets), gold, notes, dataset.name


def _opened(data: str | Dataset | Sequence[str | Example], limit: int, seed: int) -> Dataset:
    if isinstance(data, str):
        return open_data(data, limit, seed)
    if isinstance(data, Sequence):
        examples = [e if isinstance(e, Example) else Example(f"input-{i}", {"text": e}) for i, e in enumerate(data)]
        return Examples(IN_MEMORY, tuple(examples), (), ())
    return data
