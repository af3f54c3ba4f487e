"""Spans of an answer, an answer against another, and earlier sentences: each against plain transformers passes."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from regard.models.ask.chat_model import ChatModel
from regard.models.chat.answer_objective import AnswerObjective
from regard.models.chat.answer_rows import AnswerRows
from regard.models.chat.log_odds import log_probabilities
from regard.testing.architectures import find

DECODERS = ("GPT-2", "GPT-NeoX", "OPT", "Llama", "Qwen2", "Qwen3", "Phi3", "Mistral", "Gemma2", "OLMo2")
PROMPT = np.random.default_rng(0).integers(3, 99, 30).tolist()
ANSWER = np.random.default_rng(1).integers(3, 99, 6).tolist()
RIVAL = [*ANSWER[:2], 7, 8, 9, 10, 11, 12]


@cache
def module_of(name: str) -> nn.Module:
    return find(name).build()


def chat_of(name: str) -> ChatModel:
    return ChatModel(name, module_of(name), None, torch.device("cpu"), None)


def log_p(name: str, prompt: list[int], answer: list[int], **extra: Any) -> np.ndarray[Any, Any]:
    """Log-probabilities of the answer's tokens by one plain pass."""
    with torch.no_grad():
        logits = module_of(name)(input_ids=torch.tensor([[*prompt, *answer]]), **extra).logits[0].double()
    return torch.log_softmax(logits[len(prompt) - 1 : -1], -1)[range(len(answer)), answer].numpy()


@pytest.mark.parametrize("name", DECODERS)
def test_a_span_is_the_sum_of_its_teacher_forced_tokens(name: str) -> None:
    owners = np.array([-1, -1, 0, 0, 0, -1])
    objective = AnswerObjective(chat_of(name), PROMPT, ANSWER, owners)
    expected = log_p(name, PROMPT, ANSWER)[2:5].sum()
    assert objective.log_probabilities[0] == pytest.approx(expected, abs=1e-5)
    assert objective.base[0] == pytest.approx(expected - np.log(-np.expm1(expected)), abs=1e-5)


@pytest.mark.parametrize("name", DECODERS)
def test_a_contrast_is_a_difference_of_teacher_forced_log_probabilities(name: str) -> None:
    rival = (RIVAL, np.array([-1, -1, 0, 0, 0, 0, 0, 0]))
    objective = AnswerObjective(chat_of(name), PROMPT, ANSWER, np.array([-1, -1, 0, 0, 0, -1]), rival)
    expected = log_p(name, PROMPT, ANSWER)[2:5].sum() - log_p(name, PROMPT, RIVAL)[2:].sum()
    assert objective.base[0] == pytest.approx(expected, abs=1e-5)
    shorter = PROMPT[:10] + PROMPT[16:]
    expected = log_p(name, shorter, ANSWER)[2:5].sum() - log_p(name, shorter, RIVAL)[2:].sum()
    assert objective.deleted(shorter)[0][0] == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("name", ["GPT-2", "Llama"])
def test_hidden_answer_tokens_equal_one_masked_pass(name: str) -> None:
    """Oracle: rows that predict token 3 and later cannot see tokens 1 and 2 of the answer, but see themselves."""
    earlier = np.zeros((1, len(ANSWER)), bool)
    earlier[0, 1:3] = True
    rows = AnswerRows(chat_of(name), PROMPT, ANSWER)
    (log_odds,) = rows.knocked_out(np.zeros((1, len(PROMPT)), bool), earlier)
    n, lowest, start = len(PROMPT) + len(ANSWER), torch.finfo(torch.float32).min, len(PROMPT)
    mask = torch.zeros(n, n).masked_fill(torch.ones(n, n).triu(1) > 0, lowest)
    for row in range(start + 2, n):
        for column in (start + 1, start + 2):
            if row != column:
                mask[row, column] = lowest
    expected = log_p(name, PROMPT, ANSWER, attention_mask=mask[None, None], position_ids=torch.arange(n)[None])
    assert np.abs(log_probabilities(log_odds) - expected).max() < 1e-5
    assert np.abs(log_probabilities(log_odds) - log_p(name, PROMPT, ANSWER)).max() > 1e-4
    assert np.abs(log_probabilities(log_odds) - log_p(name, PROMPT, ANSWER))[:3].max() < 1e-5


def test_contributions_of_a_contrast_are_a_difference() -> None:
    members = np.arange(3)[:, None] == np.repeat([0, 1, 2], 10)[None]
    one, other = np.zeros(len(ANSWER), int), np.zeros(len(RIVAL), int)
    chat = chat_of("Llama")
    difference = AnswerObjective(chat, PROMPT, ANSWER, one, (RIVAL, other)).contributions(members)
    parts = [
        AnswerObjective(chat, PROMPT, ids, owners).contributions(members)
        for ids, owners in ((ANSWER, one), (RIVAL, other))
    ]
    # long spans have log-odds and log-probabilities of equal gradients
    assert difference == pytest.approx(parts[0] - parts[1], rel=1e-4, abs=1e-6)
