"""Selected rows of every attention of a pass, for the adapter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from regard.errors import InputError, Unsupported, phrase
from regard.models.adapter import OneForward, TorchModel, as_answers, own
from regard.models.ask.answer_names import answer_name, written_names
from regard.models.captured import Captured
from regard.models.read.encoded import Item
from regard.models.tasks import Outputs, Request
from regard.protocols import Encoded, Model, Target
from regard.records import Check
from regard.tap.row_capture import capture_rows
from regard.tap.row_collector import Rows


def capture_encoded_rows(model: Model, batch: Sequence[Encoded], rows: Rows, *, check: Check = "first") -> Captured:
    """Run a batch of one length once and keep these rows of every site.

    The sites are `RowAttention`s: `positions` lists their rows. The target is the model's prediction; a generating
    model generates its sequence first.
    """
    if not isinstance(model, TorchModel):
        raise Unsupported(
            phrase("errors.common.rows_live", live=model.name),
            expected=phrase("errors.common.torch_model"),
            got=type(model).__name__,
        )
    items = [own(encoded) for encoded in batch]
    if len({item.length for item in items}) > 1:
        raise InputError(
            "rows",
            expected=phrase("errors.models.inputs_one_length_because_rows"),
            got=phrase("errors.models.lengths_value", value=sorted({item.length for item in items})),
            remedy=phrase("errors.models.capture_them_one_by_one"),
        )
    targets = model.predict(items)[1] if model.task == "sequence_to_sequence" else None
    runner = _Runner(model, targets)

    def run() -> list[Target]:
        if targets is not None:
            runner.outputs(items, targets)
            return targets
        predictions: list[Target] = list(model.row.decide(runner, items))
        return predictions

    with torch.inference_mode():
        predictions, taps = capture_rows(model.module, run, rows, check=check)
        answers = model.row.read(*runner.last, predictions)
    return Captured(
        sites=taps.sites,
        rejected=taps.rejected,
        checked=taps.checked,
        units=[item.units for item in items],
        answers=as_answers(len(items), [(list(range(len(items))), answers)]),
        model=model.name,
        labels=model.labels,
        targets=tuple(predictions),
        task=model.task,
        names=tuple(
            answer_name(model.task, target, model.labels, model.reader, item)
            for target, item in zip(predictions, items, strict=True)
        ),
        written=tuple(written_names(model.task, target, model.reader) for target in predictions),
    )


class _Runner(OneForward):
    """Run the module itself, without the batches of the adapter."""

    def __init__(self, model: TorchModel, targets: Sequence[Target] | None) -> None:
        super().__init__(model)
        self._targets = targets

    def outputs(self, items: Sequence[Item], targets: Sequence[Target] | None) -> tuple[Outputs, Request]:
        tensors, request = self._model.tensors(items, self._targets)
        self.last = self._model.run(tensors, request), request
        return self.last


def parsed_rows(text: str) -> Any:
    """Parse rows as typed by the user.

    >>> parsed_rows("last"), parsed_rows("-5:"), parsed_rows("2:4"), parsed_rows("1,7,-1")
    ('last', slice(-5, None, None), slice(2, 4, None), [1, 7, -1])
    """
    bare = text.strip()
    if bare in ("last", "new"):
        return bare
    try:
        if ":" in bare:
            start, _, stop = bare.partition(":")
            return slice(int(start) if start.strip() else None, int(stop) if stop.strip() else None)
        return [int(part) for part in bare.split(",")]
    except ValueError:
        raise InputError("rows", expected=phrase("errors.models.last_new_range"), got=repr(text)) from None
