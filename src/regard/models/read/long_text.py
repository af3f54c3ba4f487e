"""A text longer than its model: overlapping windows, each an example with a common parent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import InputError, phrase
from regard.models.read.words import Span
from regard.records import Bools, Example, Ints


def cut(special: Bools, part: Ints, limit: int) -> NDArray[np.intp]:
    """Positions that remain when the end of the longer side is cut off; special tokens always stay."""
    free = np.flatnonzero(~special)
    sides = [free[part[free] == side] for side in (0, 1)]
    excess = len(special) - limit
    longer = int(len(sides[1]) > len(sides[0]))
    removed = sides[longer][max(len(sides[longer]) - excess, 0) :]
    excess -= len(removed)
    if excess > 0:
        other = sides[1 - longer]
        removed = np.concatenate([removed, other[max(len(other) - excess, 0) :]])
    return np.setdiff1d(np.arange(len(special)), removed)


def text_windows(
    example: Example,
    spans: Sequence[Span],
    special: Bools,
    part: Ints,
    limit: int,
    overlap: float,
    count: Callable[[Example], int],
) -> list[Example]:
    """Build windows over the longer side of `example`; each keeps the shorter side (a question) whole.

    `count` tokenizes a window again: a slice of a text may need more tokens than it had inside the text.
    """
    free = np.flatnonzero(~special)
    lengths = [int((part[free] == side).sum()) for side in (0, 1)]
    side = int(lengths[1] > lengths[0])
    room = limit - (len(special) - lengths[side])
    if room < 8:
        raise InputError(
            phrase("errors.common.example_example", example=repr(example.id)),
            expected=phrase("errors.models.room_for_window_beside_other", n=len(special) - lengths[side], limit=limit),
            got=phrase("errors.models.positions_room", room=room),
            remedy=phrase("errors.models.shorten_shorter_text_or_load"),
        )
    name = ("text", "text_pair")[side]
    text = str(example.inputs[name])
    here = [int(i) for i in free if part[i] == side]
    text_spans = [spans[i] for i in here if spans[i][1] > spans[i][0]]
    windows: list[Example] = []
    start = 0
    while True:
        stop = min(start + room, len(text_spans))
        if stop < len(text_spans):
            stop = _whole_word(text, text_spans, stop, start + room // 2)
        window = _window(
            example, name, text, start=text_spans[start][0], stop=text_spans[stop - 1][1], number=len(windows)
        )
        excess = count(window) - limit
        while excess > 0 and stop - excess > start:
            stop -= excess
            window = _window(
                example, name, text, start=text_spans[start][0], stop=text_spans[stop - 1][1], number=len(windows)
            )
            excess = count(window) - limit
        windows.append(window)
        if stop >= len(text_spans):
            return windows
        back = _whole_word(text, text_spans, stop - int(overlap * room), start + 1)
        start = max(back, start + 1)


def _whole_word(text: str, spans: Sequence[Span], at: int, lowest: int) -> int:
    """Last position at or before `at` where a word begins, but not before `lowest`."""
    for i in range(at, max(lowest, at - 32, 0), -1):
        here = spans[i][0]
        if here >= len(text) or text[here].isspace() or not (text[here - 1].isalnum() and text[here].isalnum()):
            return i
    return at


def _window(example: Example, name: str, text: str, start: int, stop: int, number: int) -> Example:
    inputs: dict[str, Any] = {**example.inputs, name: text[start:stop]}
    rationale = example.rationale
    if rationale is not None and name == "text":
        rationale = tuple((r[0] - start, r[1] - start) for r in rationale if start <= r[0] and r[1] <= stop)
    parent = example.parent or example.id
    # an alignment counts in characters of the whole text
    return replace(
        example, id=f"{example.id}#{number}", inputs=inputs, rationale=rationale, parent=parent, alignment=None
    )
