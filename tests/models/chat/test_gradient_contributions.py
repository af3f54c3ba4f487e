"""Gradient contributions against a brute-force eager pass that multiplies weights, values and output gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from regard.models.ask.chat_model import ChatModel
from regard.models.chat.answer_rows import AnswerRows
from regard.models.chat.gradient_contributions import column_contributions, gradient_contributions
from regard.models.chat.log_odds import differentiable_log_odds, span_log_odds, token_log_odds
from regard.testing.architectures import find

PROMPT = np.random.default_rng(0).integers(3, 99, 30).tolist()
ANSWER = np.random.default_rng(1).integers(3, 99, 5).tolist()
SPANS = np.array([0, 0, 1, 1, 1])
SOURCES = np.repeat([-1, 0, 1, 2, -1], 6)


def brute_force(module: Any, form: str) -> np.ndarray[Any, Any]:
    """Sum a <v, dF/do> over layers, heads and rows of one eager pass over prompt and answer."""
    module.set_attn_implementation("eager")
    values: list[torch.Tensor] = []
    outputs: list[torch.Tensor] = []

    def keep_output(_: Any, inputs: tuple[torch.Tensor]) -> None:
        inputs[0].retain_grad()
        outputs.append(inputs[0])

    hooks = [
        handle
        for layer in module.model.layers
        for handle in (
            layer.self_attn.v_proj.register_forward_hook(lambda _, __, out: values.append(out)),
            layer.self_attn.o_proj.register_forward_pre_hook(keep_output),
        )
    ]
    out = module(input_ids=torch.tensor([[*PROMPT, *ANSWER]]), output_attentions=True)
    for hook in hooks:
        hook.remove()
    first, past = len(PROMPT) - 1, len(PROMPT) - 1
    targets = torch.log_softmax(out.logits[0, first:-1].double(), -1)[range(len(ANSWER)), ANSWER]
    totals = []
    for span in range(2):
        log_p = targets[torch.from_numpy(span == SPANS)].sum()
        for output in outputs:
            output.grad = None
        (log_p - torch.log(-torch.expm1(log_p))).backward(retain_graph=True)
        total = np.zeros(past)
        for weights, value, output in zip(out.attentions, values, outputs, strict=True):
            heads, size = weights.shape[1], output.shape[-1] // weights.shape[1]
            v = value[0].reshape(value.shape[1], -1, size).repeat_interleave(heads * size // value.shape[-1], 1)
            assert output.grad is not None
            o, g = (part[0].reshape(-1, heads, size) for part in (output, output.grad))
            for head in range(heads):
                for i in range(first, len(PROMPT) + len(ANSWER) - 1):
                    moved = v[:past, head] - (o[i, head] if form == "renormalised" else 0.0)
                    total += (weights[0, head, i, :past] * (moved @ g[i, head])).detach().double().numpy()
        totals.append(total)
    return np.stack(totals)


@pytest.mark.parametrize("form", ["plain", "renormalised"])
@pytest.mark.parametrize("name", ["Llama", "Qwen2", "Mistral"])
def test_contributions_equal_brute_force(name: str, form: Any) -> None:
    module = find(name).build()
    rows = AnswerRows(ChatModel(name, module, None, torch.device("cpu"), None), PROMPT, ANSWER)
    contributions = column_contributions(rows, SPANS, form=form)[:, : len(PROMPT) - 1]
    expected = brute_force(module, form)
    assert np.abs(expected).max() > 1e-5
    assert np.abs(contributions - expected).max() < 1e-4 * np.abs(expected).max()
    sources = gradient_contributions(rows, SPANS, SOURCES, form=form)
    assert sources.shape == (2, 3)
    assert np.allclose(sources[:, 1], expected[:, 12:18].sum(1), atol=1e-4 * np.abs(expected).max())


def test_renormalised_contributions_are_the_slope_of_a_soft_knock_out() -> None:
    """Lower every score of a source by a little: the log-odds fall in proportion to its contribution."""
    module = find("GPT-2").build().double()
    rows = AnswerRows(ChatModel("GPT-2", module, None, torch.device("cpu"), None), PROMPT, ANSWER)
    owners = np.zeros(len(ANSWER), np.int64)
    (contributions,) = gradient_contributions(rows, owners, SOURCES)
    n, step = len(PROMPT) + len(ANSWER), 1e-4
    values = []
    for sign in (1.0, -1.0):
        mask = torch.zeros(n, n, dtype=torch.float64).masked_fill(torch.ones(n, n).triu(1) > 0, -1e30)
        mask[len(PROMPT) - 1 :, : len(PROMPT)][:, torch.from_numpy(SOURCES == 1)] = -sign * step
        with torch.no_grad():
            out = module(input_ids=torch.tensor([[*PROMPT, *ANSWER]]), attention_mask=mask[None, None])
        odds = token_log_odds(out.logits[0, len(PROMPT) - 1 : -1], torch.tensor(ANSWER), subject="GPT-2")
        values.append(float(span_log_odds(odds)))
    assert contributions[1] == pytest.approx((values[1] - values[0]) / (2 * step), rel=1e-3)


def test_differentiable_log_odds_equal_the_numbers() -> None:
    logits = torch.randn(5, 50, generator=torch.Generator().manual_seed(0)) * 5
    ids = torch.tensor([1, 2, 3, 4, 5])
    numbers = token_log_odds(logits, ids, subject="x")
    spans, _ = differentiable_log_odds(logits, ids, torch.from_numpy(SPANS), 2)
    assert np.allclose(spans.numpy(), [span_log_odds(numbers[:2]), span_log_odds(numbers[2:])], rtol=1e-12)
