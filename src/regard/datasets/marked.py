"""Texts with their decisive words in brackets: "The [sheets] were [spotless]"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from regard.datasets.rationales import Places


def unmarked(text: str) -> tuple[str, Places]:
    """Strip the brackets and return the character spans of their contents.

    >>> unmarked("The [sheets] were [spotless].")
    ('The sheets were spotless.', ((4.0, 10.0), (16.0, 24.0)))
    """
    plain, spans = "", []
    for i, part in enumerate(re.split(r"[\[\]]", text)):
        if i % 2:
            spans.append((float(len(plain)), float(len(plain) + len(part))))
        plain += part
    return plain, tuple(spans)


def silent(text: str) -> str:
    """Return the same text with nothing marked.

    >>> silent("The [sheets] were [spotless].")
    'The sheets were spotless.'
    """
    return re.sub(r"[\[\]]", "", text)


def sentence(clauses: Sequence[str], joint: str = "") -> str:
    """Join clauses into one sentence, with a capital in front (inside a bracket too) and a full stop at the end."""
    text = joint.join(clauses)
    at = 1 if text.startswith("[") else 0
    return text[:at] + text[at : at + 1].upper() + text[at + 1 :] + "."
