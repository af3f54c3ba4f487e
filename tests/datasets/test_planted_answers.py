"""Planted prompts: the truth that they claim is the truth of their texts."""

from __future__ import annotations

import pytest

from regard.datasets.planted_answers import COPIED, KINDS, WORDINGS, PlantedAnswer, planted_answers
from regard.errors import RegardError
from regard.measures.sentences import sentence_spans


@pytest.mark.parametrize("language", WORDINGS)
@pytest.mark.parametrize("kind", KINDS)
def test_answers_stand_in_the_passages_that_are_called_true_and_in_no_other(kind: str, language: str) -> None:
    for prompt in planted_answers(kind, n=30, seed=3, language=language):
        content = prompt.messages[0]["content"]
        assert all(content.count(passage) == 1 for passage in prompt.passages)
        sentences = [prompt.answer[a:b] for a, b in sentence_spans(prompt.answer)]
        assert len(sentences) == len(prompt.gold)
        for sentence, gold in zip(sentences, prompt.gold, strict=True):
            holders = {i for i, passage in enumerate(prompt.passages) if sentence in passage}
            assert holders == (gold - {_bridge(prompt)} if kind == "two_hop" else gold)
            assert kind == "long" or len(gold) == (0 if kind not in COPIED else 2 if kind in ("pair", "two_hop") else 1)


def _bridge(prompt: PlantedAnswer) -> int:
    """The passage that names the friend; the person that the question names stands only there."""
    (place,) = [i for i, passage in enumerate(prompt.passages) if _person(prompt) in passage]
    return place


def _person(prompt: PlantedAnswer) -> str:
    (name,) = [name for name in WORDINGS[prompt.language].names if name in prompt.prefix]
    return name


@pytest.mark.parametrize("language", WORDINGS)
def test_two_hops_need_both_passages(language: str) -> None:
    for prompt in planted_answers("two_hop", n=30, seed=3, language=language):
        (gold,) = prompt.gold
        bridge = _bridge(prompt)
        (holder,) = gold - {bridge}
        friends = [name for name in WORDINGS[language].names if name in prompt.passages[bridge]]
        (friend,) = set(friends) - {_person(prompt)}
        assert friend in prompt.passages[holder]
        assert friend not in prompt.messages[0]["content"].rpartition("\n\n")[2]


@pytest.mark.parametrize("language", WORDINGS)
def test_long_answers_have_one_sentence_from_nowhere(language: str) -> None:
    for prompt in planted_answers("long", n=30, seed=3, language=language):
        assert sum(not gold for gold in prompt.gold) == 1
        origins = [gold for gold in prompt.gold if gold]
        assert len(set(origins)) == len(origins) == 4


@pytest.mark.parametrize("language", WORDINGS)
def test_only_the_kind_question_holds_the_answer_in_its_question(language: str) -> None:
    for kind in KINDS:
        for prompt in planted_answers(kind, n=10, language=language):
            question = prompt.messages[0]["content"].rpartition("\n\n")[2]
            assert (prompt.answer.strip() in question) == (kind == "question")


def test_same_seed_same_prompts_other_seed_other_prompts() -> None:
    assert planted_answers("pair", n=5, seed=4) == planted_answers("pair", n=5, seed=4)
    assert planted_answers("pair", n=5, seed=4) == planted_answers("pair", n=9, seed=4)[:5]
    assert planted_answers("pair", n=5, seed=4) != planted_answers("pair", n=5, seed=5)


def test_passages_are_as_many_as_wanted() -> None:
    assert {len(prompt.passages) for prompt in planted_answers("single", n=40, passages=(3, 4))} == {3, 4}


@pytest.mark.parametrize("options", [{"kind": "other"}, {"language": "fr"}, {"n": 0}, {"passages": (2, 5)}])
def test_odd_requests_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(RegardError):
        planted_answers(**{"kind": "single", **options})  # type: ignore[arg-type]
