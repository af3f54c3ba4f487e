"""Targets in words: the class, or the tokens that they stand for."""

from __future__ import annotations

from regard.models.adapter import TorchModel, own
from regard.models.ask.answer_names import answer_name, written_names
from regard.models.ask.capability import capability
from regard.models.open.labels import named
from regard.protocols import Encoded, Target
from regard.records import Json


@capability(needs="model")
def name_of_answer(model: TorchModel, target: Target, encoded: Encoded | None = None) -> Json:
    """Name a target: the class, or the text of its tokens; the target itself if no name is known."""
    item = None if encoded is None else own(encoded)
    return answer_name(model.task, target, model.labels, model.reader, item)


@capability(needs="model")
def names_of_tokens(model: TorchModel, target: Target) -> tuple[str, ...] | None:
    """Name each token that the model wrote; None if an answer is not a token."""
    return written_names(model.task, target, model.reader)


name_of_answer.register(object, lambda model, target, encoded=None: named(target, model.labels))
names_of_tokens.register(object, lambda model, target: None)
