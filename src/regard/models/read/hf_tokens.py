"""Hugging Face tokenizers -> `Tokens`, with character spans even if a tokenizer has none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from regard.errors import InputError, Text, phrase
from regard.models.read.text import Alphabet, Tokenize, Tokens
from regard.models.read.words import Span
from regard.records import Ints

_MARKS = ("##", "▁", "Ġ", "</w>", "@@", "Ċ")


def tokenize_with(tokenizer: Any, *, types: bool, rows: int | None, subject: Text) -> Tokenize:
    """Build a function (text, second text or None) -> Tokens. `rows`: number of embeddings of the model."""
    special_ids = set(tokenizer.all_special_ids)
    if tokenizer.unk_token_id != tokenizer.eos_token_id:  # an unknown word is the user's own, not a special token
        special_ids -= {tokenizer.unk_token_id}

    def tokenize(text: str, pair: str | None) -> Tokens:
        encoding = tokenizer(
            text,
            pair,
            truncation=False,
            padding=False,
            return_offsets_mapping=tokenizer.is_fast,
            return_token_type_ids=types,
            return_attention_mask=False,
            verbose=False,
        )
        ids = np.array(encoding["input_ids"], dtype=np.int64).reshape(-1)
        if rows is not None and len(ids) and int(ids.max()) >= rows:
            raise InputError(
                phrase("errors.models.tokenizer_subject", subject=subject),
                expected=phrase("errors.models.token_ids_below_model_embeddings", rows=rows),
                got=f"id {int(ids.max())}",
                remedy=phrase("errors.models.load_tokenizer_that_belongs_model"),
            )
        special = np.array([int(i) in special_ids for i in ids], dtype=bool)
        names = tokenizer.convert_ids_to_tokens(ids.tolist())
        if tokenizer.is_fast:
            part = np.array([s or 0 for s in encoding.sequence_ids(0)], dtype=np.int64)
            spans = list(map(tuple, encoding["offset_mapping"]))
        else:
            part = _sides(tokenizer, text, pair, len(ids))
            spans = _found_spans(names, special, part, (text, pair or ""), tokenizer)
        texts = (text, pair or "")
        spans = [(0, 0) if s else _bare(texts[p], span) for s, p, span in zip(special, part, spans, strict=True)]
        token_names = tuple(
            str(name) if special[i] or b <= a else texts[part[i]][a:b]
            for i, (name, (a, b)) in enumerate(zip(names, spans, strict=True))
        )
        kinds = np.array(encoding["token_type_ids"], dtype=np.int64) if "token_type_ids" in encoding else None
        return Tokens(
            ids=ids, spans=tuple(spans), special=special, part=part, names=token_names, types=kinds if types else None
        )

    return tokenize


def _bare(text: str, span: Span) -> Span:
    """Span without the white space that some tokenizers attach to the following word."""
    a, b = span
    while a < b - 1 and text[a].isspace():
        a += 1
    while b - 1 > a and text[b - 1].isspace():
        b -= 1
    return a, b


def _sides(tokenizer: Any, text: str, pair: str | None, n: int) -> Ints:
    if pair is None:
        return np.zeros(n, dtype=np.int64)
    first = len(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])
    second = len(tokenizer(pair, add_special_tokens=False, verbose=False)["input_ids"])
    free = [0] * first + [1] * second
    mask = tokenizer.get_special_tokens_mask(
        *(tokenizer(t, add_special_tokens=False, verbose=False)["input_ids"] for t in (text, pair))
    )
    sides = iter(free)
    return np.array([0 if special else next(sides, 1) for special in mask], dtype=np.int64)


def _found_spans(names: Sequence[str], special: Any, part: Ints, texts: tuple[str, str], tokenizer: Any) -> list[Span]:
    """Find the span of each piece in the text, left to right; an unknown piece gets the next word."""
    at = [0, 0]
    spans: list[Span] = []
    for name, is_special, side in zip(names, special, part, strict=True):
        if is_special:
            spans.append((0, 0))
            continue
        text, here = texts[side], at[side]
        piece = str(name)
        for mark in _MARKS:
            piece = piece.replace(mark, "")
        while here < len(text) and text[here].isspace():
            here += 1
        start = text.lower().find(piece.lower(), here) if piece else here
        if piece and 0 <= start <= here + 2:
            span = (start, start + len(piece))
        else:
            stop = here
            while stop < len(text) and not text[stop].isspace():
                stop += 1
            span = (here, stop) if name == tokenizer.unk_token else (here, min(here + 1, len(text)))
        spans.append(span)
        at[side] = span[1]
    return spans


def alphabet_of(tokenizer: Any, rows: int | None, pad: int | None) -> Alphabet:
    """Ids for padding and removal; see `Alphabet`."""
    pads = [i for i in (tokenizer.pad_token_id, pad, tokenizer.eos_token_id, 0) if i is not None]
    blanks = [tokenizer.mask_token_id, tokenizer.unk_token_id]
    for neutral in (" _", "_", " ", "-"):  # a decoder without mask and unknown token: a sign that says nothing
        pieces = tokenizer(neutral, add_special_tokens=False, verbose=False)["input_ids"]
        blanks.append(pieces[0] if len(pieces) == 1 else None)
    blank = next((i for i in blanks if i is not None and i != pads[0]), None)
    starts = (tokenizer.bos_token_id, tokenizer.cls_token_id, tokenizer.eos_token_id, blank, pads[0])
    special = set(tokenizer.all_special_ids)
    plain = np.array(sorted(i for i in set(tokenizer.get_vocab().values()) - special if rows is None or i < rows))
    start = int(next(i for i in starts if i is not None))
    # a byte-level vocabulary knows everything, and calls its end token unknown for want of another
    unknown = None if tokenizer.unk_token_id == tokenizer.eos_token_id else tokenizer.unk_token_id
    return Alphabet(int(pads[0]), blank, start, plain.astype(np.int64), unknown=unknown)


def pieces_of(tokenizer: Any, ids: Sequence[int]) -> tuple[list[str], list[bool]]:
    """Return the spelling of each token, and whether it begins a word, by the markers of the tokenizer's kind."""
    names = [str(name) for name in tokenizer.convert_ids_to_tokens(list(ids))]
    if any(name.startswith("##") for name in names):  # WordPiece marks what goes on
        begins = [not name.startswith("##") for name in names]
        return [name.removeprefix("##") for name in names], begins
    if any(name.endswith("</w>") for name in names):  # marks the end: a piece without it may stand anywhere but there
        return [name.removesuffix("</w>") for name in names], [name.endswith("</w>") for name in names]
    starts = tuple(mark for mark in ("Ġ", "▁") if any(name.startswith(mark) for name in names))
    if not starts:  # whole words
        return names, [True] * len(names)
    begins = [name.startswith(starts) for name in names]
    # bytes of a byte-level vocabulary are no letters: only what decodes to itself can be written
    texts = tokenizer.batch_decode([[i] for i in ids], clean_up_tokenization_spaces=False)
    return [str(text).strip() for text in texts], begins


def expected_tokens(tokenizer: Any, text: str) -> tuple[list[int], list[tuple[int, int]]]:
    """Ids of a target text of an encoder-decoder, and the characters of each; (0, 0) for special ones.

    Without offsets (a slow tokenizer), search for the spelling of each token in the text, from left to right.
    """
    if getattr(tokenizer, "is_fast", False):
        target = tokenizer(text_target=text, return_offsets_mapping=True)
        return list(target["input_ids"]), [(int(a), int(b)) for a, b in target["offset_mapping"]]
    ids = list(tokenizer(text_target=text)["input_ids"])
    special, places, at = set(tokenizer.all_special_ids), list[tuple[int, int]](), 0
    for token in ids:
        piece = "" if token in special else str(tokenizer.decode([token])).strip()
        place = text.find(piece, at) if piece else -1
        places.append((place, place + len(piece)) if place >= 0 else (0, 0))
        at = places[-1][1] if place >= 0 else at
    return ids, places
