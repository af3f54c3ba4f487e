"""Capabilities of ONNX models: those that need no gradient and no torch weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from regard.models.adapter import own
from regard.models.ask.answers_in_words import name_of_answer, names_of_tokens
from regard.models.ask.capability import Capability
from regard.models.ask.current_fingerprint import current_fingerprint
from regard.models.ask.encoder_decoder import encoder_decoder
from regard.models.ask.lexicon import lexicon
from regard.models.ask.reorder import reorder
from regard.models.ask.repeated_tokens import copied_tokens, repeated_tokens
from regard.models.ask.token_ids import token_ids
from regard.models.ask.unknown_units import unknown_units
from regard.models.ask.weight_batches import with_weights
from regard.models.edited_capture import edited_capture
from regard.models.exported.onnx_model import OnnxModel, replaced_rows
from regard.models.read_rows import read_rows
from regard.protocols import Encoded, Target
from regard.records import Answers, Edit

SHARED: tuple[Capability[Any, Any], ...] = (
    name_of_answer,
    names_of_tokens,
    read_rows,
    current_fingerprint,
    encoder_decoder,
    lexicon,
    reorder,
    repeated_tokens,
    copied_tokens,
    token_ids,
    unknown_units,
)
"""Capabilities that depend on the reader and its vocabulary only."""


def register() -> None:
    """Register the capabilities of ONNX models; called once, when the first of them is opened."""
    for shared in SHARED:
        shared.register(OnnxModel, _delegated(shared))
    with_weights.register(OnnxModel, _with_weights)
    edited_capture.register(OnnxModel, OnnxModel.edited_capture)


def _delegated(shared: Capability[Any, Any]) -> Any:
    def answer(model: OnnxModel, *args: Any, **options: Any) -> Any:
        return shared(model.inner, *args, **options)

    return answer


def _with_weights(
    model: OnnxModel, batch: Sequence[Encoded], targets: Sequence[Target], edits: Sequence[Sequence[Edit]]
) -> Answers:
    items = [own(encoded) for encoded in batch]
    counts = [0 if not some or some[0].values is None else len(some[0].values) for some in edits]
    rows = [i for i, count in enumerate(counts) for _ in range(count)]
    changes = [row for some, count in zip(edits, counts, strict=True) for row in replaced_rows(some, count)]
    return model.forward([items[i] for i in rows], [targets[i] for i in rows], changes)
