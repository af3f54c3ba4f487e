"""What a run holds as English sentences (verdicts, rules, defects) -> the language that is spoken.

The judge and the experiments write English into the run. The catalogue has these sentences as templates, under
`retold`, in every language: a sentence that fits an English template is told by the other one. What fits none (an
error message, a note about the data) is quoted as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import product
from string import Formatter

from regard.present.messages.messages import catalogue, language

PREFIX = "retold."
FEW_LETTERS = 5
MOST_READINGS = 4
"""How often a noun whose plural is itself may stand in a sentence."""
KINDS = (("image", "patch"), ("row", "column"), ("series", "step"), ("series", "frame"), ("series", "segment"))
"""What an example and its units are called where they are no text and no words."""


def retold(text: str) -> str:
    """The sentence, or several in a row, in the language that is spoken.

    >>> from regard.present.messages.messages import speaking
    >>> with speaking("zh"):
    ...     retold("It says nothing about whether the map is right.")
    '它没有说明这张图是否正确。'
    """
    if language() == "en" or not text:
        return text
    return _whole(text) or _of_another_kind(text) or text


def _whole(text: str) -> str | None:
    """All of it, or None: half a translation is worse than none."""
    whole = _told(text)
    if whole is not None:
        return whole
    parts, rest = [], text
    while rest:
        found = _longest(rest)
        if found is None:
            return None
        said, length = found
        parts.append(said)
        rest = rest[length:].lstrip(" ")
    return "".join(parts)


def _of_another_kind(text: str) -> str | None:
    """The judge speaks of patches of an image where the templates speak of words of a text."""
    for example, unit in KINDS:
        for plain in _as_text(text, example, unit):
            told = _whole(plain)
            if told is not None:
                said = catalogue(language())
                told = told.replace(said["noun.text"], said[f"noun.{example}"])
                return told.replace(said["noun.word"], said[f"noun.{unit}"])
    return None


def _as_text(text: str, example: str, unit: str) -> Iterator[str]:
    """The sentence about words of a text; several where "series" may be one or many."""
    plain = text
    for own, usual in ((unit, "word"), (example, "text")):
        if own.endswith("s"):
            continue
        plural = f"{own}es" if own.endswith("ch") else f"{own}s"
        plain = re.sub(rf"\b{plural}\b", f"{usual}s", plain)
        plain = re.sub(rf"\b{own}\b", usual, plain)
        plain = re.sub(rf"\b{plural.capitalize()}\b", f"{usual.capitalize()}s", plain)
    parts = re.split(rf"\b{example}\b", plain) if example.endswith("s") else [plain]
    if len(parts) - 1 > MOST_READINGS:
        return
    for numbers in product(("text", "texts"), repeat=len(parts) - 1):
        made = "".join(part + noun for part, noun in zip(parts, (*numbers, ""), strict=True))
        if made != text:
            yield made


def _told(text: str) -> str | None:
    for pattern, key in _patterns():
        match = pattern.fullmatch(text)
        if match:
            return _filled(key, match)
    return None


def _longest(text: str) -> tuple[str, int] | None:
    """The longest beginning, up to the end of a sentence, that is known."""
    for end in [m.end() for m in re.finditer(r"[.;](?= |$)|$", text)][::-1]:
        said = _told(text[:end])
        if said is not None:
            return said, end
    return None


def _filled(key: str, match: re.Match[str]) -> str:
    # what stands in a place may itself be something that is known ("the decision is made elsewhere")
    values = {name: _listed(value) or _told(value) or value for name, value in match.groupdict().items()}
    return catalogue(language())[key].format(**values)


def _listed(text: str) -> str | None:
    """A list whose every entry is known ("positive has 12, negative has 9")."""
    parts = [_told(part) for part in text.split(", ")]
    return catalogue(language())["listed"].join(map(str, parts)) if len(parts) > 1 and all(parts) else None


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    """The most specific template first: the one with the most words of its own."""
    found = [(key, text) for key, text in catalogue("en").items() if key.startswith(PREFIX)]
    made = []
    for key, text in found:
        parts, seen = "", set[str]()
        words = sum(len(part) for part, *_ in Formatter().parse(text))
        # what says next to nothing itself ("{a} has {b}") must not swallow a sentence
        place = ".+?" if words > FEW_LETTERS else "[^.,;:?]{1,60}?"
        for literal, name, _, _ in Formatter().parse(text):
            parts += re.escape(literal)
            if name is not None:
                parts += f"(?P={name})" if name in seen else f"(?P<{name}>{place})"
                seen.add(name)
        made.append((words, re.compile(parts, re.DOTALL), key))
    return tuple((pattern, key) for _, pattern, key in sorted(made, key=lambda m: -m[0]))
