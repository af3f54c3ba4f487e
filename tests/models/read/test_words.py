"""Words as people read them, and the sub-words that belong to each."""

from __future__ import annotations

import adapter_zoo as zoo
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.errors import UnknownName
from regard.models.open.load import load
from regard.models.read.words import aggregate, clusters, group_spans, word_spans
from regard.records import Example

FAMILY = "👩\u200d👩\u200d👧"


def words(text: str) -> list[str]:
    return [text[a:b] for a, b in word_spans(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"I {FAMILY} café 自然语言", ["I", FAMILY, "café", "自", "然", "语", "言"]),
        ("cafe\u0301 nai\u0308ve", ["cafe\u0301", "nai\u0308ve"]),
        ("don't stop", ["don't", "stop"]),
        ("well-known, 3.14!", ["well", "-", "known", ",", "3.14", "!"]),
        ("👍🏽👍 🇩🇪🇫🇷 1️⃣", ["👍🏽", "👍", "🇩🇪", "🇫🇷", "1️⃣"]),
        ("我爱Python3", ["我", "爱", "Python3"]),
        ("ひらがなカタカナ", ["ひらがな", "カタカナ"]),
        ("한국어 띄어쓰기", ["한국어", "띄어쓰기"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("  \t\n ", []),
        ("", []),
        (" \u0591a", ["\u0591a"]),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@given(st.text(max_size=40))
@settings(max_examples=150)
def test_words_cover_everything_but_space_and_never_overlap(text: str) -> None:
    covered = np.zeros(len(text), int)
    last = 0
    for a, b in word_spans(text):
        assert last <= a < b
        covered[a:b] += 1
        last = b
    assert covered.max(initial=0) <= 1
    assert all(c.isspace() or covered[i] or not c.isprintable() for i, c in enumerate(text))
    assert "".join(text[a:b] for a, b in clusters(text)) == text


def test_pieces_belong_to_their_word_and_a_piece_over_two_words_joins_them() -> None:
    text = "unbelievable自然 语"
    groups, places = group_spans([(0, 2), (2, 9), (9, 12), (0, 0), (12, 14), (15, 16)], text)
    assert groups.tolist() == [0, 0, 0, -1, 1, 2]
    assert [text[a:b] for a, b in places] == ["unbelievable", "自然", "语"]


def test_the_words_of_a_real_encoding() -> None:
    model = load(zoo.bert("ForSequenceClassification", num_labels=3), processor=zoo.bert_tokenizer())
    text = f"I {FAMILY} boringly café 自然语言"
    item = model.encode(Example("e", {"text": text}))
    units = item.units
    assert units.names[0] == "[CLS]"
    assert units.groups[0] == -1
    assert int((units.groups == 2).sum()) == 2, "boring + ##ly"
    values = np.arange(len(units), dtype=float)
    assert aggregate(values, units.groups, "sum")[2] == values[units.groups == 2].sum()


def test_words_of_a_pair_are_numbered_through() -> None:
    model = load(zoo.bert("ForSequenceClassification", num_labels=3), processor=zoo.bert_tokenizer())
    units = model.encode(Example("e", {"text": "great fun", "text_pair": "dull plot"})).units
    assert units.groups.tolist() == [-1, 0, 1, -1, 2, 3, -1]


def test_aggregations_are_named() -> None:
    groups = np.array([0, 0, 1, -1])
    values = [1.0, -3.0, 2.0, 9.0]
    assert aggregate(values, groups, "sum").tolist() == [-2.0, 2.0]
    assert aggregate(values, groups, "mean").tolist() == [-1.0, 2.0]
    assert aggregate(values, groups, "max").tolist() == [1.0, 2.0]
    assert aggregate(values, groups, "strongest").tolist() == [-3.0, 2.0]
    with pytest.raises(UnknownName, match="mean"):
        aggregate(values, groups, "mea")  # type: ignore[arg-type]
