"""Rationales in three notations, converted to places in the input.

Character spans [[0, 4], [10, 15]], words or phrases ["good", "very well made"], or a 0/1 mark for every word
between spaces [0, 1, 0]; as lists (jsonl, Parquet) or as JSON in a cell (csv).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from regard.datasets.examples import Modality
from regard.files import parse_json

Places = tuple[tuple[float, ...], ...]
WIDTHS = {"image": 4, "series": 2, "tabular": 1}


def places_in_text(value: Any, text: str) -> Places | None:
    """Parse a rationale into character spans, or None; a ValueError explains the mistake.

    >>> places_in_text("[[0, 4]]", "good film")
    ((0.0, 4.0),)
    >>> places_in_text(["film"], "good film")
    ((5.0, 9.0),)
    >>> places_in_text([1, 0], "good film")
    ((0.0, 4.0),)
    """
    value = _unpacked(value)
    if value is None:
        return None
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, Sequence):
        raise ValueError(f"a rationale is a list, not {value!r}")
    if not value:
        return ()
    if all(isinstance(v, str) for v in value):
        return _phrases(value, text)
    if all(isinstance(v, bool | int | float) and v in (0, 1) for v in value):
        return _marks(value, text)
    if all(_pair(v) for v in value):
        return tuple(_span(v, text) for v in value)
    raise ValueError(f"a rationale holds spans, phrases or 0/1 marks, not {str(value)[:40]}")


def places_elsewhere(value: Any, modality: Modality, columns: Sequence[str]) -> Places | None:
    """Boxes of an image, ranges of a series, columns of a table row (by name or number)."""
    value = _unpacked(value)
    if value is None:
        return None
    if not isinstance(value, list | tuple):
        raise ValueError(f"a rationale is a list, not {value!r}")
    width = WIDTHS[modality]
    places = []
    for place in value:
        numbers = place if isinstance(place, list | tuple) else [place]
        if modality == "tabular":
            numbers = [columns.index(n) if isinstance(n, str) and n in columns else n for n in numbers]
        if len(numbers) != width or not all(isinstance(n, int | float) for n in numbers):
            raise ValueError(f"a place in this input has {width} number{'s' * (width > 1)}, not {place!r}")
        places.append(tuple(float(n) for n in numbers))
    return tuple(places)


def _unpacked(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if not value.strip():
        return None
    if re.fullmatch(r"[01](\s+[01])*", value.strip()):
        return [int(v) for v in value.split()]
    try:
        parsed = parse_json(value)
    except ValueError:
        return value
    return parsed if isinstance(parsed, list) else value


def _pair(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2 and all(isinstance(v, int | float) for v in value)


def _span(pair: Sequence[float], text: str) -> tuple[float, float]:
    start, end = pair
    if not 0 <= start < end <= len(text):
        raise ValueError(f"the span [{start:g}, {end:g}] is not inside the text of {len(text)} characters")
    return float(start), float(end)


def _phrases(phrases: Sequence[str], text: str) -> Places:
    spans, after = [], 0
    for phrase in phrases:
        # whole words first, in reading order first: "art" is not meant inside "party"
        whole = re.compile(rf"(?<!\w){re.escape(phrase.strip())}(?!\w)", re.IGNORECASE)
        match = whole.search(text, after) or whole.search(text)
        match = match or re.compile(re.escape(phrase.strip()), re.IGNORECASE).search(text)
        if not phrase.strip() or match is None:
            raise ValueError(f"the phrase {phrase!r} is not in the text")
        spans.append((float(match.start()), float(match.end())))
        after = match.end()
    return tuple(spans)


def _marks(marks: Sequence[float], text: str) -> Places:
    words = list(re.finditer(r"\S+", text))
    if len(marks) != len(words):
        raise ValueError(f"{len(marks)} marks for {len(words)} words")
    return tuple((float(word.start()), float(word.end())) for word, mark in zip(words, marks, strict=True) if mark)
