"""Sentence boundaries, English and Chinese."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.measures.sentences import block_spans, sentence_spans


@pytest.mark.parametrize(
    "sentences",
    [
        ["Anna lives in Rome.", "She sings!", "Does she?", "Yes"],
        ["Dr. A. Wu and Mr. Li met at 3.15 p.m. in St. Paul.", "They left (at once).", "“Why?”"],
        ["The U.S. won 3.5 points, e.g. in 1999.", "See Fig. 2 etc. for more.", "Done..."],
        ["他住在罗马。", "她唱歌！", "真的吗？", "“是的。”", "好"],
        ["“Go.”", "He went."],
    ],
)
def test_sentences_end_where_a_reader_ends_them(sentences: list[str]) -> None:
    for joint in (" ", "\n"):
        text = joint.join(sentences)
        assert [text[a:b] for a, b in sentence_spans(text)] == sentences


def test_chinese_sentences_need_no_space() -> None:
    text = "他住在罗马。她唱歌！“真的吗？”不知道。"
    assert [text[a:b] for a, b in sentence_spans(text)] == ["他住在罗马。", "她唱歌！", "“真的吗？”", "不知道。"]


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="aB1 .!?。！？\n\t”)", max_size=40))
def test_every_visible_character_is_in_exactly_one_sentence(text: str) -> None:
    spans = sentence_spans(text)
    counts = [sum(a <= i < b for a, b in spans) for i in range(len(text))]
    assert all(count == 1 for count, character in zip(counts, text, strict=True) if not character.isspace())
    assert max(counts, default=0) <= 1
    assert spans == sorted(spans)
    assert all(text[a:b].strip() == text[a:b] != "" for a, b in spans)


def test_blocks_stand_between_separators() -> None:
    text = "one two\n---\n\n---\nthree"
    assert [text[a:b] for a, b in block_spans(text, "---")] == ["one two", "three"]
