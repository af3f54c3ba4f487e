"""A given answer as the objective of every method: against plain transformers passes and hand-written loops."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.models.adapter import TorchModel
from regard.models.chat.answer_model import answer_example, answer_model
from regard.models.open.load import load
from regard.testing.architectures import find
from regard.training.word_tokenizer import word_tokenizer

DECODERS = ("GPT-2", "GPT-NeoX", "OPT", "Llama", "Qwen2", "Qwen3", "Phi3", "Mistral", "Gemma2", "OLMo2")
PROMPT = "Anna lives in Rome . Bert lives in Oslo . Where does Anna live ?"
ANSWER = "Anna lives in Rome ."
Array = np.ndarray[Any, Any]


@cache
def tokenizer_of() -> Any:
    return word_tokenizer([PROMPT, ANSWER])


@cache
def causal(name: str) -> TorchModel:
    torch.manual_seed(0)
    model = load(find(name).build(), processor=tokenizer_of(), task="next_token", device="cpu")
    assert isinstance(model, TorchModel)
    return model


@cache
def translator() -> TorchModel:
    import transformers

    size = len(tokenizer_of())
    config = transformers.T5Config(
        vocab_size=size, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, decoder_start_token_id=0
    )
    torch.manual_seed(0)
    model = load(transformers.T5ForConditionalGeneration(config), processor=tokenizer_of(), device="cpu")
    assert isinstance(model, TorchModel)
    return model


def case_of(model: TorchModel, units: str = "token", **settings: Any) -> DeskCase:
    live = answer_model(model, units)
    example = answer_example(live, settings.pop("prompt", PROMPT), settings.pop("answer", ANSWER), **settings)
    return DeskCase(Desk(live), [example])


def ids_of(text: str) -> list[int]:
    return list(tokenizer_of()(text)["input_ids"])


def log_odds(log_p: float) -> float:
    return log_p - float(np.log(-np.expm1(log_p)))


@pytest.mark.parametrize("name", DECODERS)
def test_value_is_the_log_odds_of_the_teacher_forced_answer(name: str) -> None:
    prompt, answer = ids_of(PROMPT), ids_of(ANSWER)
    with torch.no_grad():
        logits = causal(name).module(input_ids=torch.tensor([prompt + answer])).logits[0].double()
    log_p = torch.log_softmax(logits[len(prompt) - 1 : -1], -1)[range(len(answer)), answer].numpy()
    assert case_of(causal(name)).base().value[0] == pytest.approx(log_odds(log_p.sum()), abs=1e-5)
    span = case_of(causal(name), span="in Rome").base()
    assert span.value[0] == pytest.approx(log_odds(log_p[2:4].sum()), abs=1e-5)
    assert span.probability[0] == pytest.approx(np.exp(log_p[2:4].mean()), abs=1e-5)


def by_hand(name: str, step: int, steps: int) -> tuple[Array, Array]:
    """Input x gradient and integrated gradients (zero baseline, midpoints) of one answer token, by a plain loop."""
    module: Any = causal(name).module
    prompt, answer = ids_of(PROMPT), ids_of(ANSWER)
    ids = torch.tensor([prompt + answer[:step]])
    x = module.get_input_embeddings()(ids).detach()
    start = x.clone()
    start[:, : len(prompt)] = 0  # the answer so far stays

    def gradient(at: torch.Tensor) -> torch.Tensor:
        at = at.clone().requires_grad_()
        logits = module(inputs_embeds=at, attention_mask=torch.ones_like(ids)).logits[0, -1].double()
        p = torch.softmax(logits, -1)[answer[step]]
        (slope,) = torch.autograd.grad(torch.log(p / (1 - p)), at)
        return slope

    points = [(k + 0.5) / steps for k in range(steps)]
    mean = torch.stack([gradient(start + alpha * (x - start)) for alpha in points]).mean(0)
    parts = [((x - start) * slope).sum(-1)[0, : len(prompt)].numpy() for slope in (gradient(x), mean)]
    return parts[0], parts[1]


@pytest.mark.parametrize("name", ["GPT-2", "Llama", "Gemma2"])
@pytest.mark.parametrize("step", [0, 3])
def test_gradients_of_every_step_equal_a_plain_loop(name: str, step: int) -> None:
    word = ANSWER.split()[step]
    case = case_of(causal(name), span=[ANSWER.index(word), ANSWER.index(word) + len(word)])
    free = case.units[0].free
    products, integrals = by_hand(name, step, 8)
    exact = case.relevance("integrated_gradients:baseline=zero,steps=8")[0][free]
    assert np.corrcoef(exact, integrals)[0, 1] > 0.999
    assert exact == pytest.approx(integrals, rel=1e-3, abs=1e-5)
    assert case.relevance("input_x_gradient")[0][free] == pytest.approx(products, rel=1e-3, abs=1e-5)


def test_deleted_tokens_and_masked_tokens_leave_the_answer_in_place() -> None:
    case = case_of(causal("Llama"))
    prompt, answer = ids_of(PROMPT), ids_of(ANSWER)
    drop = np.zeros((1, len(case.units[0])), bool)
    drop[0, 2:5] = True
    with torch.no_grad():
        ids = torch.tensor([prompt[:2] + prompt[5:] + answer])
        logits = causal("Llama").module(input_ids=ids).logits[0].double()
    rows = torch.log_softmax(logits[len(prompt) - 4 : -1], -1)
    expected = log_odds(float(rows[range(len(answer)), answer].sum()))
    assert case.removed([drop], "delete").value[0] == pytest.approx(expected, abs=1e-5)
    nothing = case.removed([np.ones((1, len(case.units[0])), bool)], "delete").value[0]
    assert np.isfinite(nothing)  # a start token stands for the prompt


def test_sources_are_deleted_from_the_rendered_prompt() -> None:
    notes = ["Anna lives in Rome .", "Bert lives in Oslo ."]
    messages = [{"role": "user", "content": "\n".join([*notes, "Where does Anna live ?"])}]
    case = case_of(causal("Llama"), "source", prompt=messages, sources=notes)
    assert case.units[0].names == tuple(notes)
    assert case.operators[0] == "delete"
    shorter = [{"role": "user", "content": "\n".join([notes[1], "Where does Anna live ?"])}]
    expected = case_of(causal("Llama"), prompt=shorter).base().value[0]
    drop = np.array([[True, False]])
    assert case.removed([drop]).value[0] == pytest.approx(expected, abs=1e-5)
    by_token = case_of(causal("Llama"), prompt=messages)
    members = np.array([[False] * 1 + [True] * 5 + [False] * (len(by_token.units[0]) - 6)])
    masked = case.removed([drop], "attention_mask").value[0]
    assert masked == pytest.approx(by_token.removed([members], "attention_mask").value[0], abs=1e-5)


def test_an_encoder_decoder_model_is_asked_about_a_given_answer() -> None:
    model = translator()
    answer = ids_of(ANSWER)
    with torch.no_grad():
        logits = model.module(input_ids=torch.tensor([ids_of(PROMPT)]), labels=torch.tensor([answer])).logits[0]
    log_p = torch.log_softmax(logits.double(), -1)[range(len(answer)), answer].numpy()
    assert case_of(model).base().value[0] == pytest.approx(log_odds(log_p.sum()), abs=1e-5)
    span = case_of(model, span="Rome")
    assert span.base().value[0] == pytest.approx(log_odds(log_p[3]), abs=1e-5)
    assert span.units[0].free.sum() == len(ids_of(PROMPT))
    assert len(case_of(model, answer=answer).targets[0]) == len(answer)  # type: ignore[arg-type]
    written = case_of(model, answer=None)
    assert np.isfinite(written.base().value[0])
    for method in ("leave_one_out", "integrated_gradients", "attention"):
        assert np.abs(span.relevance(method)[0]).max() > 0
