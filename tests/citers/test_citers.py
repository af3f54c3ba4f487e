"""Methods that rank sources, on a hand-made copier whose effects can be computed on paper."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from regard.measures.lasso import lasso
from regard.models.ask.chat_model import chat_model
from regard.models.chat.answer_case import AnswerCase
from regard.models.chat.attention_mass import attention_mass
from regard.models.chat.conversation import conversation
from regard.models.chat.prompt_reader import PromptReader
from regard.models.chat.sources import find_sources
from regard.models.open.load import load
from regard.records import Floats
from regard.registry import entry, find, names
from regard.surveys.cite import cite
from regard.testing.architectures import find as architecture
from regard.testing.copier import copier

CITIES = ("Rome", "Oslo", "Lima", "Paris")
FACTS = ["Anna lives in Rome.", "Bert lives in Oslo.", "Clara lives in Lima."]
QUESTION = "Where does Anna live?"
MESSAGES = [{"role": "user", "content": "\n".join(f"- {fact}" for fact in FACTS) + f"\n\n{QUESTION}"}]


@cache
def model() -> Any:
    module, tokenizer = copier(CITIES, [*FACTS, QUESTION], strength=4.0)
    return load(module, processor=tokenizer, name="copier")


def case(answer: str = "Rome.", *, units: str = "answer", seed: int = 0) -> AnswerCase:
    chat = chat_model(model())
    prompt = conversation(chat.tokenizer, MESSAGES, name=chat.name)
    reader = PromptReader(chat, prompt, find_sources(prompt, FACTS)[0], "")
    return AnswerCase(reader, reader.answer(answer, 1), units=units, seed=seed)


def scores(name: str, asked: AnswerCase) -> Floats:
    table: Floats = find("citer", name)(asked)
    return table


@pytest.mark.parametrize("name", names("citer"))
def test_every_method_scores_every_source_of_every_span(name: str) -> None:
    asked = case("Rome. Oslo.", units="sentence")
    table = scores(name, asked)
    assert table.shape == (2, 3)
    assert np.isfinite(table).all()
    assert np.array_equal(table, scores(name, case("Rome. Oslo.", units="sentence")))


MEASURED = [name for name in names("citer") if entry("citer", name).facts["unit"] == "nats"]


@pytest.mark.parametrize("name", MEASURED)
def test_measured_effects_name_the_copied_source(name: str) -> None:
    table = scores(name, case("Rome. Oslo. Lima.", units="sentence"))
    assert table.argmax(1).tolist() == [0, 1, 2]
    assert (np.diag(table) > 0).all()


def test_knock_out_and_deletion_are_those_of_cite() -> None:
    cited = cite(model(), MESSAGES, "Rome. Oslo.", sources=FACTS, check=3)
    asked = case("Rome. Oslo.", units="sentence")
    assert scores("row_knock_out", asked) == pytest.approx(cited.matrix)
    exact = scores("leave_source_out", asked)
    checked = [(u, c) for u, s in enumerate(cited.sentences) for c, effect in enumerate(s.exact) if effect is not None]
    assert len(checked) >= 2
    for u, c in checked:
        assert exact[u, c] == pytest.approx(cited.sentences[u].exact[c], abs=1e-5)


def test_context_cite_is_the_lasso_of_all_masks() -> None:
    asked = case()
    every = np.array([[bool(i >> c & 1) for c in range(3)] for i in range(8)])
    values = np.array([float((asked.base - asked.deletion(*np.flatnonzero(~mask)))[0]) for mask in every])
    tokens = len(asked.reply.ids)
    expected = lasso(every.astype(float), values / tokens, alpha=0.0) * tokens
    many = find("citer", "context_cite")(asked, masks=600, alpha=0.0)[0]
    assert many == pytest.approx(expected, abs=0.3)
    assert find("citer", "context_cite")(asked, masks=32, alpha=1e3).tolist() == [[0.0, 0.0, 0.0]]


def test_lasso_equals_scikit_learn() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(0)
    x = (rng.random((24, 7)) < 0.5).astype(float)
    y = x @ np.array([3.0, 0.0, -1.0, 0.02, 0.0, 0.5, 0.0]) + 0.1 * rng.normal(size=24)
    for alpha in (0.001, 0.01, 0.3):
        oracle = linear_model.Lasso(alpha=alpha, tol=1e-12, max_iter=100_000).fit((x - x.mean(0)) / x.std(0), y)
        assert lasso(x, y, alpha=alpha) == pytest.approx(oracle.coef_ / x.std(0), abs=1e-6)


def test_attention_of_a_uniform_model_counts_tokens() -> None:
    asked = case()
    mass = attention_mass(asked.rows)
    width, count = len(asked.reader.ids), len(asked.reply.ids)
    assert mass == pytest.approx(np.repeat(1 / (width + np.arange(count))[:, None], width, 1), abs=1e-6)
    tokens = [(asked.source_owners == c).sum() for c in range(3)]
    assert scores("attention", asked)[0] == pytest.approx(np.array(tokens) * (1 / (width + np.arange(count))).mean())


def test_attention_equals_eager_weights() -> None:
    import torch

    module = architecture("Llama").build()
    chat = chat_model(load(module, processor=model().traits.tokenizer, name="tiny"))
    prompt, answer = list(range(4, 16)), [5, 6, 7]
    from regard.models.chat.answer_rows import AnswerRows

    mass = attention_mass(AnswerRows(chat, prompt, answer))
    module.set_attn_implementation("eager")
    with torch.no_grad():
        layers = module(torch.tensor([[*prompt, *answer[:-1]]]), output_attentions=True).attentions
    expected = torch.stack(layers).mean((0, 2))[0, len(prompt) - 1 :, : len(prompt)].numpy()
    assert mass == pytest.approx(expected, abs=1e-6)


def test_costs_do_not_depend_on_who_asked_before() -> None:
    def cost(name: str, asked: AnswerCase) -> float:
        with asked.metered() as meter:
            scores(name, asked)
        return meter.passes

    shared = case()
    order = ["leave_source_out", "context_cite", "row_knock_out", "gradient_contributions", "random"]
    costs = {name: cost(name, shared) for name in order}
    assert costs == pytest.approx({name: cost(name, case()) for name in order})
    plain = (len(shared.reader.ids) + len(shared.reply.ids) - 1) / len(shared.reader.ids)
    assert costs["random"] == pytest.approx(plain)
    assert plain < costs["row_knock_out"] < costs["leave_source_out"] < 4 * plain


def test_random_scores_follow_the_seed() -> None:
    assert not np.array_equal(scores("random", case(seed=0)), scores("random", case(seed=1)))
    assert scores("last_source", case()).argmax() == 2
