"""The objective of an answer and its interventions, against plain transformers passes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from regard.errors import InputError, Unsupported
from regard.models.ask.chat_model import ChatModel
from regard.models.chat.answer_rows import AnswerRows
from regard.models.chat.log_odds import log_probabilities, span_log_odds, token_log_odds
from regard.testing.architectures import find

DECODERS = (
    "GPT-2", "GPT-NeoX", "GPT-J", "OPT", "Llama", "Qwen2", "Qwen3", "Phi3", "Mistral", "Gemma2", "Gemma3", "gpt-oss",
    "Falcon", "OLMo2",
)  # fmt: skip
PROMPT = np.random.default_rng(0).integers(3, 99, 40).tolist()
ANSWER = np.random.default_rng(1).integers(3, 99, 6).tolist()


@cache
def module_of(name: str) -> nn.Module:
    return find(name).build()


def chat_of(name: str, limit: int | None = None) -> ChatModel:
    return ChatModel(name, module_of(name), None, torch.device("cpu"), limit)


def teacher_forced(name: str, prompt: Sequence[int], **extra: Any) -> np.ndarray[Any, Any]:
    """Log-probabilities of the answer's tokens by one plain pass of the whole sequence."""
    with torch.inference_mode():
        logits = module_of(name)(input_ids=torch.tensor([[*prompt, *ANSWER]]), **extra).logits[0].double()
    rows = torch.log_softmax(logits[len(prompt) - 1 : -1], -1)
    return rows[torch.arange(len(ANSWER)), torch.tensor(ANSWER)].numpy()


@pytest.mark.parametrize("name", DECODERS)
def test_values_equal_teacher_forced_log_probabilities(name: str) -> None:
    rows = AnswerRows(chat_of(name), PROMPT, ANSWER)
    assert np.abs(log_probabilities(rows.base) - teacher_forced(name, PROMPT)).max() < 1e-5


@pytest.mark.parametrize("name", DECODERS)
def test_deletion_with_a_shared_prefix_equals_a_plain_pass(name: str) -> None:
    rows = AnswerRows(chat_of(name), PROMPT, ANSWER)
    shorter = PROMPT[:20] + PROMPT[26:]
    assert np.abs(log_probabilities(rows.deleted(shorter)) - teacher_forced(name, shorter)).max() < 1e-4
    assert rows.passes < 2 * (len(PROMPT) + len(ANSWER)) / len(PROMPT) - 0.4  # the prefix was not read again


@pytest.mark.parametrize("name", ["GPT-2", "Llama", "Qwen2", "OPT", "Mistral", "Gemma2", "Gemma3"])
def test_row_knock_out_equals_one_masked_pass(name: str) -> None:
    """Oracle: the whole sequence once, with a mask that hides columns from the rows of the answer only."""
    hidden = np.zeros((2, len(PROMPT)), bool)
    hidden[0, 5:12] = hidden[1, 20:39] = True
    effects = AnswerRows(chat_of(name), PROMPT, ANSWER).knocked_out(hidden)
    n, lowest = len(PROMPT) + len(ANSWER), torch.finfo(torch.float32).min
    distance = torch.arange(n)[:, None] - torch.arange(n)
    for columns, log_odds in zip(hidden, effects, strict=True):
        mask = torch.zeros(n, n).masked_fill(distance < 0, lowest)
        mask[len(PROMPT) - 1 :, : len(PROMPT)][:, torch.from_numpy(columns)] = lowest
        near = mask.masked_fill(distance >= 4, lowest)[None, None]  # every window of these tiny models is 4
        masks = {"full_attention": mask[None, None], "sliding_attention": near}
        chosen: Any = masks if name.startswith("Gemma") else near if name == "Mistral" else mask[None, None]
        expected = teacher_forced(name, PROMPT, attention_mask=chosen, position_ids=torch.arange(n)[None])
        assert np.abs(log_probabilities(log_odds) - expected).max() < 1e-5


def test_a_window_hides_far_columns_already() -> None:
    """All layers of this Mistral look back 4 positions: hiding what none of the rows can see changes nothing."""
    rows = AnswerRows(chat_of("Mistral"), PROMPT, ANSWER)
    hidden = np.zeros((2, len(PROMPT)), bool)
    hidden[0, :30] = hidden[1, 37:39] = True
    effects = np.abs(rows.knocked_out(hidden) - rows.base).max(1)
    assert effects[0] < 1e-4 < 1e-2 < effects[1]


@pytest.mark.parametrize("name", ["Gemma2", "Gemma3", "gpt-oss"])
def test_hiding_nothing_repeats_the_plain_pass_with_mixed_windows(name: str) -> None:
    rows = AnswerRows(chat_of(name), PROMPT, ANSWER)
    repeated = rows.knocked_out(np.zeros((3, len(PROMPT)), bool))
    assert np.abs(repeated - rows.base).max() < 1e-4


def test_many_variants_in_several_calls_equal_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = np.random.default_rng(2).random((7, len(PROMPT))) < 0.3
    whole = AnswerRows(chat_of("Llama"), PROMPT, ANSWER).knocked_out(hidden)
    monkeypatch.setattr("regard.models.chat.answer_rows.CELLS", 2000)
    cut = AnswerRows(chat_of("Llama"), PROMPT, ANSWER)
    before = cut.passes
    assert np.abs(cut.knocked_out(hidden) - whole).max() < 1e-5
    rows = (len(hidden) + 1) * len(ANSWER)
    assert (cut.passes - before) * len(PROMPT) == pytest.approx(rows), (
        "the plain rows are proved once, in the first call"
    )


@pytest.mark.parametrize("name", ["BLOOM", "GPT-Neo", "Mamba", "Jamba"])
def test_models_whose_rows_cannot_be_recomputed_are_refused(name: str) -> None:
    with pytest.raises(Unsupported):
        AnswerRows(chat_of(name), PROMPT, ANSWER).knocked_out(np.zeros((1, len(PROMPT)), bool))


def test_prompt_longer_than_the_model_is_refused() -> None:
    with pytest.raises(InputError, match="at most 44"):
        AnswerRows(chat_of("Llama", limit=44), PROMPT, ANSWER)


def test_nan_is_refused() -> None:
    with pytest.raises(InputError, match="NaN"):
        token_log_odds(torch.full((1, 5), torch.nan), torch.tensor([1]), subject="broken")


def test_log_odds_keep_digits_of_near_certain_tokens() -> None:
    logits = torch.zeros(1, 5)
    logits[0, 2] = 60.0
    (value,) = token_log_odds(logits, torch.tensor([2]), subject="")
    assert value == pytest.approx(60 - np.log(4), abs=1e-9)
    assert span_log_odds(np.array([value])) == pytest.approx(value, abs=1e-9)


def test_span_of_long_answers_is_its_log_probability() -> None:
    tokens = np.full(2000, -1.0)
    assert span_log_odds(tokens) == pytest.approx(log_probabilities(tokens).sum())
