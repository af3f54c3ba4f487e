"""`cite` for a model behind an API: every source is deleted in turn, and the endpoint scores the answer again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from regard.errors import Unsupported, phrase
from regard.models.chat.answer import answer_span, answer_units
from regard.models.chat.answer_objective import AnswerObjective
from regard.models.chat.conversation import plain_text
from regard.models.chat.prompt_reader import PromptReader
from regard.models.chat.sources import find_sources
from regard.models.endpoint.endpoint_answer import EndpointObjective, EndpointReader
from regard.models.endpoint.endpoint_model import EndpointModel
from regard.records import Message
from regard.surveys.answer_evidence import Evidence
from regard.surveys.citation_rule import DECISIVE, SUFFICIENT
from regard.surveys.cited_answer import CitedAnswer, CitedSource, Thresholds


def cite_endpoint(
    model: EndpointModel,
    prompt: str | Sequence[Mapping[str, Any]],
    answer: str | None,
    *,
    sources: str | Sequence[Any] | None,
    separator: str | None,
    prefix: str,
    units: str,
    span: str | Sequence[int] | None,
    check: int,
    passes: float,
    delta: float,
    new_tokens: int,
) -> CitedAnswer:
    """Measure which sources of a plain prompt each sentence of an answer depends on, by deletion alone.

    The decision rule is that of `cite`; its error rate was measured with another ranking, so none is reported.
    """
    if not isinstance(prompt, str):
        raise Unsupported(
            phrase("errors.common.messages_for_model", model=model.name),
            expected=phrase("errors.surveys.plain_prompt_because_endpoint"),
            got=phrase("errors.surveys.chat_messages"),
            remedy="--prompt TEXT",
        )
    conversation = plain_text(prompt)
    parts, notes = find_sources(conversation, sources, separator)
    reader = EndpointReader(model, conversation, parts, prefix)
    reply = reader.answer(answer, new_tokens)
    spans, owners = answer_units(reply, units) if span is None else answer_span(reply, span)
    objective = EndpointObjective(model, reader.text, reply, owners)
    evidence = Evidence(
        reader=cast("PromptReader", reader),
        reply=reply,
        objective=cast("AnswerObjective", objective),
        spans=spans,
        delta=delta,
        check=check,
        limit=passes,
    )
    evidence.rank()
    sentences = tuple(evidence.sentences())
    return CitedAnswer(
        model=model.name,
        answer=reply.text,
        generated=answer is None,
        sources=tuple(
            CitedSource(source.text, source.spans, int((reader.owners == i).sum())) for i, source in enumerate(parts)
        ),
        sentences=sentences,
        delta=delta,
        thresholds=Thresholds(effect=delta, gain=evidence.gain, probability=SUFFICIENT, word=DECISIVE),
        reliability=None,
        contrast=None,
        ranking=evidence.ranking,
        prompt_tokens=len(reader.ids),
        ranking_passes=round(evidence.ranking_passes, 3),
        passes=round(objective.passes, 3),
        notes=(Message("endpoint.page"), *notes, *reply.notes, *evidence.notes),
    )
