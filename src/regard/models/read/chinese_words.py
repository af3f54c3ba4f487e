"""Chinese words as units: jieba joins the characters of a word; without it every character is a word of its own."""

from __future__ import annotations

import importlib
import logging
import warnings
from functools import cache
from typing import Any, Literal, get_args

from regard.errors import EnvironmentProblem, UnknownName, phrase
from regard.models.read.words import Span, word_spans

Words = Literal["characters", "jieba"]


def checked_words(words: str) -> None:
    """Refuse an unknown name of a word segmenter."""
    if words not in get_args(Words):
        raise UnknownName("words", words, get_args(Words))


def chinese_word_spans(text: str) -> list[Span]:
    """Word spans; the characters of one Chinese word belong together.

    >>> text = "这部电影很好看，ok"
    >>> [text[a:b] for a, b in chinese_word_spans(text)]
    ['这部', '电影', '很', '好看', '，', 'ok']
    """
    pieces: list[Span] = []
    at = 0
    for word in _segmenter().lcut(text):
        pieces.append((at, at + len(word)))
        at += len(word)
    spans: list[Span] = []
    piece = 0
    for start, stop in word_spans(text):
        while pieces[piece][1] <= start:
            piece += 1
        inside = pieces[piece][0] <= start and stop <= pieces[piece][1]
        joins = bool(spans) and inside and pieces[piece][0] <= spans[-1][0] and spans[-1][1] == start
        if joins and _is_han(text[start]) and _is_han(text[spans[-1][0]]):
            spans[-1] = (spans[-1][0], stop)
        else:
            spans.append((start, stop))
    return spans


def _is_han(char: str) -> bool:
    return "\u3400" <= char <= "\u9fff" or "\U00020000" <= char <= "\U0003ffff"


@cache
def _segmenter() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its escapes and its use of pkg_resources are old
            package = importlib.import_module("jieba")
    except ImportError as error:
        raise EnvironmentProblem(
            "words=jieba",
            expected=phrase("errors.models.package_jieba"),
            got=phrase("errors.common.not_installed"),
            remedy="pip install 'regard[chinese]'",
        ) from error
    package.setLogLevel(logging.ERROR)
    segmenter: Any = package.Tokenizer()
    segmenter.initialize()
    return segmenter
