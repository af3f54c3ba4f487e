"""Planted prompts: the truth that they claim is the truth of their texts."""

from __future__ import annotations

import pytest

from regard.datasets.planted_answers import COPIED, KINDS, WORDINGS, planted_answers
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
            assert holders == gold
            assert len(gold) == (0 if kind not in COPIED else 2 if kind == "pair" else 1)


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
