"""Train, dev and test splits by a hash of the content, independent of the rest of the file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from regard.datasets.sampling import key
from regard.errors import NoExamples, UnknownName, phrase
from regard.records import Example

FRACTIONS: Mapping[str, float] = {"train": 0.8, "dev": 0.1, "test": 0.1}
THIRDS: Mapping[str, float] = {"train": 1 / 3, "dev": 1 / 3, "test": 1 / 3}
ALIASES = {"training": "train", "validation": "dev", "valid": "dev", "val": "dev", "development": "dev"}
_NOT_ALPHANUMERIC = {code: None for code in range(128) if not chr(code).isalnum()}


def checked(split: str) -> str:
    """Normalize the name of a split; "all" is everything.

    >>> checked("validation")
    'dev'
    """
    split = ALIASES.get(split, split)
    if split not in (*FRACTIONS, "all"):
        raise UnknownName("split", split, (*FRACTIONS, "all"))
    return split


def normalised(text: str) -> str:
    """Normalize a text to letters and digits, without case, spaces and punctuation.

    >>> normalised("A Good film !") == normalised("a good film.")
    True
    """
    if text.isascii():  # the same, ten times faster
        return text.lower().translate(_NOT_ALPHANUMERIC) or text
    return re.sub(r"[\W_]+", "", text.casefold()) or text


def split_of(content: str, *, seed: int = 0, fractions: Mapping[str, float] = FRACTIONS) -> str:
    """Return train, dev or test for a content (a normalised text, a group): a pure function of the content."""
    place = key(seed, f"split\x1f{content}") / 2**64
    for name, share in fractions.items():
        place -= share
        if place < 0:
            return name
    return name


def home(example: Example) -> str:
    """Content that decides the split of an example: its group, else its words, else its id."""
    if example.group is not None:
        return f"group {example.group}"
    if "text" in example.inputs:
        return normalised(str(example.inputs["text"]) + str(example.inputs.get("text_pair", "")))
    return example.id


def split(
    examples: Iterable[Example], which: str, *, seed: int = 0, fractions: Mapping[str, float] = FRACTIONS
) -> list[Example]:
    """Return the examples of one split; a group, or a text in two spellings, is never on both sides."""
    which = checked(which)
    if which == "all":
        return list(examples)
    members = [e for e in examples if split_of(home(e), seed=seed, fractions=fractions) == which]
    if not members:
        raise NoExamples(
            phrase("errors.datasets.split_split", split=repr(which)),
            expected=phrase("errors.common.at_least_one_example"),
            got=phrase("errors.common.none"),
            remedy=phrase("errors.datasets.split_all"),
        )
    return members
