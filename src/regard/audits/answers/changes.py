"""Prompt changes that leave the sources of the answer as they are: do citations survive?

*reordered*: the sources in another order. *paraphrased*: every source inside a neutral sentence frame. *injected*: one
source of another prompt among them. The answer stays the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from regard.datasets.answer_prompts import AnswerPrompt
from regard.errors import Unsupported, phrase
from regard.models.chat.answer_case import AnswerCase
from regard.models.chat.sources import Source

CHANGES = ("reordered", "paraphrased", "injected")
FRAMES = ("According to the records, {}", "{} That is what the notes say.", "As somebody wrote: {}")
CHINESE_FRAMES = ("根据记录，{}", "{}笔记中就是这样写的。", "有人写道：{}")
_CHINESE = re.compile("[\u3400-\u9fff]")
LONGEST_GAP = 12
"""Characters between two sources that count as their separator."""


@dataclass(frozen=True, slots=True)
class ChangedPrompt:
    """A changed prompt. origin: the old number of every new source, -1 for an injected source."""

    prompt: AnswerPrompt
    origin: tuple[int, ...]


def changed_prompt(name: str, prompt: AnswerPrompt, case: AnswerCase, foreign: str | None) -> ChangedPrompt:
    """Return the prompt after one change. case: the unchanged prompt. foreign: a source of another prompt."""
    sources = case.reader.sources
    if any(len(source.spans) != 1 for source in sources):
        raise Unsupported(
            phrase("errors.audits.change_name", name=name),
            expected=phrase("errors.audits.sources_in_one_place_each"),
            got=phrase("errors.audits.one_in_several_places"),
        )
    rng = case.rng("change", name)
    order = _reading_order(sources)
    texts = [source.text for source in sources]
    answer = replace(prompt, answer=case.reply.text)
    if name == "reordered":
        places = rng.permutation(len(order))
        while len(order) > 1 and (places == np.arange(len(order))).all():
            places = rng.permutation(len(order))
        # the source that stood at place p now stands at the place of `order[i]`
        targets = {order[i]: order[int(p)] for i, p in enumerate(places)}
        return _rebuilt(answer, case, {place: texts[old] for place, old in targets.items()}, targets)
    if name == "paraphrased":
        framed = {}
        for number, text in enumerate(texts):
            frames = CHINESE_FRAMES if _CHINESE.search(text) else FRAMES
            framed[number] = frames[int(rng.integers(len(frames)))].format(text)
        return _rebuilt(answer, case, framed, {number: number for number in framed})
    if foreign is None:
        raise Unsupported(
            phrase("errors.audits.change_injected"),
            expected=phrase("errors.audits.source_another_prompt"),
            got=phrase("errors.common.none"),
        )
    return _injected(answer, case, foreign, rng)


def _injected(prompt: AnswerPrompt, case: AnswerCase, foreign: str, rng: np.random.Generator) -> ChangedPrompt:
    """Insert a foreign source after one of the sources, with the separator that its neighbours use."""
    sources, order = case.reader.sources, _reading_order(case.reader.sources)
    gaps = [_gap(case, sources[a], sources[b]) for a, b in pairwise(order)]
    usable = [i for i, gap in enumerate(gaps) if gap is not None]
    if not usable:
        raise Unsupported(
            phrase("errors.audits.change_injected"),
            expected=phrase("errors.audits.sources_one_after_other"),
            got=phrase("errors.audits.sources_far_apart"),
        )
    if any(re.search(r"\d", gaps[i] or "") for i in usable):  # numbered: a new last one renumbers nobody
        place, gap = len(order) - 1, gaps[usable[-1]] or ""
        gap = re.sub(r"\d+", lambda number: str(int(number[0]) + 1), gap)
    else:
        place = usable[int(rng.integers(len(usable)))]
        gap = gaps[place] or ""
    texts = {number: source.text for number, source in enumerate(sources)}
    return _rebuilt(prompt, case, texts, {number: number for number in texts}, extra=(order[place], gap, foreign))


def _rebuilt(
    prompt: AnswerPrompt,
    case: AnswerCase,
    texts: Mapping[int, str],
    origin: Mapping[int, int],
    extra: tuple[int, str, str] | None = None,
) -> ChangedPrompt:
    """Write new texts in place of the sources. extra: (source, separator, text) to insert after that source."""
    fields = list(case.reader.prompt.fields)
    spans: list[tuple[tuple[int, int, int], int]] = []
    for field in range(len(fields)):
        own = [n for n in _reading_order(case.reader.sources) if case.reader.sources[n].spans[0][0] == field]
        text, at = "", 0
        for number in own:
            _, start, stop = case.reader.sources[number].spans[0]
            text += fields[field][at:start]
            spans.append(((field, len(text), len(text) + len(texts[number])), origin[number]))
            text, at = text + texts[number], stop
            if extra is not None and extra[0] == number:
                text += extra[1]
                spans.append(((field, len(text), len(text) + len(extra[2])), -1))
                text += extra[2]
        fields[field] = text + fields[field][at:]
    variant = _with_fields(prompt, fields)
    return ChangedPrompt(
        replace(variant, sources=[span for span, _ in spans], separator=None), tuple(old for _, old in spans)
    )


def _with_fields(prompt: AnswerPrompt, fields: Sequence[str]) -> AnswerPrompt:
    if isinstance(prompt.messages, str):
        return replace(prompt, messages=fields[0])
    messages: list[dict[str, Any]] = [dict(message) for message in prompt.messages]
    if messages and messages[-1].get("role") == "assistant" and len(messages) + len(prompt.documents) > len(fields):
        messages = messages[:-1]  # its text is the answer
    count = len(messages)
    for message, text in zip(messages, fields[:count], strict=True):
        message["content"] = text
    documents = []
    for document, text in zip(prompt.documents, fields[count:], strict=True):
        documents.append({**document, **{key: text for key in ("text", "content") if key in document}})
    return replace(prompt, messages=messages, documents=documents)


def _reading_order(sources: Sequence[Source]) -> list[int]:
    return sorted(range(len(sources)), key=lambda number: sources[number].spans[0])


def _gap(case: AnswerCase, first: Source, second: Source) -> str | None:
    """Text between two neighbouring sources; None if they are in different fields or far apart."""
    (field, _, stop), (other, start, _) = first.spans[0], second.spans[0]
    gap = case.reader.prompt.fields[field][stop:start] if field == other else None
    return gap if gap is not None and len(gap) <= LONGEST_GAP else None
