"""Rationales in common notations, converted to places in the input.

Character spans [[0, 4], [10, 15]], the offsets of single characters [0, 1, 2, 3, 10], words or phrases ["good", "very
well made"], a 0/1 mark for every word between spaces [0, 1, 0] (several lists: one per annotator, the majority counts),
or spans of words [{"start_token": 1, "end_token": 3}]; as lists (jsonl, Parquet) or as JSON in a cell (csv).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from regard.datasets.examples import Modality
from regard.errors import phrase
from regard.files import parse_json

Places = tuple[tuple[float, ...], ...]
WIDTHS = {"image": 4, "audio": 2, "series": 2, "tabular": 1}


def places_in_text(value: Any, text: str, *, words: bool = False) -> Places | None:
    """Parse a rationale into character spans, or None; a ValueError explains the mistake.

    words: pairs of numbers count words, not characters.

    >>> places_in_text("[[0, 4]]", "good film")
    ((0.0, 4.0),)
    >>> places_in_text(["film"], "good film")
    ((5.0, 9.0),)
    >>> places_in_text([1, 0], "good film")
    ((0.0, 4.0),)
    >>> places_in_text([0, 1, 2, 3, 5], "good film")
    ((0.0, 4.0), (5.0, 6.0))
    >>> places_in_text([{"start_token": 1, "end_token": 2}], "good film")
    ((5.0, 9.0),)
    """
    value = _unpacked(value)
    if value is None:
        return None
    if isinstance(value, str | dict):
        value = [value]
    if not isinstance(value, Sequence):
        raise ValueError(phrase("errors.datasets.rationale_is_list", value=repr(value)))
    if not value:
        return ()
    if all(isinstance(v, str) for v in value):
        return _phrases(value, text)
    if all(isinstance(v, dict) for v in value):
        return tuple(place for v in value for place in _named_span(v, text))
    count = len(text.split())
    if all(isinstance(v, bool | int | float) for v in value):
        return _marks(value, text) if set(value) <= {0, 1} else _offsets(value, text)
    if count != 2 and all(isinstance(v, list | tuple) and len(v) == count and set(v) <= {0, 1} for v in value):
        votes = [sum(marks) for marks in zip(*value, strict=True)]
        return _marks([int(2 * vote >= len(value) and vote > 0) for vote in votes], text)
    if all(_pair(v) for v in value):
        return tuple(_word_span(v, text) if words else _span(v, text) for v in value)
    raise ValueError(phrase("errors.datasets.rationale_holds", value=str(value)[:40]))


def places_elsewhere(value: Any, modality: Modality, columns: Sequence[str]) -> Places | None:
    """Parse boxes of an image, ranges of a series, columns of a table row (by name or number)."""
    value = _unpacked(value)
    if value is None:
        return None
    if not isinstance(value, list | tuple):
        raise ValueError(phrase("errors.datasets.rationale_is_list", value=repr(value)))
    width = WIDTHS[modality]
    places = []
    for place in value:
        numbers = place if isinstance(place, list | tuple) else [place]
        if modality == "tabular":
            numbers = [columns.index(n) if isinstance(n, str) and n in columns else n for n in numbers]
        if len(numbers) != width or not all(isinstance(n, int | float) for n in numbers):
            raise ValueError(phrase("errors.datasets.numbers_of_place", n=width, place=repr(place)))
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
    return parsed if isinstance(parsed, list | dict) else value


def _pair(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2 and all(isinstance(v, int | float) for v in value)


def _span(pair: Sequence[float], text: str) -> tuple[float, float]:
    start, end = pair
    if not 0 <= start < end <= len(text):
        raise ValueError(phrase("errors.datasets.span_outside_text", start=start, end=end, n=len(text)))
    return float(start), float(end)


def _offsets(offsets: Sequence[float], text: str) -> Places:
    """Runs of consecutive characters, as Toxic Spans lists them."""
    numbers = sorted({int(v) for v in offsets})
    if any(v != int(v) for v in offsets) or numbers[0] < 0 or numbers[-1] >= len(text):
        wrong = next(v for v in offsets if v != int(v) or not 0 <= v < len(text))
        raise ValueError(phrase("errors.datasets.offset_outside_text", offset=wrong, n=len(text)))
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1]:
            runs[-1][1] += 1
        else:
            runs.append([number, number + 1])
    return tuple((float(start), float(stop)) for start, stop in runs)


def _word_span(pair: Sequence[float], text: str) -> tuple[float, float]:
    """Character span of the words from the first to before the second number."""
    places = list(re.finditer(r"\S+", text))
    start, end = (int(n) for n in pair)
    if not 0 <= start < end <= len(places):
        raise ValueError(phrase("errors.datasets.span_outside_words", start=start, end=end, n=len(places)))
    return float(places[start].start()), float(places[end - 1].end())


def _named_span(span: dict[str, Any], text: str) -> Places:
    """Parse a span whose keys name its unit: start_token and end_token count words, start and end characters."""
    for first, last, by_word in (("start_token", "end_token", True), ("start", "end", False)):
        pair = [span.get(first), span.get(last)]
        if _pair(pair):
            numbers = [float(n) for n in pair if n is not None]
            return (_word_span(numbers, text) if by_word else _span(numbers, text),)
    raise ValueError(phrase("errors.datasets.span_names", keys=", ".join(map(str, span))))


def _phrases(phrases: Sequence[str], text: str) -> Places:
    spans, after = [], 0
    for piece in phrases:
        # whole words first, in reading order first: "art" is not meant inside "party"
        whole = re.compile(rf"(?<!\w){re.escape(piece.strip())}(?!\w)", re.IGNORECASE)
        match = whole.search(text, after) or whole.search(text)
        match = match or re.compile(re.escape(piece.strip()), re.IGNORECASE).search(text)
        if not piece.strip() or match is None:
            raise ValueError(phrase("errors.datasets.phrase_not_in_text", phrase=repr(piece)))
        spans.append((float(match.start()), float(match.end())))
        after = match.end()
    return tuple(spans)


def _marks(marks: Sequence[float], text: str) -> Places:
    words = list(re.finditer(r"\S+", text))
    if len(marks) != len(words):
        raise ValueError(phrase("errors.datasets.marks_unlike_words", marks=len(marks), words=len(words)))
    return tuple((float(word.start()), float(word.end())) for word, mark in zip(words, marks, strict=True) if mark)
