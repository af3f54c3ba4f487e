"""Function words and punctuation: units that occur in every text and are rarely a reason for a prediction."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_NO_LETTER = re.compile(r"[\W_]+")


@cache
def function_words() -> frozenset[str]:
    """English and Chinese function words; a text in another language has content words only."""
    text = files("regard.audits.conclusions").joinpath("function_words.txt").read_text("utf-8")
    return frozenset(text.split())


def is_function_word(name: str) -> bool:
    """Return whether a unit is punctuation or a function word.

    >>> [is_function_word(word) for word in ("The", ",", "的", "it's", "grim", "KX4711")]
    [True, True, True, True, False, False]
    """
    word = name.strip().casefold()
    host = re.split("['’]", word)[0]
    contracted = host != word and host in function_words()
    return word in function_words() or contracted or _NO_LETTER.fullmatch(word) is not None
