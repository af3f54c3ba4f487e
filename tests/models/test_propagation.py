"""Relevance by operation: known answers, the forward decomposition as an oracle, and nothing lost or changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from regard.models.propagation.proof import Flow, propagated, refusal
from regard.models.propagation.rules import Rule, frozen
from regard.testing.architectures import find
from regard.testing.support_table import Subject

CONSERVING: tuple[Rule, ...] = ("cp", "attnlrp")


def flow_of(
    call: Callable[[Tensor], Tensor],
    x: Tensor,
    *,
    module: nn.Module | None = None,
    rule: Rule = "cp",
    direction: Tensor | None = None,
) -> tuple[Tensor, Flow]:
    """(relevance of every entry of x, the flow); the objective of a row is its output, times a direction.

    module: owner of the parameters, where `call` is not the module itself.
    """
    leaf = x.detach().clone().requires_grad_()
    owner = module or (call if isinstance(call, nn.Module) else nn.Identity())

    def objective(outputs: Any) -> Tensor:
        out = outputs["out"].flatten(1)
        return out.sum(1) if direction is None else out @ direction

    flow = propagated(owner, lambda: {"out": call(leaf.clone())}, [leaf], objective, rule=rule, rows=len(x))
    assert flow is not None
    assert flow.gradients[0] is not None
    return (leaf * flow.gradients[0]).detach(), flow


def seeded(seed: int = 0) -> None:
    torch.manual_seed(seed)


# -- known answers


def test_linear_layer_keeps_its_bias() -> None:
    seeded()
    layer, x = nn.Linear(4, 1), torch.randn(3, 4)
    relevance, flow = flow_of(layer, x)
    torch.testing.assert_close(relevance, x * layer.weight.detach())
    torch.testing.assert_close(flow.absorbed["bias"], layer.bias.detach().double().expand(3))
    assert not flow.absorbed["position"].any()


@pytest.mark.parametrize("rule", CONSERVING)
def test_factors_of_a_product_get_half_each(rule: Rule) -> None:
    x = torch.tensor([[2.0, 5.0, 1.0]])
    relevance, _ = flow_of(lambda x: x[:, :1] * x[:, 1:2] + 3 * x[:, 2:], x, rule=rule)
    assert relevance.tolist() == [[5.0, 5.0, 3.0]]


def test_layer_norm_passes_the_centred_input() -> None:
    """Scale invariance makes input x gradient of a norm sum to 0; its relevance is the output without the shift."""
    seeded()
    norm, x, direction = nn.LayerNorm(6), torch.randn(2, 6), torch.randn(6)
    relevance, _ = flow_of(norm, x, direction=direction, rule="ln")
    plain = torch.autograd.grad((norm(leaf := x.clone().requires_grad_()) @ direction).sum(), leaf)[0]
    torch.testing.assert_close((x * plain).sum(1), torch.zeros(2), atol=1e-4, rtol=0)
    torch.testing.assert_close(relevance.sum(1), norm(x).detach() @ direction, atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    "norm",
    [
        lambda x: F.layer_norm(x, (6,), torch.arange(6.0), torch.ones(6)),
        lambda x: F.rms_norm(x, (6,), torch.arange(6.0)),
        lambda x: F.group_norm(x, 2, torch.arange(6.0), torch.ones(6)),
        lambda x: F.normalize(x, dim=-1),
        lambda x: x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6),
        lambda x: (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-6),
        lambda x: x / x.pow(2).sum(-1, keepdim=True).pow(0.5),
    ],
)
def test_every_norm_conserves(norm: Callable[[Tensor], Tensor]) -> None:
    seeded()
    _, flow = flow_of(norm, torch.randn(3, 6), direction=torch.randn(6))
    assert float(flow.error.max()) < 1e-6


def test_activations_written_out_get_the_rule_of_the_whole_function() -> None:
    seeded()
    x = torch.randn(4, 5)
    whole, _ = flow_of(lambda x: F.gelu(x, approximate="tanh"), x)

    def by_hand(x: Tensor) -> Tensor:
        return 0.5 * x * (1.0 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * torch.pow(x, 3.0))))

    torch.testing.assert_close(flow_of(by_hand, x)[0], whole, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(flow_of(lambda x: x * torch.sigmoid(x), x)[0], flow_of(F.silu, x)[0])


def test_function_that_is_not_zero_at_zero_has_a_bias() -> None:
    x = torch.tensor([[0.5, -3.0]])
    relevance, flow = flow_of(torch.sigmoid, x)
    torch.testing.assert_close(relevance, torch.sigmoid(x) - 0.5)
    assert flow.absorbed["bias"].tolist() == [1.0]


def test_constants_beside_the_input_take_their_share() -> None:
    seeded()
    x, beside = torch.randn(2, 3), torch.ones(2, 1)

    def mixed(x: Tensor) -> Tensor:
        joined = torch.cat([beside, x + 2.0], 1)
        return torch.where(torch.tensor([True, True, False, True]), joined, 7.0)

    relevance, flow = flow_of(mixed, x)
    torch.testing.assert_close(relevance, x * torch.tensor([1.0, 0.0, 1.0]))
    assert flow.absorbed["position"].tolist() == [1 + 7] * 2
    assert flow.absorbed["bias"].tolist() == [2 * 2] * 2


# -- attention


class Attention(nn.Module):
    """One head with positions, written out or by the fused kernel."""

    def __init__(self, *, fused: bool) -> None:
        super().__init__()
        seeded()
        self.mix, self.fused = nn.Linear(6, 18), fused

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.mix(x).chunk(3, -1)
        if self.fused:
            return F.scaled_dot_product_attention(query, key, value)
        return torch.softmax(query @ key.mT / 6**0.5, -1) @ value


@pytest.mark.parametrize("rule", ["cp", "attnlrp", "ln"])
def test_fused_attention_equals_attention_written_out(rule: Rule) -> None:
    seeded(1)
    x, direction = torch.randn(2, 5, 6), torch.randn(30)
    fused, eager = (flow_of(Attention(fused=fused), x, rule=rule, direction=direction) for fused in (True, False))
    torch.testing.assert_close(fused[0], eager[0], atol=1e-5, rtol=1e-4)
    if rule != "ln":
        for account, amounts in fused[1].absorbed.items():
            torch.testing.assert_close(amounts, eager[1].absorbed[account], atol=1e-4, rtol=1e-4)
        assert bool(fused[1].absorbed["softmax"].any()) == (rule == "attnlrp")


@pytest.mark.parametrize("name", ["Llama", "BERT", "GPT-2"])
@pytest.mark.parametrize("rule", CONSERVING)
def test_sdpa_and_eager_models_agree(name: str, rule: Rule) -> None:
    rows = []
    for implementation in ("sdpa", "eager"):
        subject = Subject.of(find(name), attention=implementation)
        embedding: Any = subject.model
        x = embedding.get_input_embeddings()(subject.inputs["input_ids"]).detach()

        def run(x: Tensor, subject: Subject = subject) -> Tensor:
            others = {key: value for key, value in subject.inputs.items() if key != "input_ids"}
            out: Tensor = subject.model(inputs_embeds=x, **others)[0][:, -1]
            return out

        relevance, flow = flow_of(run, x, rule=rule, module=subject.model)
        assert float(flow.error.max()) < 1e-4
        rows.append(relevance.sum(-1))
        if name == "Llama" and rule == "cp":  # no bias, no added position: all of the output reaches the words
            torch.testing.assert_close(flow.reached, flow.started, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(rows[0], rows[1], atol=1e-4 * float(rows[1].abs().max()), rtol=0)


def test_cp_equals_the_forward_decomposition() -> None:
    """Each token's part of every state, carried forwards through BERT without biases, is its relevance at layer 0."""
    subject = Subject.of(find("BERT"), attention="eager")
    model: Any = subject.model
    ids = subject.inputs["input_ids"][:1]
    seeded()
    direction = torch.randn(32)
    with torch.no_grad():
        start = model.embeddings(ids)
        reported = model(ids, output_attentions=True, output_hidden_states=True)
        parts = torch.eye(ids.shape[1])[:, :, None] * start  # (source, position, feature)
        for layer, weights, states in zip(
            model.encoder.layer, reported.attentions, reported.hidden_states, strict=False
        ):
            parts = decomposed(layer, parts, states[0], weights[0])
        exact = parts.mean(1) @ direction

    def run(x: Tensor) -> Tensor:
        return torch.as_tensor(model.encoder(x)[0].mean(1))

    relevance, _ = flow_of(run, start, direction=direction, module=model)
    torch.testing.assert_close(relevance.sum(-1)[0], exact, atol=1e-5 * float(exact.abs().max()), rtol=1e-4)


def decomposed(layer: Any, parts: Tensor, states: Tensor, weights: Tensor) -> Tensor:
    """(source, position, feature) parts behind a layer of BERT. weights: (head, query, key)."""
    attention = layer.attention.self
    values = (parts @ attention.value.weight.T).unflatten(-1, (len(weights), -1))
    mixed = torch.einsum("hqk,skhd->sqhd", weights, values).flatten(-2)
    whole = layer.attention.self(states[None])[0][0]
    summed = parts + mixed @ layer.attention.output.dense.weight.T
    before = layer.attention.output.dense(whole) + states
    parts, states = normed(layer.attention.output.LayerNorm, summed, before)
    inner = layer.intermediate.dense(states)
    bent = (parts @ layer.intermediate.dense.weight.T) * (F.gelu(inner) / inner)
    after = parts + bent @ layer.output.dense.weight.T
    return normed(layer.output.LayerNorm, after, layer.output.dense(F.gelu(inner)) + states)[0]


def normed(norm: nn.LayerNorm, parts: Tensor, whole: Tensor) -> tuple[Tensor, Tensor]:
    spread = (whole.var(-1, unbiased=False, keepdim=True) + norm.eps).sqrt()
    return (parts - parts.mean(-1, keepdim=True)) / spread * norm.weight, norm(whole)


# -- recurrent layers


class Recurrent(nn.Module):
    """(batch, n, 3) -> the last states of both directions and the mean output."""

    def __init__(self, kind: Any, *, packed: bool = False, **options: Any) -> None:
        super().__init__()
        seeded()
        self.layer, self.packed = kind(3, 4, batch_first=True, num_layers=2, bidirectional=True, **options), packed

    def forward(self, x: Tensor) -> Tensor:
        if not self.packed:
            out, state = self.layer(x)
        else:
            packed = pack_padded_sequence(x, torch.tensor([5, 3]), batch_first=True)
            out, state = self.layer(packed)
            out, _ = pad_packed_sequence(out, batch_first=True)
        last = state[0] if isinstance(state, tuple) else state
        return torch.cat([out.mean(1), *last], -1)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent_layers_conserve_and_keep_their_output(kind: Any, packed: bool) -> None:
    module, x = Recurrent(kind, packed=packed), torch.randn(2, 5, 3)
    direction = torch.randn(24)
    _, flow = flow_of(module, x, direction=direction)
    assert flow.lost < 1e-6
    assert flow.by_row != packed, "packed steps mix the texts, so only the sum over them is known"
    with frozen(module):
        assert torch.equal(flow.value, module(x.requires_grad_()).detach() @ direction)
    assert refusal(flow, "cp", flow.value) is None


def test_packed_texts_have_the_relevance_they_have_alone() -> None:
    seeded(2)
    x = torch.randn(2, 5, 3)
    x[1, 3:] = 0
    packed, alone = Recurrent(nn.LSTM, packed=True), Recurrent(nn.LSTM)
    alone.load_state_dict(packed.state_dict())
    together = flow_of(lambda x: packed(x)[:, 8:], x, module=packed)[0][1, :3]
    torch.testing.assert_close(
        together, flow_of(lambda x: alone(x)[:, 8:], x[1:, :3], module=alone)[0][0], atol=1e-6, rtol=1e-5
    )


def test_recurrent_layer_equals_its_steps_written_out() -> None:
    layer, cell = nn.LSTM(3, 4, batch_first=True), nn.Linear(7, 16)
    with torch.no_grad():
        cell.weight.copy_(torch.cat([layer.weight_ih_l0, layer.weight_hh_l0], 1))
        cell.bias.copy_(layer.bias_ih_l0 + layer.bias_hh_l0)

    def written_out(x: Tensor) -> Tensor:
        hidden = content = torch.zeros(len(x), 4)
        for step in x.unbind(1):
            enter, forget, candidate, leave = cell(torch.cat([step, hidden], 1)).chunk(4, -1)
            content = forget.sigmoid() * content + enter.sigmoid() * candidate.tanh()
            hidden = leave.sigmoid() * content.tanh()
        return hidden

    x = torch.randn(2, 5, 3)
    fused, _ = flow_of(lambda x: layer(x)[0][:, -1], x, module=layer)
    torch.testing.assert_close(fused, flow_of(written_out, x, module=cell)[0], atol=1e-5, rtol=1e-4)


# -- refusals


class _Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        return 2 * ctx.saved_tensors[0] * gradients[0]


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        (lambda x: _Square.apply(x) @ torch.ones(3, 1), "lrp.unseen_function"),
        (lambda x: _Square.apply(x), "lrp.unseen_function"),
        (lambda x: x.clamp(min=0.9), "lrp.lost"),
        (lambda x: x.cumprod(-1), "lrp.lost"),
        (lambda x: 300 * x @ torch.tensor([[1.0], [-1.0], [0.0]]) + 2 * x[:, 2:], "lrp.cancelling"),
    ],
)
def test_unsound_passes_are_refused(module: Callable[[Tensor], Tensor], reason: str) -> None:
    _, flow = flow_of(module, torch.tensor([[0.5, 0.5, 0.25]]))
    message = refusal(flow, "cp")
    assert message is not None
    assert message.key == reason


def test_changed_output_is_refused() -> None:
    _, flow = flow_of(torch.tanh, torch.ones(1, 3))
    assert refusal(flow, "cp", flow.value) is None
    message = refusal(flow, "cp", flow.value + 0.1)
    assert message is not None
    assert message.key == "lrp.other_output"


def test_parameters_are_as_they_were() -> None:
    layer = nn.Linear(2, 2)
    layer.bias.requires_grad_(False)
    with frozen(layer):
        assert not any(p.requires_grad for p in layer.parameters())
    assert layer.weight.requires_grad
    assert not layer.bias.requires_grad


def test_relevances_that_cancel_inside_a_unit_are_no_reason_to_refuse() -> None:
    x = torch.ones(1, 4, requires_grad=True)
    weights = torch.tensor([300.0, -299.0, 300.0, -300.0])

    def flow(owners: torch.Tensor | None) -> Flow:
        call = {"logits": (x * weights).sum(-1, keepdim=True)}.copy
        result = propagated(nn.Identity(), call, [x], lambda out: out["logits"][:, 0], rule="cp", rows=1, owners=owners)
        assert result is not None
        return result

    assert flow(torch.tensor([[0, 0, 1, 1]])).size == pytest.approx(1.0)
    assert flow(torch.tensor([[0, 1, 0, 1]])).size == pytest.approx(1199.0)
    assert flow(None).size == pytest.approx(1199.0)
