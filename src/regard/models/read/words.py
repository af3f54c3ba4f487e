"""Words of a text, as people read them, and the sub-words that belong to each.

A Han character is a word of its own; an emoji is one word with all its joiners and modifiers; a combining mark
belongs to the letter before it; punctuation stands alone. Aggregation over a word is always named by the caller.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from regard.errors import UnknownName
from regard.records import Floats, Ints

Aggregation = Literal["sum", "mean", "max", "strongest"]
Span = tuple[int, int]

_JOINER = "\u200d"
_APOSTROPHES = "'\u2019"
_ASCII = re.compile(
    r"\w+(?:['.,](?:(?<=[A-Za-z]')(?=[A-Za-z])|(?<=[0-9][.,])(?=[0-9]))\w+)*|[!-/:-@\[-^`{-~]", re.ASCII
)
_ASCII_CUT = re.compile(f"({_ASCII.pattern})", re.ASCII)


def clusters(text: str) -> list[Span]:
    """Spans of the grapheme clusters of a text.

    >>> [b - a for a, b in clusters("e\\u0301 \\U0001f469\\u200d\\U0001f467 \\U0001f1e9\\U0001f1ea")]
    [2, 1, 3, 1, 2]
    """
    spans: list[list[int]] = []
    flags = 0
    for at, char in enumerate(text):
        flag = "\U0001f1e6" <= char <= "\U0001f1ff"
        previous = text[at - 1] if at else ""
        follows = bool(spans) and _kind(previous) != "space"  # a mark after a space has nothing to change
        joins = follows and (char == _JOINER or previous == _JOINER or _belongs(char) or (flag and flags % 2 == 1))
        flags = flags + 1 if flag else 0
        if joins:
            spans[-1][1] = at + 1
        else:
            spans.append([at, at + 1])
    return [(a, b) for a, b in spans]


@cache
def _belongs(char: str) -> bool:
    """Return whether a character modifies the one before it: a mark, a skin tone, a tag of a flag."""
    mark = unicodedata.category(char) in ("Mn", "Mc", "Me")
    return mark or "\U0001f3fb" <= char <= "\U0001f3ff" or "\U000e0020" <= char <= "\U000e007f"


@cache
def _kind(char: str) -> str:
    """Character class for word breaks: "space", "alone", or the name of its script."""
    category = unicodedata.category(char)
    if char.isspace() or category in ("Zs", "Zl", "Zp", "Cc"):
        return "space"
    if category[0] not in "LNM" and char != "_":
        return "alone"
    name = unicodedata.name(char, "")
    if name.startswith(("CJK", "KANGXI", "IDEOGRAPHIC", "BOPOMOFO")):
        return "alone"
    return name.split(" ", 1)[0] if name.startswith(("HIRAGANA", "KATAKANA")) else "letters"


def word_spans(text: str) -> list[Span]:
    """Character spans of the words of `text`, in order.

    >>> text = "I don't like 3.5 自然, ok?"
    >>> [text[a:b] for a, b in word_spans(text)]
    ['I', "don't", 'like', '3.5', '自', '然', ',', 'ok', '?']
    """
    if text.isascii():  # most texts of most people: the same spans, some 60 times faster
        return [found.span() for found in _ASCII.finditer(text)]
    return _spans(text)


def word_parts(text: str) -> list[str]:
    """Cut the text at its words: gap, word, gap, ..., word, gap. Gaps may be empty; joined, they are the text again.

    >>> word_parts("Ok, fine")
    ['', 'Ok', '', ',', ' ', 'fine', '']
    """
    if text.isascii():
        return _ASCII_CUT.split(text)
    parts, at = [], 0
    for a, b in _spans(text):
        parts += [text[at:a], text[a:b]]
        at = b
    return [*parts, text[at:]]


def _spans(text: str) -> list[Span]:
    parts = clusters(text)
    kinds = [_kind(text[a]) for a, _ in parts]
    for i in range(1, len(parts) - 1):
        char, before, after = text[parts[i][0]], text[parts[i - 1][0]], text[parts[i + 1][0]]
        inside = char in _APOSTROPHES and before.isalpha() and after.isalpha()
        if inside or (char in ".," and before.isdigit() and after.isdigit()):
            kinds[i] = kinds[i - 1]
    spans: list[Span] = []
    previous = "space"
    for (start, stop), kind in zip(parts, kinds, strict=True):
        if kind == previous and kind not in ("space", "alone"):
            spans[-1] = (spans[-1][0], stop)
        elif kind != "space":
            spans.append((start, stop))
        previous = kind
    return spans


def group_spans(
    spans: Sequence[Span], text: str, segment: Callable[[str], list[Span]] = word_spans
) -> tuple[Ints, list[Span]]:
    """(word index of each span, spans of the words); a span over several words makes them one word.

    segment: text -> spans of its words.

    Empty spans (special tokens) get -1. Every other span gets a word, even without a letter.
    """
    words = segment(text)
    first, last = np.full(len(spans), -1), np.full(len(spans), -1)
    starts = np.array([a for a, _ in words], dtype=np.int64)
    stops = np.array([b for _, b in words], dtype=np.int64)
    if len(spans):
        begin, end = np.array(spans, dtype=np.int64).T
        lowest, highest = np.searchsorted(stops, begin, "right"), np.searchsorted(starts, end, "left") - 1
        in_words = (end > begin) & (lowest <= highest)
        first[in_words], last[in_words] = lowest[in_words], highest[in_words]
        word_indices = first[in_words]
        if (
            (in_words == (end > begin)).all()
            and (last == first).all()
            and (word_indices[1:] >= word_indices[:-1]).all()
        ):
            # every span lies in one word, one after the other: nearly always, and attacks ask it of every candidate
            distinct, number = np.unique(word_indices, return_inverse=True)
            alone = np.full(len(spans), -1, dtype=np.int64)
            alone[in_words] = number
            return alone, [words[w] for w in distinct]
    joined = np.zeros(len(words) + 1, dtype=bool)  # joined[w]: word w continues word w - 1
    for several in np.flatnonzero(last > first):  # a span over several words
        joined[first[several] + 1 : last[several] + 1] = True
    number = np.cumsum(~joined[: len(words)]) - 1
    merged: dict[int, Span] = {}
    for w, (a, b) in enumerate(words):
        g = int(number[w])
        merged[g] = (min(a, merged.get(g, (a, b))[0]), b)
    group_of: dict[tuple[str, int], int] = {}
    groups, places = np.full(len(spans), -1, dtype=np.int64), list[Span]()
    for i, (a, b) in enumerate(spans):
        if b <= a:
            continue
        key = ("word", int(number[first[i]])) if first[i] >= 0 else ("blank", i)
        if key not in group_of:
            group_of[key] = len(places)
            places.append(merged[key[1]] if key[0] == "word" else (a, b))
        groups[i] = group_of[key]
    return groups, places


def aggregate(values: ArrayLike, groups: Ints, how: Aggregation = "sum") -> Floats:
    """Aggregate to (words,) one value per group; skip members of group -1. `strongest` keeps the sign.

    >>> aggregate([1.0, 2.0, -5.0, 9.0], np.array([0, 0, 1, -1])).tolist()
    [3.0, -5.0]
    """
    if how not in get_args(Aggregation):
        raise UnknownName("aggregation", how, get_args(Aggregation))
    relevances = np.asarray(values, np.float64)
    inside = groups >= 0
    n = int(groups.max()) + 1 if inside.any() else 0
    where, members = groups[inside], relevances[inside]
    if how in ("sum", "mean"):
        total = np.bincount(where, members, minlength=n).astype(np.float64)
        return total if how == "sum" else total / np.maximum(np.bincount(where, minlength=n), 1)
    out = np.zeros(n)
    strength = members if how == "max" else np.abs(members)
    for i in np.argsort(strength, kind="stable"):
        out[where[i]] = members[i]
    return out
