"""Two hops: a near-sighted copier takes a name from its own earlier sentence, which took it from a source."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from regard.models.ask.chat_model import chat_model
from regard.models.chat.conversation import plain_text
from regard.models.chat.prompt_reader import PromptReader
from regard.models.chat.sources import find_sources
from regard.models.open.load import load
from regard.present.citation_words import unclear_reasons
from regard.surveys.answer_hops import hop_cost, traced
from regard.surveys.cite import cite, measure
from regard.surveys.cited_answer import CitedAnswer
from regard.testing.copier import copier

CITIES = ("Rome", "Oslo", "Lima")
FACTS = ["Bert likes Oslo", "Anna likes Rome"]
WINDOW = 3
"""A row sees the two tokens before it: the answer's first name its source, every later one the name before."""
ANSWER = "so Rome\nso Rome\nso Rome\nso Lima"
PROMPT = " ".join([*FACTS, "Where"])


@cache
def model() -> Any:
    others = " ".join(f"w{i}" for i in range(300))  # a large vocabulary: seeing a name hardly harms the other words
    module, tokenizer = copier(CITIES, [*FACTS, ANSWER, "Where", others], strength=5.0, window=WINDOW)
    return load(module, processor=tokenizer, name="near-sighted copier")


@cache
def result() -> CitedAnswer:
    return cite(model(), PROMPT, ANSWER, sources=FACTS, passes=50)


def test_row_knock_out_and_deletion_see_the_first_hop_only() -> None:
    assert result().sentences[0].cited == (1,)
    later = result().sentences[1:]
    assert [sentence.cited for sentence in later] == [(), (), ()]
    assert np.abs(result().matrix[1:]).max() < 1e-3
    assert max(abs(sentence.whole) for sentence in later) < 1e-3


def test_later_sentences_are_traced_hop_by_hop() -> None:
    first, second, third, fourth = result().sentences
    assert [s.status for s in (first, second, third, fourth)] == ["cite", "traced", "traced", "none"]
    assert second.trace is not None
    assert third.trace is not None
    assert (second.trace.path, second.trace.sources) == ((0,), (1,))
    assert (third.trace.path, third.trace.sources) == ((0, 1), (1,))
    assert min(second.trace.effect, second.trace.exact, second.trace.alone.gain) > 2
    assert fourth.trace is None
    assert [(c.status, c.sources, c.via) for c in result().citations] == [
        ("cite", (1,), ()),
        ("traced", (1,), (0,)),
        ("traced", (1,), (0, 1)),
    ]
    assert result().supported == (True, True, True, False)


def test_a_name_that_the_answer_did_not_take_from_a_source_leads_nowhere() -> None:
    """Lima stands in no source: what repeats it depends on the answer's own text, and on nothing else."""
    cited = cite(model(), PROMPT, "so Lima\nso Lima\nso Lima", sources=FACTS)
    assert [sentence.trace for sentence in cited.sentences] == [None, None, None]
    assert [sentence.status for sentence in cited.sentences[1:]] == ["none", "none"]


@pytest.mark.parametrize("delta", [1.0, 3.0])
def test_a_trace_needs_the_threshold(delta: float) -> None:
    cited = cite(model(), PROMPT, ANSWER, sources=FACTS, delta=delta)
    effects = [s.trace.effect for s in cited.sentences if s.trace is not None]
    assert all(effect >= delta for effect in effects)


def test_following_a_sentence_costs_no_more_than_was_reserved() -> None:
    chat = chat_model(model())
    reader = PromptReader(chat, plain_text(PROMPT), find_sources(plain_text(PROMPT), FACTS)[0], "")
    evidence = measure(reader, reader.answer(ANSWER, 1), "sentence", check=2, delta=1.0, passes=50.0)
    evidence.hops = False
    sentences = evidence.sentences()
    assert [sentence.status for sentence in sentences] == ["cite", "none", "none", "none"]
    before = evidence.objective.passes
    reserved = sum(hop_cost(evidence.objective, u, range(u)) for u in (1, 2, 3))
    assert [sentence.status for sentence in traced(evidence, sentences)] == ["cite", "traced", "traced", "none"]
    assert 0 < evidence.objective.passes - before <= reserved


def test_a_sentence_that_depends_on_a_source_is_not_traced_to_another() -> None:
    chat = chat_model(model())
    reader = PromptReader(chat, plain_text(PROMPT), find_sources(plain_text(PROMPT), FACTS)[0], "")
    evidence = measure(reader, reader.answer(ANSWER, 1), "sentence", check=2, delta=1.0, passes=50.0)
    evidence.hops = False
    sentences = evidence.sentences()
    evidence.effects[1, 0] = 1.5  # of the note about Bert; the first sentence comes from the one about Anna
    second = traced(evidence, sentences)[1]
    assert (second.status, second.trace, second.repeats) == ("unclear", None, 0)
    evidence.effects[1] = (0.0, 1.5)
    assert [sentence.status for sentence in traced(evidence, sentences)][:2] == ["cite", "traced"]


def test_a_sentence_that_depends_on_a_repeated_sourced_word_is_unclear() -> None:
    """Nothing makes the other word likely, so there is no trace; but the name comes from the first sentence."""
    near = cite(model(), PROMPT, "so Rome\nso Where\nRome w7", sources=FACTS, passes=50)
    assert [sentence.status for sentence in near.sentences] == ["cite", "none", "unclear"]
    assert (near.sentences[2].trace, near.sentences[2].repeats, near.sentences[2].supported) == (None, 0, False)
    assert "sentence 1" in str(unclear_reasons(near.to_json()))
    far = cite(model(), PROMPT, "so Rome\nso Where so\nRome w7", sources=FACTS, passes=50)
    assert (far.sentences[2].status, far.sentences[2].repeats) == ("none", None)  # too far to see the name
