"""Data with known alignments: the label is right, and every link points at what it comes from."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import date
from itertools import pairwise

import numpy as np
import pytest

from regard.datasets.builtin._number_names import ONES, ORDINALS, TENS
from regard.datasets.builtin.dates import FORMATS, MONTHS, SPOKEN, WEEKDAYS, dates, spelled
from regard.datasets.builtin.number_words import LARGEST, number_words
from regard.datasets.builtin.number_words import spelled as number_spelled
from regard.datasets.builtin.phrases import NOUNS, SHOWPIECE, phrases
from regard.datasets.builtin.sequences import sequences
from regard.datasets.examples import Examples
from regard.datasets.read import read
from regard.errors import InputError, UnknownName
from regard.measures.alignment import alignment_error_rate, strongest, token_links
from regard.records import Example
from regard.store.example_json import example_from_json, example_to_json

TRANSLATIONS: dict[str, Callable[..., Examples]] = {
    "dates": dates,
    "number_words": number_words,
    "phrases": phrases,
    "sequences": sequences,
}


def pairs(example: Example) -> list[tuple[str, str]]:
    """Source and target text of every link."""
    text, label = str(example.inputs["text"]), str(example.label)
    return [(text[a:b], label[c:d]) for a, b, c, d in example.alignment or ()]


@pytest.mark.parametrize("name", TRANSLATIONS)
def test_links_are_inside_both_texts_and_a_split_keeps_its_answers(name: str) -> None:
    make = TRANSLATIONS[name]
    parts = {split: make(split=split, n=400) for split in ("train", "dev", "test")}
    for data in parts.values():
        assert len({e.inputs["text"] for e in data}) == 400, "nothing twice"
        for example in data:
            text, label = example.inputs["text"], str(example.label)
            assert text == text.strip()
            assert "  " not in text
            assert example.alignment
            assert len(set(example.alignment)) == len(example.alignment)
            for a, b, c, d in example.alignment:
                assert 0 <= a < b <= len(text)
                assert 0 <= c < d <= len(label)
    answers = [{str(e.label) for e in data} for data in parts.values()]
    assert not answers[0] & answers[1]
    assert not answers[0] & answers[2]
    assert not answers[1] & answers[2], "not even the same answer to another text"


@pytest.mark.parametrize("name", TRANSLATIONS)
def test_seeded_and_a_prefix_of_itself(name: str) -> None:
    make = TRANSLATIONS[name]
    assert make(n=40).fingerprint == make(n=40).fingerprint != make(n=40, seed=1).fingerprint
    assert make(n=40).items[:10] == make(n=10).items
    one = make(n=2).items[1]
    assert example_from_json(example_to_json(one)) == one
    assert len(read(f"{name}:n=30", split="train", limit=None)) == 30
    with pytest.raises(UnknownName, match="split"):
        make(split="tset")


def test_the_alignment_is_part_of_the_fingerprint() -> None:
    one = Example("a", {"text": "x y"}, "y x", alignment=((0, 1, 2, 3),))
    other = Example("a", {"text": "x y"}, "y x", alignment=((0, 1, 0, 1),))
    none = Example("a", {"text": "x y"}, "y x")
    assert len({Examples("t", (e,)).fingerprint for e in (one, other, none)}) == 3
    assert "alignment" not in example_to_json(none), "data without alignments keeps its name"


def test_dates_say_the_day_they_mean() -> None:
    for example in dates(n=1500, split="all", spoken=0.3):
        text, label = example.inputs["text"], str(example.label)
        day = date.fromisoformat(label)
        for word in text.replace(",", " ").split():
            if word in MONTHS:
                assert MONTHS.index(word) + 1 == day.month
            if word in WEEKDAYS:
                assert WEEKDAYS.index(word) == day.weekday()
        where = defaultdict(list)
        for (source, target), (_, _, c, _) in zip(pairs(example), example.alignment or (), strict=True):
            where[c].append(source)
            if source.isdigit():
                assert source == target or (target == "0" and len(source) == 1), "a figure is copied, or padded"
        assert sorted(where) == [0, 1, 2, 3, 5, 6, 8, 9], "every figure comes from somewhere, no hyphen does"
        assert all(len(sources) == 1 for sources in where.values())
        month = where[5][0]
        assert month[:3] == MONTHS[day.month - 1][:3] or month.isdigit()
        assert where[5] == where[6] or where[5][0] in "01"
    seen = Counter(e.slices["format"] for e in dates(n=1500, spoken=0.3))
    assert set(seen) == {*FORMATS, *SPOKEN}


@pytest.mark.parametrize(
    ("day", "spoken"),
    [
        (date(1979, 5, 3), "the third of May, nineteen seventy-nine"),
        (date(2000, 12, 31), "the thirty-first of December, two thousand"),
        (date(2007, 2, 20), "the twentieth of February, two thousand and seven"),
        (date(1900, 1, 12), "the twelfth of January, nineteen hundred"),
        (date(1905, 1, 1), "the first of January, nineteen oh five"),
        (date(2013, 1, 22), "the twenty-second of January, twenty thirteen"),
        (date(1680, 1, 1), "the first of January, sixteen eighty"),
    ],
)
def test_dates_in_words(day: date, spoken: str) -> None:
    assert "".join(piece.text for piece in spelled(day, SPOKEN[0])) == spoken


def value_of(text: str) -> int:
    """Reads number words back, in another way than they were written."""
    total = group = 0
    for word in text.replace("-", " ").split():
        if word in ONES:
            group += ONES.index(word)
        elif word in TENS:
            group += 10 * TENS.index(word)
        elif word == "hundred":
            group *= 100
        elif word in ("thousand", "million"):
            total, group = total + group * (1000 if word == "thousand" else 1_000_000), 0
        else:
            assert word == "and"
    return total + group


def test_number_words_read_back_give_the_number() -> None:
    rng = np.random.default_rng(0)
    values = [*range(1200), 10**5, 10**6, 10**8, LARGEST, *map(int, rng.integers(LARGEST, size=500))]
    for value in values:
        for british in (False, True):
            assert value_of("".join(p.text for p in number_spelled(value, british=british))) == value
    assert "".join(p.text for p in number_spelled(1001)) == "one thousand and one"
    assert "".join(p.text for p in number_spelled(1101, british=False)) == "one thousand one hundred one"


def test_figures_are_linked_to_the_words_that_name_them() -> None:
    for example in number_words(n=800, split="all", largest=LARGEST):
        label = str(example.label)
        assert value_of(example.inputs["text"]) == int(label)
        linked = set()
        for (word, figure), (_, _, c, _) in zip(pairs(example), example.alignment or (), strict=True):
            linked.add(c)
            named = ONES.index(word) if word in ONES else 10 * TENS.index(word) if word in TENS else 0
            assert figure in str(named)
        assert all(label[c] == "0" for c in set(range(len(label))) - linked), "only a zero may come from nothing"
        assert (len(label) - 1) in linked or any(f != "0" for f in label[:-1])


def test_the_showpiece_is_the_first_test_sentence_and_in_no_other_split() -> None:
    first = phrases(n=3)[0]
    assert (first.inputs["text"], first.label) == (SHOWPIECE, "我爱自然语言处理")
    assert pairs(first) == [
        ("I", "我"),
        ("love", "爱"),
        ("natural", "自然"),
        ("language", "语言"),
        ("processing", "处理"),
    ]
    for split in ("train", "dev"):
        assert SHOWPIECE not in [e.inputs["text"] for e in phrases(split=split, n=2000)]


def test_phrases_translate_word_by_word_and_every_character_comes_from_a_word() -> None:
    data = phrases(split="train", n=2000)
    found: dict[str, set[str]] = defaultdict(set)
    moved = 0
    for example in data:
        text, label = example.inputs["text"], str(example.label)
        assert text[0].isupper()
        links = example.alignment or ()
        assert {i for _, _, c, d in links for i in range(c, d)} == set(range(len(label)))
        for a, b, _, _ in links:
            around = text[max(a - 1, 0) : a] + text[b : b + 1]
            assert not (text[a:b].isalpha() and any(char.isalpha() for char in around)), "whole words"
        for source, target in pairs(example):
            if target not in {noun.measure for nouns in NOUNS.values() for noun in nouns}:
                found[source.lower()].add(target.removesuffix("的"))
        moved += any(a > b for a, b in pairwise([a for a, _, _, _ in links]))
        assert text.endswith("?") == label.endswith("吗？") == (example.slices["kind"] == "question")
        linked = {i for a, b, _, _ in links for i in range(a, b)}
        rest = "".join(" " if i in linked else char for i, char in enumerate(text))
        assert set(rest.lower().split()) <= {"the", "do", "does"}, "only these become nothing"
    assert max(len(targets - {"了", "吗", "会", "没"}) for targets in found.values()) <= 4
    assert found["book"] == {"书"}
    assert found["two"] == {"两"}
    assert moved > 700, "Chinese has another order"
    by_text = defaultdict(set)
    for example in phrases(split="all", n=2000):
        by_text[example.inputs["text"]].add(example.label)
    assert all(len(labels) == 1 for labels in by_text.values()), "no text has two translations"


def test_sequences_are_what_the_task_says() -> None:
    orders: dict[str, Callable[[list[str]], list[str]]] = {"copy": list, "reverse": lambda w: w[::-1], "sort": sorted}
    for task, order in orders.items():
        for example in sequences(task=task, n=200, symbols=8):  # type: ignore[arg-type]
            words = example.inputs["text"].split()
            assert str(example.label).split() == order(words)
            assert all(source == target for source, target in pairs(example))
            assert len(pairs(example)) == len(words)
            if task == "copy":
                assert all(a == c for a, _, c, _ in example.alignment or ())


@pytest.mark.parametrize("name", TRANSLATIONS)
def test_the_known_alignment_has_error_rate_0_in_characters(name: str) -> None:
    for example in TRANSLATIONS[name](n=30):
        source, target = ([(i, i + 1) for i in range(len(str(t)))] for t in (example.inputs["text"], example.label))
        known = token_links(example.alignment or (), source, target)
        weights = np.zeros((len(target), len(source)))
        for i, j in known.possible:
            weights[j, i] = 1
        assert alignment_error_rate(strongest(weights, known.targets), *known) == 0


@pytest.mark.parametrize(
    ("make", "bad"),
    [
        (dates, {"first": 2000, "last": 1999}),
        (dates, {"last": 3000}),
        (dates, {"spoken": 2}),
        (sequences, {"symbols": 2, "longest": 3, "n": 100}),
        (number_words, {"largest": 3}),
        (number_words, {"joined": -1}),
        (phrases, {"questions": 1.5}),
        (sequences, {"task": "shuffle"}),
        (sequences, {"symbols": 1}),
        (sequences, {"shortest": 5, "longest": 4}),
        (sequences, {"n": 0}),
    ],
)
def test_what_cannot_be_is_refused(make: Callable[..., Examples], bad: dict[str, float]) -> None:
    with pytest.raises(InputError) as caught:
        make(**bad)
    assert "expected" in str(caught.value)


def test_ordinals_and_numbers_are_the_same_numbers() -> None:
    assert len(ONES) == len(ORDINALS) == 20
