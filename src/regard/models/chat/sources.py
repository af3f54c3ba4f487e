"""Sources: the parts of a prompt that an answer may come from, and the tokens that belong to each."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from regard.errors import InputError, Text, UnknownName, phrase
from regard.measures.sentences import block_spans, sentence_spans
from regard.models.chat.conversation import Conversation, FieldSpan, Rendered
from regard.records import Ints, Message

SPLITS = ("passages", "lines", "sentences", "messages", "documents", "examples")
"""Names of the automatic splits."""
_LABEL = re.compile(r"(?:(?<![^\n])|(?<=[.?!]\s))[a-z][A-Za-z ]{2,40}:\s+")
"""Pattern of a T5-style task or field label in an encoder text, at the beginning of a line or after a sentence."""


@dataclass(frozen=True, slots=True)
class Source:
    """Source of a prompt: its text, and its spans (message, start, stop); documents are numbered after the messages."""

    text: str
    spans: tuple[FieldSpan, ...]


def find_sources(
    prompt: Conversation, sources: str | Sequence[Any] | None, separator: str | None = None
) -> tuple[list[Source], list[Message]]:
    """Return the sources of a prompt, and notes about them.

    sources: the name of a split (`SPLITS`); a list of texts that stand in the prompt; a list of spans, (start, stop)
    in the only message or (message, start, stop); None: documents if there are any, else passages, lines or sentences,
    the coarsest split that gives two sources. separator: the text between sources instead.
    """
    if separator is not None:
        if not separator or sources is not None:
            raise InputError(
                "separator", expected=phrase("errors.models.some_text_and_no_sources"), got=repr(separator)
            )
        spans = _split(prompt, lambda text: block_spans(text, separator) if separator in text else [])
        parts = _merged(prompt, spans)
    elif sources is None:
        parts = _automatic(prompt)
    elif isinstance(sources, str):
        if sources not in SPLITS:
            raise UnknownName("sources", sources, SPLITS)
        parts = _by_name(prompt, sources)
    elif sources and all(isinstance(source, str) for source in sources):
        parts = _by_text(prompt, list(sources))
    else:
        parts = [_source(prompt, [_span(prompt, source)]) for source in sources]
    if not parts:
        raise InputError(
            "sources",
            expected=phrase("errors.models.at_least_one_part_prompt"),
            got=phrase("errors.common.none"),
            remedy=phrase("errors.models.sources_list_texts_or_spans"),
        )
    _refuse_overlaps(prompt, parts)
    whole = isinstance(sources, str) and sources == "examples"  # an example has several places, none of them a copy
    repeated = [] if whole else [(i + 1, len(part.spans)) for i, part in enumerate(parts) if len(part.spans) > 1]
    return parts, [Message.of("cite.note.twice", source=number, n=places) for number, places in repeated]


def token_sources(text: str, offsets: Iterable[tuple[int, int]], spans: Sequence[Sequence[tuple[int, int]]]) -> Ints:
    """Return (tokens,) the source of every token, -1 for none.

    A token belongs to the source that holds its first character; white space that the tokenizer attaches to the
    following word is ignored. spans: the places of every source in `text`.
    """
    owner = np.full(len(text) + 1, -1, np.int64)
    for number, places in enumerate(spans):
        for start, stop in places:
            owner[start:stop] = number
    owners = []
    for start, stop in offsets:
        while start < stop - 1 and text[start].isspace():
            start += 1
        owners.append(int(owner[start]) if start < stop else -1)
    return np.array(owners, np.int64)


def rendered_spans(prompt: Rendered, sources: Sequence[Source]) -> list[list[tuple[int, int]]]:
    """Return the places of every source in the rendered text; a source that the template dropped is an error."""
    places = [[place for span in source.spans for place in prompt.spans(span)] for source in sources]
    for number, (source, own_places) in enumerate(zip(sources, places, strict=True)):
        if not own_places:
            raise InputError(
                phrase("errors.models.source_number", number=number + 1, source=_short(source.text)),
                expected=phrase("errors.models.text_that_chat_template_puts"),
                got=phrase("errors.models.prompt_without_template_drops"),
                remedy=phrase("errors.models.message_that_template_keeps"),
            )
    return places


def _automatic(prompt: Conversation) -> list[Source]:
    if "document" in prompt.roles:
        return _by_name(prompt, "documents")
    splits = [_by_name(prompt, name) for name in ("passages", "lines", "sentences")]
    return next((split for split in splits if len(split) > 1), splits[-1])


def _by_name(prompt: Conversation, name: str) -> list[Source]:
    if name == "documents":
        fields = [i for i, role in enumerate(prompt.roles) if role == "document"]
        return [_source(prompt, [(i, 0, len(prompt.fields[i]))]) for i in fields]
    if name == "messages":
        question_field = _last_user(prompt)
        fields = [i for i, text in enumerate(prompt.fields) if i != question_field and text.strip()]
        return [_source(prompt, [(i, *_bare(prompt.fields[i]))]) for i in fields]
    if name == "examples":
        return _few_shot(prompt)
    rules = {
        "passages": lambda text: block_spans(text, "\n\n"),
        "lines": lambda text: block_spans(text, "\n"),
        "sentences": sentence_spans,
    }
    return _merged(prompt, _without_question(prompt, _split(prompt, rules[name])))


def _merged(prompt: Conversation, spans: Iterable[FieldSpan]) -> list[Source]:
    """Return the parts of a split as sources; parts with the same text are one source with several places."""
    places: dict[str, list[FieldSpan]] = {}
    for field, start, stop in spans:
        places.setdefault(prompt.fields[field][start:stop], []).append((field, start, stop))
    return [_source(prompt, own) for own in places.values()]


def _few_shot(prompt: Conversation) -> list[Source]:
    """Split off few-shot examples: turns that end with the assistant's, else all blocks of the text but the last."""
    question = _last_user(prompt)
    turns: list[list[FieldSpan]] = [[]]
    for i, role in enumerate(prompt.roles[:question]):
        if role in ("user", "assistant") and prompt.fields[i].strip():
            turns[-1].append((i, *_bare(prompt.fields[i])))
            if role == "assistant":
                turns.append([])
    examples = [turn for turn in turns if turn and prompt.roles[turn[-1][0]] == "assistant"]
    if examples or question < 0:
        return [_source(prompt, turn) for turn in examples]
    blocks = block_spans(prompt.fields[question], "\n\n")
    return [_source(prompt, [(question, start, stop)]) for start, stop in blocks[:-1]]


def _split(prompt: Conversation, rule: Any) -> list[FieldSpan]:
    """Split every field but the model's own earlier turns."""
    fields = [(i, text) for i, text in enumerate(prompt.fields) if prompt.roles[i] != "assistant"]
    spans = [(i, start, stop) for i, text in fields for start, stop in rule(text)]
    return [part for span in spans for part in _between_labels(prompt, span)]


def _between_labels(prompt: Conversation, span: FieldSpan) -> list[FieldSpan]:
    """Skip the labels of an encoder text, such as "summarize:" and "context:", which belong to no source."""
    field, start, stop = span
    if prompt.roles[field] != "text":
        return [span]
    text = prompt.fields[field]
    labels = [(label.start(), label.end()) for label in _LABEL.finditer(text, start, stop) if label.end() < stop]
    starts, stops = [start, *(end for _, end in labels)], [*(begin for begin, _ in labels), stop]
    bare = [(a, a + len(text[a:b].rstrip())) for a, b in zip(starts, stops, strict=True)]
    return [(field, a, b) for a, b in bare if a < b]


def _without_question(prompt: Conversation, spans: list[FieldSpan]) -> list[FieldSpan]:
    """Skip the question: parts of the last user message that end with a question mark, else the task.

    In an encoder text, skip the first and the last part if they end with a question mark.
    """
    if prompt.roles == ("text",):
        return [span for span in spans if span not in (spans[0], spans[-1]) or not _is_question(prompt, span)]
    field = _last_user(prompt)
    own = [span for span in spans if span[0] == field]
    questions = [span for span in own if _is_question(prompt, span)] or _task(prompt, own)
    return [span for span in spans if span not in questions]


def _task(prompt: Conversation, own: list[FieldSpan]) -> list[FieldSpan]:
    """Return the part of a message without a question mark that states the task.

    The last part; but the first if its paragraph is one sentence and the last paragraph is several, as in "Summarise
    this report." above the report, whose end would otherwise be no source.
    """
    text = prompt.fields[own[0][0]] if own else ""
    paragraphs = [text[start:stop] for start, stop in block_spans(text, "\n\n")]
    counts = [len(sentence_spans(paragraph)) for paragraph in paragraphs]
    return own[:1] if len(counts) > 1 and counts[0] == 1 and counts[-1] > 1 else own[-1:]


def _is_question(prompt: Conversation, span: FieldSpan) -> bool:
    return prompt.fields[span[0]][: span[2]].endswith(("?", "？"))


def _last_user(prompt: Conversation) -> int:
    users = [i for i, role in enumerate(prompt.roles) if role == "user"]
    return users[-1] if users else -1


def _by_text(prompt: Conversation, texts: list[str]) -> list[Source]:
    parts: list[Source] = []
    for number, text in enumerate(texts):
        if not text.strip():
            raise InputError(
                phrase("errors.common.source_path", path=number + 1),
                expected=phrase("errors.models.some_text"),
                got=phrase("errors.common.empty_text"),
            )
        places = [place for i, field in enumerate(prompt.fields) for place in _occurrences(i, field, text)]
        if not places:
            raise InputError(
                phrase("errors.models.source_number", number=number + 1, source=_short(text)), **_missing(prompt, text)
            )
        copies = texts.count(text)
        if copies == 1:
            parts.append(_source(prompt, places))
        elif copies == len(places):
            parts.append(_source(prompt, [places[texts[:number].count(text)]]))
        else:
            raise InputError(
                phrase("errors.models.source_number", number=number + 1, source=_short(text)),
                expected=phrase("errors.models.places_often_listed", copies=copies),
                got=phrase("errors.models.in_prompt", n=len(places)),
                remedy=phrase("errors.models.spans_message_start_stop_instead"),
            )
    return parts


def _occurrences(field: int, text: str, part: str) -> list[FieldSpan]:
    places, start = [], 0
    while (at := text.find(part, start)) >= 0:
        places.append((field, at, at + len(part)))
        start = at + len(part)
    return places


def _missing(prompt: Conversation, text: str) -> dict[str, Text]:
    parts = [field[a:b] for field in prompt.fields for a, b in sentence_spans(field)]
    near = difflib.get_close_matches(text, parts, n=1, cutoff=0.6)
    remedy = phrase("errors.models.exact_text_or_spans")
    if near:
        remedy = phrase("errors.models.exact_text_such_as_text", text=_short(near[0]))
    expected, got = phrase("errors.models.text_of_the_messages"), phrase("errors.models.no_such_text")
    return {"expected": expected, "got": got, "remedy": remedy}


def _span(prompt: Conversation, span: Any) -> FieldSpan:
    numbers = tuple(span) if isinstance(span, list | tuple) else ()
    if not all(isinstance(number, int) for number in numbers) or len(numbers) not in (2, 3):
        raise InputError("sources", expected=phrase("errors.models.texts_or_spans_message_start"), got=repr(span)[:60])
    if len(numbers) == 2 and len(prompt.fields) > 1:
        raise InputError(
            "sources", expected=phrase("errors.models.spans_message_start_stop_for_several"), got=repr(span)
        )
    field, start, stop = numbers if len(numbers) == 3 else (0, *numbers)
    if not 0 <= field < len(prompt.fields):
        raise InputError(
            "sources", expected=phrase("errors.models.message_in_range", n=len(prompt.fields) - 1), got=str(field)
        )
    if not 0 <= start < stop <= len(prompt.fields[field]) or not prompt.fields[field][start:stop].strip():
        expected = phrase("errors.models.span_with_text_inside", n=len(prompt.fields[field]))
        raise InputError(
            phrase("errors.models.source_in_message", field=field),
            expected=expected,
            got=phrase("errors.models.to_start", start=start, stop=stop),
        )
    return field, start, stop


def _source(prompt: Conversation, spans: Sequence[FieldSpan]) -> Source:
    texts = dict.fromkeys(prompt.fields[field][start:stop] for field, start, stop in spans)
    return Source("\n".join(texts), tuple(spans))


def _refuse_overlaps(prompt: Conversation, sources: Sequence[Source]) -> None:
    spans = sorted((span, number) for number, source in enumerate(sources) for span in source.spans)
    for (first, one), (second, other) in pairwise(spans):
        if first[0] == second[0] and second[1] < first[2]:
            shared = prompt.fields[first[0]][second[1] : min(first[2], second[2])]
            raise InputError(
                phrase("errors.models.two_sources", one=min(one, other) + 1, one_2=max(one, other) + 1),
                expected=phrase("errors.models.sources_that_do_not_overlap"),
                got=phrase("errors.models.both_hold", sources=_short(shared)),
            )


def _bare(text: str) -> tuple[int, int]:
    return len(text) - len(text.lstrip()), len(text.rstrip())


def _short(text: str) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) <= 40 else line[:39] + "…")
