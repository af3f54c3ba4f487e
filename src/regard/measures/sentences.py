"""Sentence boundaries by rules, for English and Chinese; no model, no word list to download."""

from __future__ import annotations

import re

Span = tuple[int, int]

_END = re.compile(r"""[.!?]+["'”’)\]]*(?=\s|$)|[。！？]+["'”’」』）】》]*|\n+""")
"""Sentence ends: a Latin mark before white space, a Chinese mark anywhere, a line break always."""
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[\"'“‘])(?:Mr|Mrs|Ms|Dr|Prof|Sr|Jr|St|vs|etc|cf|al|Fig|Figs|Eq|No|Nos|Vol|pp?|ca|approx|Inc|Ltd|Co"
    r"|e\.g|i\.e|[A-Z](?:\.[A-Z])*)\.$",
    re.IGNORECASE,
)
"""Text before a full stop that ends with an abbreviation or with initials, which may occur inside a sentence."""


def sentence_spans(text: str) -> list[Span]:
    """Return the (start, stop) of every sentence, without the white space around it, in order.

    Every character that is not white space belongs to exactly one sentence.

    >>> [("Dr. Wu left. She paid 3.50!")[a:b] for a, b in sentence_spans("Dr. Wu left. She paid 3.50!")]
    ['Dr. Wu left.', 'She paid 3.50!']
    >>> [("他走了。“真的？”是。")[a:b] for a, b in sentence_spans("他走了。“真的？”是。")]
    ['他走了。', '“真的？”', '是。']
    """
    spans: list[Span] = []
    start = 0
    for mark in _END.finditer(text):
        if not _goes_on(text, mark):
            _append(spans, text, start, mark.end())
            start = mark.end()
    _append(spans, text, start, len(text))
    return spans


def block_spans(text: str, separator: str) -> list[Span]:
    """Return the (start, stop) of every part between separators, without white space around it and empty parts.

    >>> block_spans("a b\\n\\n\\nc", "\\n\\n")
    [(0, 3), (6, 7)]
    """
    spans: list[Span] = []
    start = 0
    while (at := text.find(separator, start)) >= 0:
        _append(spans, text, start, at)
        start = at + len(separator)
    _append(spans, text, start, len(text))
    return spans


def _goes_on(text: str, mark: re.Match[str]) -> bool:
    """Return whether a full stop does not end a sentence: it belongs to an abbreviation, or a small letter follows."""
    if mark[0].startswith("\n") or mark[0][0] in "。！？":
        return False
    following = text[mark.end() :].lstrip(" \t")
    if following[:1].islower():
        return True
    if mark[0] != "." or not following or following[0] == "\n":
        return False
    return _ABBREVIATION.search(text, max(0, mark.start() - 12), mark.end()) is not None


def _append(spans: list[Span], text: str, start: int, stop: int) -> None:
    while start < stop and text[start].isspace():
        start += 1
    while stop > start and text[stop - 1].isspace():
        stop -= 1
    if start < stop:
        spans.append((start, stop))
