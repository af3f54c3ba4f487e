"""Vocabulary and tokenizer by words, digits or characters, with character spans."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, Literal, get_args

from regard.errors import InputError, UnknownName, phrase
from regard.records import Json

PAD, UNK, MASK = 0, 1, 2
SPECIALS = ("<pad>", "<unk>", "<mask>")
START, END = 3, 4
GENERATION_SPECIALS = (*SPECIALS, "<start>", "<end>")
"""The first words of a vocabulary for generated texts."""
Cut = Literal["word", "figure", "character"]
"""Token type of a text. "figure": words, with every digit by itself. "character": includes spaces."""

_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0903\u093a-\u094f"
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff"
)
_CHINESE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_JOINED = "[\ufe0e\ufe0f\u20e3\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]"
_SIGNS = (
    f"[{_CHINESE}][{_MARKS}]*"  # scripts without spaces: a character each
    f"|(?:(?![{_CHINESE}])[\\w{_MARKS}])+(?:['\u2019](?:(?![{_CHINESE}])[\\w{_MARKS}])+)*"  # words, don't
    f"|[\U0001f1e6-\U0001f1ff]{{2}}"  # flags
    f"|\\S{_JOINED}*(?:\u200d\\S{_JOINED}*)*"  # any other sign; emoji stay whole
)
_PATTERNS: Mapping[Cut, re.Pattern[str]] = {
    "word": re.compile(_SIGNS),
    "figure": re.compile(f"\\d|(?:(?![{_CHINESE}\\d])[\\w{_MARKS}])+|{_SIGNS}"),
    "character": re.compile(f"[\\s\\S][{_MARKS}]*{_JOINED}*"),
}


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Words in the order of their numbers; the first three are <pad>, <unk>, <mask>.

    In a vocabulary for generated texts, <start> and <end> follow.

    >>> vocabulary = Vocabulary.build(["A good film.", "good film, good fun"], min_count=2)
    >>> vocabulary.words
    ('<pad>', '<unk>', '<mask>', 'good', 'film')
    >>> vocabulary.encode("Good fun!")
    ([3, 1, 1], [(0, 4), (5, 8), (8, 9)])
    >>> Vocabulary.build([], cut="figure").split("3rd of May 1979")[0]
    ['3', 'rd', 'of', 'may', '1', '9', '7', '9']
    """

    words: tuple[str, ...]
    lower: bool = True
    cut: Cut = "word"
    _numbers: Mapping[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.words[: len(SPECIALS)] != SPECIALS or len(set(self.words)) != len(self.words):
            raise InputError(
                phrase("errors.networks.vocabulary"),
                expected=phrase("errors.networks.different_words_after", specials=", ".join(SPECIALS)),
                got=phrase("errors.networks.another_list"),
            )
        if self.cut not in get_args(Cut):
            raise UnknownName("cut", str(self.cut), get_args(Cut))
        object.__setattr__(self, "_numbers", {word: i for i, word in enumerate(self.words)})

    def __len__(self) -> int:
        return len(self.words)

    def split(self, text: str) -> tuple[list[str], list[tuple[int, int]]]:
        """Split a text into words and their character spans."""
        matches = list(_PATTERNS[self.cut].finditer(text))
        # take spans first: lower-casing can change the length of a text (İ)
        words = [m.group().lower() if self.lower else m.group() for m in matches]
        return words, [m.span() for m in matches]

    def encode(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Encode a text as word numbers and character spans."""
        words, spans = self.split(text)
        # splitting breaks up "<mask>", so no user text becomes a special word
        return [self._numbers.get(word, UNK) for word in words], spans

    def sentence(self, text: str) -> list[int]:
        """Encode a text to generate, with <end> at the end."""
        return [*self.encode(text)[0], END]

    def join(self, numbers: Iterable[int]) -> str:
        """Decode numbers up to <end>: join words with spaces, characters without.

        >>> Vocabulary((*GENERATION_SPECIALS, "0", "5"), cut="character").join([5, 6, END, PAD])
        '05'
        """
        return ("" if self.cut == "character" else " ").join(self.words[i] for i in until_end(numbers))

    def to_json(self) -> dict[str, Json]:
        return {"words": list(self.words), "lower": self.lower, "cut": self.cut}

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Vocabulary:
        return Vocabulary(tuple(map(str, value["words"])), bool(value["lower"]), value.get("cut", "word"))

    @staticmethod
    def build(
        texts: Iterable[str],
        *,
        min_count: int = 2,
        limit: int | None = None,
        lower: bool = True,
        cut: Cut = "word",
        generation: bool = False,
    ) -> Vocabulary:
        """Collect every word that occurs at least `min_count` times, most frequent first, ties by alphabet.

        generation: include <start> and <end>.
        """
        empty = Vocabulary(GENERATION_SPECIALS if generation else SPECIALS, lower, cut)
        counts = Counter(word for text in texts for word in empty.split(text)[0])
        frequent = sorted((w for w, n in counts.items() if n >= min_count), key=lambda w: (-counts[w], w))
        return Vocabulary((*empty.words, *frequent[:limit]), lower, cut)


def until_end(numbers: Iterable[int]) -> list[int]:
    """Return the numbers before the first <end>, without <start> and <pad>.

    >>> until_end([START, 7, 5, END, 9])
    [7, 5]
    """
    sentence = takewhile(lambda i: i != END, numbers)
    return [i for i in sentence if i not in (START, PAD)]
