"""Chinese reviews: the same by seed, balanced, labels by the rule, rationales around the opinion that decides."""

from __future__ import annotations

from collections import Counter

import pytest

from regard.datasets.builtin.chinese_reviews import DOMAINS, NAMES, WORDS, chinese_reviews, label_of, opinion_words
from regard.datasets.read import read
from regard.errors import InputError
from regard.records import Example


def marked(example: Example) -> list[str]:
    text = str(example.inputs["text"])
    return [text[int(a) : int(b)] for a, b in example.rationale or ()]


@pytest.mark.parametrize("classes", [2, 3])
def test_labels_follow_from_the_rule_and_are_balanced(classes: int) -> None:
    data = chinese_reviews(n=900, classes=classes)
    assert data.labels == NAMES[:classes]
    assert all(label_of(str(e.inputs["text"])) == e.label for e in data)
    counts = Counter(e.label for e in data)
    assert max(counts.values()) - min(counts.values()) <= 1
    assert len({e.inputs["text"] for e in data}) == len(data)
    assert {e.slices["domain"] for e in data} == set(DOMAINS)


def test_one_seed_gives_one_list_and_splits_share_no_text() -> None:
    texts = [e.inputs["text"] for e in chinese_reviews(n=60, seed=3)]
    assert texts == [e.inputs["text"] for e in chinese_reviews(n=120, seed=3)][:60]
    assert texts != [e.inputs["text"] for e in chinese_reviews(n=60, seed=4)]
    parts = [{e.inputs["text"] for e in chinese_reviews(split=s, n=400)} for s in ("train", "dev", "test")]
    assert not (parts[0] & parts[1] | parts[0] & parts[2] | parts[1] & parts[2])


def test_rationales_mark_the_opinion_that_decides() -> None:
    bad, good = opinion_words()
    opinions = {*bad, *good, *WORDS.neutral}
    for example in chinese_reviews(n=300, classes=3):
        text, words = str(example.inputs["text"]), marked(example)
        assert words
        assert all(0 <= a < b <= len(text) for a, b in example.rationale or ())
        clauses = [w for w in words if w not in WORDS.but]
        assert all(any(w.endswith(o) for o in opinions) for w in clauses)
        assert len(clauses) == (2 if example.slices["form"] == "double" else 1)
        assert (len(words) > len(clauses)) == (example.slices["form"] == "contrast")
        # without the marked words no opinion is left that decides, and the label is another or none
        rest = text
        for word in clauses:
            rest = rest.replace(word, "")
        assert label_of(rest) is None


def test_no_single_word_gives_the_label_away() -> None:
    """An opinion word stands in texts of both classes: by negation, and before a contrast."""
    labels: dict[str, Counter[object]] = {}
    for example in chinese_reviews(n=3000):
        for word in {*opinion_words()[0], *opinion_words()[1]}:
            if word in str(example.inputs["text"]):
                labels.setdefault(word, Counter())[example.label] += 1
    shares = [max(c.values()) / sum(c.values()) for c in labels.values()]
    assert max(shares) < 0.8


def test_negation_turns_an_opinion_round_and_contrast_overrules_it() -> None:
    assert label_of("房间潮湿。") == 0
    assert label_of("房间一点也不潮湿。") == 1
    assert label_of("虽然房间潮湿，但是前台热情。") == 1
    assert label_of("前台热情，房间潮湿。") is None


def test_opinions_are_no_parts_of_each_other_or_of_other_sentences() -> None:
    bad, good = opinion_words()
    assert not bad & good
    opinions = {*bad, *good, *WORDS.neutral}
    assert not [(a, b) for a in opinions for b in opinions if a != b and a in b]
    facts = [fact for domain in WORDS.domains.values() for fact in domain["facts"]]
    others = [*facts, *(w for words in WORDS.slots.values() for w in words), *WORDS.degrees, *WORDS.hedges]
    assert not [(o, other) for o in opinions for other in others if o in other]


def test_impossible_settings_are_refused() -> None:
    for settings in ({"classes": 4}, {"negation": 1.5}, {"n": 0}):
        with pytest.raises(InputError):
            chinese_reviews(**settings)  # type: ignore[arg-type]
    assert len(read("chinese_reviews:n=20,classes=3", limit=None)) == 20
