"""`atlas`: attention over a long context, from the answer down to the blocks of one head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import torch

from regard.errors import InputError, Unsupported, phrase
from regard.measures.pyramid import band_mass, block_size
from regard.models.ask.chat_model import ChatModel, chat_model
from regard.models.chat.answer import answer_units
from regard.models.chat.conversation import Conversation
from regard.models.chat.prompt_reader import PromptReader, prompt_text, split_answer
from regard.models.chat.sources import Source, find_sources
from regard.models.open.load import load
from regard.protocols import Model
from regard.records import Floats, Ints, Message
from regard.surveys.attention_atlas import AnswerSentence, Atlas, AtlasLayer, Passage
from regard.surveys.heads.naming import named_heads
from regard.tap.row_attention import RowAttention
from regard.tap.row_capture import capture_rows

DEPTH = 0.75
"""Relative depth of the default layer: where copying heads usually are."""
ROWS = 64
"""Answer rows whose weights are computed at once."""


def atlas(
    model: str | Model | Any,
    messages: str | Sequence[Mapping[str, Any]],
    answer: str | Sequence[int] | None = None,
    *,
    sources: str | Sequence[Any] | None = None,
    separator: str | None = None,
    documents: Sequence[Mapping[str, Any]] = (),
    tokenizer: Any = None,
    layers: Sequence[int] | None = None,
    block: int | None = None,
    every: int = 1,
    new_tokens: int = 128,
    device: str = "auto",
) -> Atlas:
    """Read a long prompt with its answer once, and pool its attention: by passages, and in blocks of positions.

    model, messages, answer, sources, separator, documents: as for `cite`. layers: those whose blocks are computed
    (default: one at three quarters of the depth). block: positions of a block, a power of two (default: at most 128
    blocks). every: compute one row of so many; the error of the sums is then estimated. No n x n tensor is made.

    An atlas shows where attention went; `cite` measures what the answer depends on.
    """
    if every < 1 or every & (every - 1):
        raise InputError("every", expected=phrase("errors.surveys.or_another_power_two"), got=str(every))
    chat = chat_model(load(model, processor=tokenizer, device=device))
    turns, given_answer = split_answer(messages, answer)
    if chat.encoder_decoder:
        raise Unsupported(
            phrase("errors.surveys.atlas_chat", chat=chat.name),
            expected=phrase("errors.surveys.causal_language_model"),
            got=phrase("errors.common.encoder_decoder_model"),
        )
    prompt = prompt_text(chat, turns, documents)
    parts, notes = _parts(prompt, sources, separator)
    reader = PromptReader(chat, prompt, parts, "")
    reply = reader.answer(given_answer, new_tokens)
    chat.refuse_too_long(len(reader.ids), len(reply.ids))
    spans, owners = answer_units(reply, "sentence")
    ids = [*reader.ids, *reply.ids[:-1]]
    chosen_layers = _layers(chat, layers)
    tensor = torch.tensor([ids], device=chat.device)
    first = len(reader.ids) - 1
    native: Any = chat.module
    with torch.inference_mode():
        _, taps = capture_rows(
            native,
            lambda: native(input_ids=tensor, use_cache=False, logits_to_keep=1),
            slice(first, None),
            whole=lambda name: name in chosen_layers,
        )
    columns = np.concatenate([reader.owners, np.full(len(ids) - len(reader.ids), -1)])
    matrix, strongest, names = _by_passage(taps.sites, owners, len(spans), columns, bands=len(parts))
    size = block_size(len(ids)) if block is None else block
    whole = sorted(taps.whole, key=lambda one: one.site.layer)
    return Atlas(
        model=chat.name,
        tokens=tuple(chat.tokenizer.decode([token]) for token in ids),
        answer=reply.text,
        answer_start=len(reader.ids),
        passages=tuple(Passage(source.text, _runs(reader.owners, i)) for i, source in enumerate(parts)),
        sentences=tuple(AnswerSentence(reply.text[a:b], *_rows(owners, u, first)) for u, (a, b) in enumerate(spans)),
        matrix=matrix,
        strongest=strongest,
        strongest_heads=names,
        layers=tuple(
            AtlasLayer(one.site.layer, one.site.key, one.blocks(size, every=min(every, size)), one) for one in whole
        ),
        notes=(*notes, *reply.notes),
    )


def _parts(
    prompt: Conversation, sources: str | Sequence[Any] | None, separator: str | None
) -> tuple[list[Source], list[Message]]:
    """Find the passages; a prompt that cannot be cut has none, unless the user requested them."""
    try:
        return find_sources(prompt, sources, separator)
    except InputError:
        if sources is not None or separator is not None:
            raise
        return [], []


def _layers(chat: ChatModel, layers: Sequence[int] | None) -> set[str]:
    """Return the names of the attention modules of these layers."""
    names = {
        int(number): name
        for name, module in chat.module.named_modules()
        if "attention" in type(module).__name__.lower()
        and isinstance(number := getattr(module, "layer_idx", None), int)
    }
    if not names:
        raise Unsupported(
            phrase("errors.surveys.atlas_chat", chat=chat.name),
            expected=phrase("errors.surveys.attention_modules_with_numbers"),
            got=phrase("errors.common.none"),
        )
    depth = max(names) + 1
    chosen_layers = [min(depth - 1, int(DEPTH * depth))] if layers is None else [int(layer) for layer in layers]
    unknown = [layer for layer in chosen_layers if layer not in names]
    if unknown or not chosen_layers:
        raise InputError(
            "layers", expected=phrase("errors.surveys.layers_in_range", depth=depth - 1), got=str(unknown or "none")
        )
    return {names[layer] for layer in chosen_layers}


def _by_passage(
    sites: Sequence[RowAttention], owners: Ints, sentences: int, columns: Ints, *, bands: int
) -> tuple[Floats, Floats, tuple[tuple[str, ...], ...]]:
    """Mean mass of every sentence on every passage and on everything else, and the head with the largest."""
    head_names = named_heads([site.site for site in sites])
    table = np.zeros((len(head_names), sentences, bands + 1))
    at = 0
    for site in sites:
        heads = site.shape[1]
        rows = site.positions
        for start in range(0, len(rows), ROWS):
            weights = site.rows(0, rows[start : start + ROWS]).astype(np.float64)
            mass = band_mass(weights, columns, bands)
            for row, own in enumerate(owners[start : start + ROWS]):
                table[at : at + heads, own] += mass[:, row]
        at += heads
    table /= np.maximum(np.bincount(owners, minlength=sentences), 1)[None, :, None]
    best = table[..., :bands].argmax(0) if bands else np.zeros((sentences, 0), np.int64)
    names = tuple(tuple(head_names[i].name for i in row) for row in best)
    strongest = np.take_along_axis(table[..., :bands], best[None], 0)[0] if bands else np.zeros((sentences, 0))
    return table.mean(0), strongest, names


def _runs(owners: Ints, number: int) -> tuple[tuple[int, int], ...]:
    """Return the (start, stop) of the neighbouring tokens of a passage."""
    runs, at = [], 0
    for own, group in groupby((owners == number).tolist()):
        size = len(list(group))
        if own:
            runs.append((at, at + size))
        at += size
    return tuple(runs)


def _rows(owners: Ints, sentence: int, first: int) -> tuple[int, int]:
    """Return the (start, stop) of the rows that predict a sentence."""
    places = np.flatnonzero(owners == sentence)
    if not len(places):
        return first, first
    return first + int(places[0]), first + int(places[-1]) + 1
