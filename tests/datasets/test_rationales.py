"""Three notations of the same rationale give the same places."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.datasets.rationales import places_elsewhere, places_in_text

words = st.lists(st.text("abcé电", min_size=1, max_size=4), min_size=1, max_size=8)


@given(words, st.data())
def test_marks_and_spans_say_the_same(tokens: list[str], data: st.DataObject) -> None:
    text = "  ".join(tokens)
    marks = data.draw(st.lists(st.integers(0, 1), min_size=len(tokens), max_size=len(tokens)))
    spans = [list(m.span()) for m, mark in zip(re.finditer(r"\S+", text), marks, strict=True) if mark]
    places = places_in_text(marks, text)
    assert places == places_in_text(" ".join(map(str, marks)), text) == places_in_text(json.dumps(marks), text)
    assert places == places_in_text(spans, text) == places_in_text(json.dumps(spans), text)
    assert [text[int(a) : int(b)] for a, b in places or ()] == [w for w, m in zip(tokens, marks, strict=True) if m]


@given(words, st.data())
def test_character_offsets_and_word_spans_say_the_same_as_spans(tokens: list[str], data: st.DataObject) -> None:
    text = " ".join(tokens)
    marks = data.draw(st.lists(st.booleans(), min_size=len(tokens), max_size=len(tokens)))
    spans = [m.span() for m, mark in zip(re.finditer(r"\S+", text), marks, strict=True) if mark]
    offsets = [i for a, b in spans for i in range(a, b)]
    if offsets and max(offsets) > 1:  # zeros and ones alone are marks
        assert places_in_text(offsets, text) == places_in_text(spans, text)
    numbers = [i for i, mark in enumerate(marks) if mark]
    expected = places_in_text(spans, text)
    assert places_in_text([{"start_token": i, "end_token": i + 1} for i in numbers], text) == expected
    assert places_in_text([[i, i + 1] for i in numbers], text, words=True) == expected


def test_marks_of_several_annotators_count_by_majority() -> None:
    places = places_in_text([[0, 1, 1], [0, 1, 0], [1, 1, 0]], "not very good")
    assert places == ((4.0, 8.0),)
    assert places_in_text("[[0, 1, 0], [0, 0, 0]]", "not very good") == ((4.0, 8.0),)


@pytest.mark.parametrize(
    ("phrases", "found"),
    [
        (["art"], [(9, 12)]),  # the word, not the inside of "party"
        (["Party", "ART"], [(2, 7), (9, 12)]),
        (["a", "a"], [(0, 1), (13, 14)]),  # in reading order
        (["art", "party"], [(9, 12), (2, 7)]),  # out of order is fine too
        (["part"], [(2, 6)]),  # no such word: the inside of one
        ("a party", [(0, 7)]),
        ([], []),
    ],
)
def test_phrases_are_found_as_a_person_means_them(phrases: object, found: list[tuple[int, int]]) -> None:
    assert places_in_text(phrases, "a party, art a") == tuple(found)


def test_nothing_said_is_not_the_same_as_nothing_decisive() -> None:
    assert places_in_text(None, "a") is None
    assert places_in_text("  ", "a") is None
    assert places_in_text([], "a") == ()


def test_places_of_other_inputs() -> None:
    assert places_elsewhere([[0, 0, 4, 4]], "image", ()) == ((0, 0, 4, 4),)
    assert places_elsewhere("[[2, 5]]", "series", ()) == ((2, 5),)
    assert places_elsewhere(["size", 0], "tabular", ("age", "size")) == ((1,), (0,))
    with pytest.raises(ValueError, match="4 numbers"):
        places_elsewhere([[1, 2]], "image", ())
    with pytest.raises(ValueError, match="1 number"):
        places_elsewhere(["weight"], "tabular", ("age",))
