"""With the reversed catalogue, a failed test counts as one about words only if its assertion compares texts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from catalogues import compares_wording
from regard.errors import InputError

REVERSED = "3 selpmaxe"
ROWS = {"examples": 3, "also": REVERSED}


def expects_a_word() -> None:
    text = REVERSED
    assert "3 examples" in text


def expects_a_word_that_the_code_holds() -> None:
    assert max(ROWS) in REVERSED


def expects_a_word_of_an_error() -> None:
    with pytest.raises(ValueError, match="3 examples"):
        raise ValueError(REVERSED)


def expects_a_number_and_prints_a_word() -> None:
    text = REVERSED
    assert len(text) == 3, f"examples: {text}"


def expects_a_number_under_a_key() -> None:
    rows = ROWS
    assert rows["examples"] == 4


def expects_an_error() -> None:
    with pytest.raises(InputError, match="examples"):
        str(ROWS)


def breaks() -> None:
    raise KeyError("examples", REVERSED)


@pytest.mark.parametrize(
    ("failing", "about_words"),
    [
        (expects_a_word, True),
        (expects_a_word_that_the_code_holds, True),
        (expects_a_word_of_an_error, True),
        (expects_a_number_and_prints_a_word, False),
        (expects_a_number_under_a_key, False),
        (expects_an_error, False),
        (breaks, False),
    ],
)
def test_only_a_comparison_of_texts_is_about_words(failing: Callable[[], None], about_words: bool) -> None:
    with pytest.raises(BaseException) as failure:
        failing()
    assert compares_wording(failure, str(failure.getrepr(style="short"))) is about_words
