"""Stored values that are not what was written are named by their place."""

from __future__ import annotations

import pytest

from regard.store.shapes import Mismatch, decoded
from regard.store.stored_shapes import EXAMPLE


@pytest.mark.parametrize("value", [None, 7, 1.5])
def test_a_column_that_holds_no_text_is_a_mismatch(value: object) -> None:
    with pytest.raises(Mismatch, match="expected JSON"):
        decoded(value)


@pytest.mark.parametrize("value", [["a", 1], [1, "a"], [[1], ["b"]], [{"blob": "x"}], [True]])
def test_an_input_that_is_a_list_holds_only_numbers_or_only_words(value: object) -> None:
    with pytest.raises(Mismatch, match=r"inputs\.row"):
        EXAMPLE({"id": "e", "inputs": {"row": value}}, "")


@pytest.mark.parametrize("value", [[1, 2.5, None], [[1], [2]], ["rent", "own"], "a text", 3, []])
def test_texts_numbers_arrays_and_words_are_inputs(value: object) -> None:
    EXAMPLE({"id": "e", "inputs": {"row": value}}, "")
