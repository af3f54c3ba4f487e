"""The cost of citations: bounded, counted, and without influence on what is cited as long as it is paid."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from regard.models.chat.answer_rows import REMEMBERED, AnswerRows
from regard.models.open.load import load
from regard.surveys import answer_evidence
from regard.surveys.citation_rule import LIMIT, QUIET, candidates, separate_sources
from regard.surveys.cite import cite
from regard.surveys.cited_answer import CitedAnswer
from regard.testing.copier import copier

CITIES = ("Rome", "Oslo", "Lima", "Cairo", "Seoul", "Paris", "Quito", "Tunis")
FILLER = "she sings and reads and walks a lot every single day of the year"
FACTS = [f"{name} lives in {city} , {FILLER}" for name, city in zip("ABCDEFGH", CITIES, strict=True)]


@cache
def model() -> Any:
    module, tokenizer = copier(CITIES, [*FACTS, "Who lives where ?"], strength=9.0)
    return load(module, processor=tokenizer, name="copier", device="cpu")


def cited(facts: list[str], answer: list[str], **options: Any) -> CitedAnswer:
    return cite(model(), "\n".join([*facts, "Who lives where ?"]), "\n".join(answer), sources=facts, **options)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("passes", [LIMIT, 2.5])
def test_cost_stays_within_the_limit(seed: int, passes: float, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    facts = [FACTS[i] for i in rng.permutation(8)[: rng.integers(3, 9)]]
    answer = [str(name) for name in rng.choice(CITIES, rng.integers(1, 7))]
    prompts: list[tuple[int, ...]] = []
    plain = AnswerRows.deleted

    def counting(self: AnswerRows, prompt: Any, part: Any = None) -> Any:
        prompts.extend([tuple(prompt)] if part is None else [])
        return plain(self, prompt, part)

    monkeypatch.setattr(AnswerRows, "deleted", counting)
    result = cited(facts, answer, passes=passes)
    assert result.passes <= max(passes, 2 * result.ranking_passes) + 1e-3
    assert len(set(prompts)) == len(prompts)  # nothing is deleted twice
    rows = [list(sentence.effects) for sentence in result.sentences]
    checked = {c for row in rows for c in candidates(row, delta=1.0, check=2)}
    assert len(prompts) <= 1 + len(checked) + len(separate_sources(rows, delta=1.0, check=2, most=2))
    for sentence in result.sentences:
        assert sentence.checked or (sentence.status, sentence.cited) == ("unclear", ())
    unchecked = sum(not sentence.checked for sentence in result.sentences)
    assert ("cite.note.limit" in [note.key for note in result.notes]) == (unchecked > 0)


GROUPS: dict[float, set[tuple[int, ...]]] = {4.5: {(0, 2), (4, 7)}, 3.75: {(0, 2, 4)}, 3.0: {(0, 2, 4, 7)}}
"""The groups in which the candidates of an answer are deleted, by the limit of passes."""


def test_sources_deleted_together_are_cited_as_if_deleted_one_by_one() -> None:
    answer = ["Rome", "Lima", "Seoul", "Tunis"]
    single = cited(FACTS, answer, passes=50.0)
    assert not any(sentence.group for sentence in single.sentences)  # the limit pays for every deletion
    costs = []
    for passes, expected in GROUPS.items():
        together = cited(FACTS, answer, passes=passes)
        assert {sentence.group.sources for sentence in together.sentences if sentence.group} == expected
        assert all(s.alone and s.alone.sources in (tuple(range(8)), s.cited) for s in together.sentences)
        assert [s.cited for s in together.sentences] == [s.cited for s in single.sentences] == [(0,), (2,), (4,), (7,)]
        assert [citation.exact > 1 for citation in together.citations] == [True] * 4
        costs.append(together.passes)
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < single.passes - 1


def test_sentences_that_cannot_be_paid_are_unclear(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_evidence, "separate_sources", lambda *_, **__: [])
    result = cited(FACTS, list(CITIES), passes=0.1)
    assert {(sentence.status, sentence.checked) for sentence in result.sentences} <= {
        ("cite", True),
        ("unclear", False),
    }
    assert any(not sentence.checked for sentence in result.sentences)
    assert result.passes <= 2 * result.ranking_passes + 1e-3


def test_groups_hold_only_sources_that_do_not_matter_to_each_other() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        table = rng.normal(0, 0.5, (5, 8))
        table[np.arange(5), rng.integers(0, 8, 5)] += 4.0
        own = [candidates(row, delta=1.0, check=2) for row in table.tolist()]
        for most in (1, 2, 4):
            groups = separate_sources(table.tolist(), delta=1.0, check=2, most=most)
            assert sorted(c for group in groups for c in group) == sorted({c for numbers in own for c in numbers})
            assert all(len(group) <= most for group in groups)
            for group in (group for group in groups if len(group) > 1):
                for row, numbers in zip(table.tolist(), own, strict=True):
                    if group & set(numbers):
                        assert len(numbers) == 1
                        assert all(row[c] < QUIET for c in group - set(numbers))


def test_a_remembered_prompt_gives_the_same_numbers() -> None:
    tokenizer = model().traits.tokenizer
    prompt, answer = tokenizer(" ".join(FACTS))["input_ids"], tokenizer("Rome Oslo Lima")["input_ids"]
    from regard.models.ask.chat_model import chat_model

    rows = AnswerRows(chat_model(model()), prompt, answer)
    short = prompt[40:60]
    first = rows.deleted(short)
    assert rows.cost(short) == pytest.approx((1 + 2) / len(prompt))
    assert rows.deleted(short) == pytest.approx(first, abs=1e-5)
    assert rows.deleted(short, [1]) == pytest.approx(
        AnswerRows(chat_model(model()), prompt, answer).deleted(short, [1]), abs=1e-5
    )


def test_deleted_prompts_are_remembered_up_to_a_limit() -> None:
    tokenizer = model().traits.tokenizer
    prompt, answer = tokenizer(" ".join(FACTS))["input_ids"], tokenizer("Rome Oslo Lima")["input_ids"]
    from regard.models.ask.chat_model import chat_model

    rows = AnswerRows(chat_model(model()), prompt, answer)
    for start in range(20):
        shorter = prompt[:start] + prompt[start + 3 :]
        values = rows.deleted(shorter)
        assert rows.cost(shorter, [1]) == pytest.approx(1 / len(prompt))  # read a moment ago
        assert rows.deleted(shorter, [0, 1, 2]) == pytest.approx(values, abs=1e-5)
        assert sum(len(other) for other, _ in rows._remembered) <= REMEMBERED
    assert len(rows._remembered) > 2


def test_rows_after_forgotten_tokens_equal_those_of_a_whole_call() -> None:
    tokenizer = model().traits.tokenizer
    prompt, answer = tokenizer(" ".join(FACTS))["input_ids"], tokenizer("Rome Oslo Lima Cairo Seoul")["input_ids"]
    from regard.models.ask.chat_model import chat_model

    rows = AnswerRows(chat_model(model()), prompt, answer)
    nothing = np.zeros((1, len(prompt)), np.bool_)
    for hidden in ([0], [1, 2], [0, 2], [4]):
        tokens = np.isin(np.arange(5), hidden)
        expected = rows.knocked_out(nothing, tokens[None])[0]
        before = rows.passes
        assert rows.forgotten(tokens) == pytest.approx(expected, abs=1e-4)
        assert rows.passes - before == pytest.approx(rows.forgotten_cost(tokens))
