"""Sources of a prompt: every way to name them, what is refused, and which tokens belong to each."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from regard.errors import InputError, UnknownName
from regard.models.chat.conversation import Conversation, plain_text
from regard.models.chat.sources import find_sources, token_sources


def chat(*fields: str, roles: tuple[str, ...] = ("system", "user")) -> Conversation:
    return Conversation(fields, roles[: len(fields)], "\n".join, special=False)


PROMPT = chat(
    "Use the notes.", "Anna lives in Rome. She sings.\n\nBert lives in Oslo.\nHe swims.\n\nWhere does Anna live?"
)


def texts(prompt: Conversation, sources: Any = None, separator: str | None = None) -> list[str]:
    found, _ = find_sources(prompt, sources, separator)
    for source in found:
        assert all(prompt.fields[i][a:b] == source.text for i, a, b in source.spans)
    return [source.text for source in found]


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        (None, ["Use the notes.", "Anna lives in Rome. She sings.", "Bert lives in Oslo.\nHe swims."]),
        ("lines", ["Use the notes.", "Anna lives in Rome. She sings.", "Bert lives in Oslo.", "He swims."]),
        (
            "sentences",
            ["Use the notes.", "Anna lives in Rome.", "She sings.", "Bert lives in Oslo.", "He swims."],
        ),
        ("messages", ["Use the notes."]),
        (["She sings.", "He swims."], ["She sings.", "He swims."]),
        ([(1, 0, 19), (0, 0, 3)], ["Anna lives in Rome.", "Use"]),
    ],
)
def test_sources_by_name_text_and_span(sources: Any, expected: list[str]) -> None:
    assert texts(PROMPT, sources) == expected


def test_one_paragraph_is_split_into_sentences_without_the_question() -> None:
    assert texts(plain_text("Anna lives in Rome. She sings. Where is Anna?")) == ["Anna lives in Rome.", "She sings."]
    assert texts(plain_text("安娜住在罗马。她唱歌。安娜住在哪里？")) == ["安娜住在罗马。", "她唱歌。"]


def test_without_a_question_mark_the_last_part_is_the_task() -> None:
    assert texts(plain_text("One.\n\nTwo.\n\nSummarise.")) == ["One.", "Two."]


def test_a_task_above_a_text_leaves_the_end_of_the_text_a_source() -> None:
    assert texts(plain_text("Summarise the report.\n\nOne. Two. Three.")) == ["One.", "Two.", "Three."]
    assert texts(plain_text("总结这份报告。\n\n第一。第二。")) == ["第一。", "第二。"]


def test_documents_come_first_and_the_models_own_turns_never() -> None:
    prompt = chat("Hi.", "What?", "One. Two.", roles=("assistant", "user", "document"))
    assert texts(prompt) == ["One. Two."]
    assert texts(prompt, "sentences") == ["One.", "Two."]


def test_few_shot_examples_are_turns_or_blocks() -> None:
    roles = ("system", "user", "assistant", "user", "assistant", "user")
    prompt = chat("Be brief.", "2 + 2?", "4", "3 + 4?", "7", "5 + 1?", roles=roles)
    shots, _ = find_sources(prompt, "examples")
    assert [source.text for source in shots] == ["2 + 2?\n4", "3 + 4?\n7"]
    assert [source.spans for source in shots] == [((1, 0, 6), (2, 0, 1)), ((3, 0, 6), (4, 0, 1))]
    plain = plain_text("Q: 2 + 2?\nA: 4\n\nQ: 3 + 4?\nA: 7\n\nQ: 5 + 1?\nA:")
    assert texts(plain, "examples") == ["Q: 2 + 2?\nA: 4", "Q: 3 + 4?\nA: 7"]


def test_separators_cut_the_messages_that_hold_them() -> None:
    prompt = chat("No cut here.", "One\n###\nTwo\n###\nThree")
    assert texts(prompt, separator="###") == ["One", "Two", "Three"]
    with pytest.raises(InputError):
        find_sources(prompt, ["One"], "###")


def test_a_text_that_occurs_twice_is_one_source_with_two_places_and_a_note() -> None:
    (source,), (note,) = find_sources(plain_text("Rome. Oslo. Rome. Which?"), ["Rome."])
    assert (source.spans, note.key, note.params["n"]) == (((0, 0, 5), (0, 12, 17)), "cite.note.twice", 2)


@pytest.mark.parametrize("sources", ["lines", "sentences", None])
def test_equal_parts_of_a_split_are_one_source_with_two_places(sources: str | None) -> None:
    prompt = chat("Rome.\nOslo.\nRome.\nWhich?", roles=("user",))
    (rome, oslo), (note,) = find_sources(prompt, sources)
    assert (rome.text, rome.spans, oslo.text) == ("Rome.", ((0, 0, 5), (0, 12, 17)), "Oslo.")
    assert (note.key, note.params) == ("cite.note.twice", {"source": 1, "n": 2})


def test_a_text_listed_as_often_as_it_occurs_is_several_sources() -> None:
    found, notes = find_sources(plain_text("Rome. Oslo. Rome. Which?"), ["Rome.", "Rome."])
    assert ([source.spans for source in found], notes) == ([((0, 0, 5),), ((0, 12, 17),)], [])


@pytest.mark.parametrize(
    ("sources", "words"),
    [
        (["Rome."] * 3, "3 places"),
        ([""], "some text"),
        (["Anna lived in Rome."], "Anna lives in Rome."),
        ([], "at least one"),
        (["Anna lives", "lives in"], "do not overlap"),
        ([(0, 5)], "there are several"),
        ([(9, 0, 5)], "a message from 0 to 1"),
        ([(1, 5, 5)], "a span with text"),
        ([(1, 0, 999)], "a span with text"),
        ([("a", 0, 1)], "texts, or spans"),
        ([1.5], "texts, or spans"),
    ],
)
def test_odd_sources_are_refused(sources: Any, words: str) -> None:
    prompt = chat("Be brief.", "Anna lives in Rome. Not Rome. Why?")
    with pytest.raises(InputError, match=words):
        find_sources(prompt, sources)


def test_unknown_split_is_refused() -> None:
    with pytest.raises(UnknownName, match="sentences"):
        find_sources(PROMPT, "sentence")


@cache
def byte_pairs() -> Tokenizer:
    """A byte-level tokenizer whose tokens cross every kind of border: 'e. B', '罗马。'."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    trainer = trainers.BpeTrainer(vocab_size=400, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(["a. B a.B 罗马。她 aB\nB. a"] * 20, trainer)
    return tokenizer


@settings(max_examples=150, deadline=None)
@given(
    st.text(alphabet="aB. \n罗马。她", min_size=1, max_size=30), st.lists(st.integers(0, 30), min_size=2, max_size=8)
)
def test_a_straddling_token_belongs_to_the_source_of_its_first_character(text: str, cuts: list[int]) -> None:
    borders = sorted({min(cut, len(text)) for cut in cuts})
    spans = [[(a, b)] for a, b in zip(borders[::2], borders[1::2], strict=False)]
    offsets = byte_pairs().encode(text).offsets
    owners = token_sources(text, offsets, spans)
    for (start, stop), owner in zip(offsets, owners, strict=True):
        visible = [i for i in range(start, stop) if not text[i].isspace()]
        first = visible[0] if visible else stop - 1
        assert owner == next((k for k, ((a, b),) in enumerate(spans) if a <= first < b), -1)


def test_tokens_do_straddle_in_that_property() -> None:
    offsets = byte_pairs().encode("aB. a罗马。她").offsets
    owners = token_sources("aB. a罗马。她", offsets, [[(0, 2)], [(2, 5)], [(5, 6)], [(6, 9)]])
    assert len(offsets) < 9
    assert owners[0] == 0
    assert any(b > 2 > a for a, b in offsets) or any(b > 6 > a for a, b in offsets)
