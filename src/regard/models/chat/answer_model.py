"""Model of a fixed answer: the objective of every explainer and metric is the answer's log-odds.

    model = answer_model(load("smollm2"))
    example = answer_example(model, messages, "Anna lives in Rome.")

is a model and an example like any other. The value is log P / (1 - P) of a span of the answer, P the product of its
tokens' probabilities (float64), each after the prompt and all earlier tokens of the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from regard.errors import InputError, UnknownName, phrase
from regard.models.adapter import TorchModel
from regard.models.ask.capability import capability
from regard.models.ask.chat_model import chat_model
from regard.models.chat.answer import answer_span
from regard.models.chat.answer_reader import NEW_TOKENS, AnswerReader
from regard.models.chat.prompt_reader import split_answer
from regard.models.read.text import TextReader
from regard.models.tasks import ANSWER
from regard.protocols import Model
from regard.records import Example

UNITS = ("token", "source")


@capability(needs="a language model with a fast tokenizer")
def answer_model(model: TorchModel, units: str = "token") -> TorchModel:
    """Return the same network with answers as its objective. units: "token" (of the prompt) or "source"."""
    if units not in UNITS:
        raise UnknownName("units", units, UNITS)
    if model.row is ANSWER and isinstance(model.reader, AnswerReader) and model.reader.by == units:
        return model
    apart = model.traits.encoder_decoder
    chat = chat_model(model)
    reader = model.reader
    assert isinstance(reader, TextReader)
    settings = {field.name: getattr(reader, field.name) for field in fields(TextReader)}
    settings["observations"] = []
    return TorchModel(
        model.module,
        AnswerReader(**settings, chat=chat, by=units, apart=apart),
        ANSWER,
        name=model.name,
        device=str(model.device),
        traits=replace(model.traits, shares=False),
        embedding=model.embedding,
        call=model.call,
    )


def answer_example(
    model: Model,
    prompt: str | Sequence[Mapping[str, Any]],
    answer: str | Sequence[int] | None = None,
    *,
    span: str | Sequence[int] | None = None,
    sources: str | Sequence[Any] | None = None,
    separator: str | None = None,
    documents: Sequence[Mapping[str, Any]] = (),
    prefix: str = "",
    name: str = "answer",
    new_tokens: int = NEW_TOKENS,
) -> Example:
    """Return a prompt (messages or a text) and an answer as an example for `answer_model`.

    answer: text, token ids, or None: the assistant's last message, else the model's own. span: the part of the answer
    that is the objective, as text or (start, stop). Sources: as in `regard.cite`, for units="source".
    """
    if not isinstance(model, TorchModel) or not isinstance(model.reader, AnswerReader):
        raise InputError("model", expected=phrase("errors.models.model_answer_model"), got=type(model).__name__)
    reader, chat = model.reader, model.reader.chat
    assert chat is not None
    turns, given_answer = split_answer(prompt, answer)
    inputs: dict[str, Any] = {
        "prompt": turns if isinstance(turns, str) else [dict(message) for message in turns],
        "sources": sources,
        "separator": separator,
        "documents": [dict(document) for document in documents],
        "prefix": prefix,
    }
    page = reader.prompt(inputs)
    if given_answer is None and reader.apart:
        given_answer = _written(model, page.ids, new_tokens)
    reply = (
        reader.answer({**inputs, "answer": given_answer}, page)
        if given_answer is not None
        else page.answer(None, new_tokens)
    )
    inputs["answer"] = reply.text if isinstance(given_answer, str) else list(reply.ids)
    if span is not None:
        inputs["span"] = list(answer_span(reply, span)[0][0])
    return Example(name, {"text": page.text, **{key: value for key, value in inputs.items() if value}})


def _written(model: TorchModel, prompt: Sequence[int], new_tokens: int) -> list[int]:
    """Return the greedy answer of an encoder-decoder model, with its end token."""
    import torch

    native: Any = model.module
    ids = torch.tensor([list(prompt)], device=model.device)
    with torch.inference_mode():
        sequence = native.generate(
            input_ids=ids, attention_mask=torch.ones_like(ids), max_new_tokens=new_tokens, do_sample=False, num_beams=1
        )
    return [int(token) for token in sequence[0, 1:]]
