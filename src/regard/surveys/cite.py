"""`cite`: find the sources in a prompt that a language model's answer comes from.

1. One plain pass over prompt and answer.
2. Ranking: each source in turn is hidden from the rows that predict the answer (`models.chat.answer_rows`).
3. Check: the best two sources of every sentence are deleted for real, one by one; so are all sources together.
4. Decision with one threshold, `DELTA`; two sources that can replace each other are found by deleting both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from regard.errors import InputError, phrase
from regard.models.ask.chat_model import chat_model
from regard.models.chat.answer import Answer, answer_span, answer_units, token_mismatch
from regard.models.chat.answer_objective import AnswerObjective
from regard.models.chat.picture_chat import PictureReader, processor_pair, refuse_other_positions
from regard.models.chat.prompt_reader import PromptReader, prompt_text, split_answer
from regard.models.chat.sources import find_sources
from regard.models.endpoint.endpoint_model import EndpointModel
from regard.models.open.load import load
from regard.protocols import Model
from regard.records import Message
from regard.surveys.answer_evidence import Evidence
from regard.surveys.citation_reliability import measured_reliability
from regard.surveys.citation_rule import DECISIVE, DELTA, LIMIT, SUFFICIENT
from regard.surveys.cite_endpoint import cite_endpoint
from regard.surveys.cited_answer import CitedAnswer, CitedSource, Thresholds


def cite(
    model: str | Model | Any,
    messages: str | Sequence[Mapping[str, Any]],
    answer: str | Sequence[int] | None = None,
    *,
    sources: str | Sequence[Any] | None = None,
    separator: str | None = None,
    documents: Sequence[Mapping[str, Any]] = (),
    written_tokens: Sequence[str] | None = None,
    tokenizer: Any = None,
    image: Any = None,
    prefix: str = "",
    units: str = "sentence",
    span: str | Sequence[int] | None = None,
    contrast: str | Sequence[int] | None = None,
    check: int = 2,
    passes: float = LIMIT,
    delta: float = DELTA,
    new_tokens: int = 128,
    device: str = "auto",
) -> CitedAnswer:
    """Measure which sources of a prompt each sentence of an answer depends on, and cite them.

    model: a language model (causal or encoder-decoder) as `load` takes it, or a transformers one with its `tokenizer`.
    messages: a chat, or a plain prompt (an encoder reads one text only). answer: a text, token ids, or None: the last
    message if it is the assistant's, else the model's own greedy answer. sources, separator: see
    `models.chat.sources.find_sources`. image: a picture that the prompt has a place for; the sources are then its
    regions (a grid, "3x3", or boxes in pixels), and the tokenizer is the model's processor. documents: [{"title": ...,
    "text": ...}] for chat templates that take them. written_tokens: the tokens of the answer as another engine wrote
    them; a note reports a different tokenization by this model. prefix: the beginning of the answer, read but not
    scored. units: "sentence", "word" (between white space) or "answer". span: a part of the answer to cite alone, as
    text or as characters (start, stop). contrast: a text or token ids in place of the span (or of the whole answer):
    why the one rather than the other? check: sources deleted for real, per sentence. passes: most passes over the
    prompt for all measurements (where ranking alone costs more than half of that, twice the ranking's cost); a sentence
    that cannot be checked within it is "unclear", and a note says so.

    A citation says that the model used a source, not that the source or the answer is true.
    """
    if check < 1 or not min(delta, passes) > 0 or new_tokens < 1:
        got = f"check={check}, passes={passes}, delta={delta}, new_tokens={new_tokens}"
        raise InputError("cite", expected=phrase("errors.surveys.check_passes_delta_above"), got=got)
    turns, given_answer = split_answer(messages, answer)
    if image is not None and (separator is not None or documents):
        got = "separator" if separator is not None else "documents"
        raise InputError("cite", expected=phrase("errors.surveys.regions_as_only_sources"), got=got)
    opened = load(model, processor=tokenizer, device=device) if image is None else None
    if isinstance(opened, EndpointModel):
        if contrast is not None or documents or not (given_answer is None or isinstance(given_answer, str)):
            raise InputError(
                "cite",
                expected=phrase("errors.surveys.answer_text_no_contrast_and_documents"),
                got=phrase("errors.common.others"),
            )
        return cite_endpoint(
            opened,
            turns,
            given_answer,
            sources=sources,
            separator=separator,
            prefix=prefix,
            units=units,
            span=span,
            check=check,
            passes=passes,
            delta=delta,
            new_tokens=new_tokens,
        )
    if opened is None:
        pair, name = processor_pair(model, tokenizer, device)
        reader: PromptReader = PictureReader(pair, turns, image, sources=sources, prefix=prefix, name=name)
        notes = [Message("cite.note.picture")]
    else:
        prompt = prompt_text(chat_model(opened), turns, documents)
        parts, notes = find_sources(prompt, sources, separator)
        reader = PromptReader(chat_model(opened), prompt, parts, prefix)
    chat, boxes = reader.chat, getattr(reader, "boxes", [None] * len(reader.sources))
    reply = reader.answer(given_answer, new_tokens)
    mismatch = None if written_tokens is None else token_mismatch(reply, written_tokens)
    evidence = measure(reader, reply, units, check=check, passes=passes, delta=delta, span=span, contrast=contrast)
    sentences = tuple(evidence.sentences())
    measured = delta == DELTA and contrast is None and units != "word" and image is None and not chat.encoder_decoder
    measured &= len(sentences) == 1 or passes == LIMIT  # longer answers are grouped by the passes that they may take
    return CitedAnswer(
        model=chat.name,
        answer=reply.text,
        generated=given_answer is None,
        sources=tuple(
            CitedSource(source.text, source.spans, int((reader.owners == i).sum()), boxes[i])
            for i, source in enumerate(reader.sources)
        ),
        sentences=sentences,
        delta=delta,
        thresholds=Thresholds(effect=delta, gain=evidence.gain, probability=SUFFICIENT, word=DECISIVE),
        reliability=measured_reliability(reply.text) if measured else None,
        contrast=contrast if contrast is None or isinstance(contrast, str) else chat.decode(contrast),
        ranking=evidence.ranking,
        prompt_tokens=len(reader.ids),
        ranking_passes=round(evidence.ranking_passes, 3),
        passes=round(evidence.objective.passes, 3),
        notes=(*notes, *reply.notes, *([mismatch] if mismatch else []), *evidence.notes),
        picture=reader.picture.shape[:2] if isinstance(reader, PictureReader) else None,
    )


def measure(
    reader: PromptReader,
    reply: Answer,
    units: str,
    *,
    check: int,
    delta: float,
    passes: float = LIMIT,
    span: str | Sequence[int] | None = None,
    contrast: str | Sequence[int] | None = None,
) -> Evidence:
    """Read prompt and answer once, and rank the sources."""
    if contrast is None and span is None:
        spans, owners = answer_units(reply, units)
    else:
        spans, owners = answer_span(reply, span)
    rival = None if contrast is None else reader.rival(reply, spans[0], contrast)
    objective = AnswerObjective(reader.chat, reader.ids, reply.ids, owners, rival, before=reply.before)
    if isinstance(reader, PictureReader):
        refuse_other_positions(reader.chat, objective.rows)
    evidence = Evidence(
        reader=reader, reply=reply, objective=objective, spans=spans, delta=delta, check=check, limit=passes
    )
    evidence.hops = units != "word"
    evidence.rank()
    return evidence
