"""Words and their character spans, in several scripts."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import InputError
from regard.networks.vocabulary import MASK, PAD, SPECIALS, UNK, Vocabulary

SPLITS = {
    "It isn't bad, is it?": ["it", "isn't", "bad", ",", "is", "it", "?"],
    "a--b ...": ["a", "-", "-", "b", ".", ".", "."],
    "我爱NLP!": ["我", "爱", "nlp", "!"],
    "caf\u0065\u0301 na\u00efve": ["cafe\u0301", "na\u00efve"],
    "ok \U0001f44d\U0001f3fd \U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea!": [
        "ok", "\U0001f44d\U0001f3fd", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f1e9\U0001f1ea", "!",
    ],
    "": [],
    " \n\t": [],
}  # fmt: skip


@pytest.mark.parametrize("text", SPLITS)
def test_split(text: str) -> None:
    assert Vocabulary(SPECIALS).split(text)[0] == SPLITS[text]


@given(st.text())
def test_spans_cover_every_visible_character_once_and_in_order(text: str) -> None:
    vocabulary = Vocabulary(SPECIALS)
    words, spans = vocabulary.split(text)
    assert [text[a:b].lower() for a, b in spans] == words
    assert all(a < b for a, b in spans)
    assert all(b <= c for (_, b), (c, _) in itertools.pairwise(spans))
    covered = {i for a, b in spans for i in range(a, b)}
    assert all(i in covered for i, sign in enumerate(text) if not sign.isspace())


def test_numbers_and_unknown_words() -> None:
    vocabulary = Vocabulary.build(["b a a", "a b c", "<mask> <pad>"], min_count=2)
    assert vocabulary.words == (*SPECIALS, "a", "<", ">", "b")
    assert vocabulary.encode("A c b")[0] == [3, UNK, 6]
    assert not {PAD, MASK} & set(vocabulary.encode("<mask> <pad>")[0])
    assert Vocabulary.build(["a a b b c c"], min_count=1, limit=2).words == (*SPECIALS, "a", "b")


def test_case_can_be_kept() -> None:
    assert Vocabulary.build(["A a"], min_count=1, lower=False).words == (*SPECIALS, "A", "a")


def test_round_trip_through_json() -> None:
    vocabulary = Vocabulary.build(["Das ist gut, 我 \U0001f44d"], min_count=1, lower=False)
    assert Vocabulary.from_json(json.loads(json.dumps(vocabulary.to_json()))) == vocabulary


@pytest.mark.parametrize("words", [("a", "b"), (*SPECIALS, "a", "a")])
def test_a_list_that_is_no_vocabulary(words: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="vocabulary"):
        Vocabulary(words)
