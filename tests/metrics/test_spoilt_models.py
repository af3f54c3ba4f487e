"""Noise and randomised weights on a real module: exact, and the user's model is never touched."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from regard.desk.case import DeskCase
from regard.desk.changes import Noisy
from regard.desk.desk import Desk
from regard.desk.questions import Displacement, edited
from regard.errors import InputError, Unsupported
from regard.experiments._map import maps
from regard.metrics.label_randomisation import label_randomisation
from regard.metrics.max_sensitivity import max_sensitivity
from regard.metrics.weight_randomisation import weight_randomisation
from regard.models.adapter import TorchModel
from regard.models.ask.add_noise import add_noise
from regard.models.ask.randomised import blocks, randomised_copy
from regard.models.open.wrap import wrap
from regard.records import Example

TEXTS = ("a quiet moving film", "dull and far too long", "gorgeous to look at yet hollow", "we laughed")


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(64, 8)
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))
        self.out = nn.Linear(8, 2)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        h = self.embed(ids)
        for layer in self.layers:
            scores = (h @ h.transpose(1, 2) / 8**0.5).masked_fill(~mask[:, None], float("-inf"))
            h = h + torch.tanh(layer(torch.softmax(scores, -1) @ h))
        return self.out((h * mask[..., None]).sum(1) / mask.sum(1, keepdim=True))


def encode(text: str) -> list[int]:
    return [3 + sum(map(ord, word)) % 60 for word in text.split()]


@pytest.fixture
def model() -> TorchModel:
    torch.manual_seed(0)
    return wrap(Small(), encode, labels=["no", "yes"], mask="mask", mask_id=1, device="cpu")


def case_of(model: TorchModel) -> DeskCase:
    return DeskCase(Desk(model), [Example(f"t{i}", {"text": text}) for i, text in enumerate(TEXTS)])


def weights(model: TorchModel) -> list[Tensor]:
    return [p.detach().clone() for p in model.module.parameters()]


def test_blocks_go_from_the_bottom_to_the_top(model: TorchModel) -> None:
    assert [part[0] for part in blocks(model.module)] == [
        "embed.weight", "layers.0.weight", "layers.1.weight", "layers.2.weight", "out.weight",
    ]  # fmt: skip


def test_the_cascade_permutes_from_the_top_and_leaves_the_model_alone(model: TorchModel) -> None:
    before, said = weights(model), case_of(model).base().value
    for share, changed in ((0.2, {"out"}), (0.6, {"out", "layers.2", "layers.1"}), (1.0, None)):
        copy = randomised_copy(model, share, 0)
        for (name, old), new in zip(model.module.named_parameters(), copy.module.parameters(), strict=True):
            is_chosen = changed is None or any(name.startswith(c) for c in changed)
            assert (new is old) != is_chosen, "what is not changed is shared, what is changed is a copy"
            assert torch.equal(new.flatten().sort().values, old.flatten().sort().values), "the same values, elsewhere"
        assert not np.allclose(case_of(copy).base().value, said)
    assert all(torch.equal(a, b) for a, b in zip(before, model.module.parameters(), strict=True))
    np.testing.assert_array_equal(case_of(model).base().value, said)


def test_steps_of_a_cascade_share_their_tensors(model: TorchModel) -> None:
    one, all_ = randomised_copy(model, 0.2, 0), randomised_copy(model, 1.0, 0)
    assert one.module.out.weight is all_.module.out.weight
    assert randomised_copy(model, 0.2, 0) is one
    assert not torch.equal(randomised_copy(model, 0.2, 1).module.out.weight, one.module.out.weight)
    assert all_.embedding is all_.module.embed, "noise and gradients of the copy go through its own embedding"
    with pytest.raises(InputError, match="share"):
        randomised_copy(model, 0.0, 0)


@pytest.mark.parametrize("metric", [weight_randomisation, label_randomisation, max_sensitivity])
def test_no_metric_touches_the_model(metric: object, model: TorchModel) -> None:
    before, case = weights(model), case_of(model)
    for method in ("leave_one_out", "input_x_gradient", "attention"):
        got = metric(case, case.relevance(method))  # type: ignore[operator]
        assert np.isfinite(got.values).any()
    assert all(torch.equal(a, b) for a, b in zip(before, model.module.parameters(), strict=True))
    assert not any(m._forward_hooks for m in model.module.modules()), "no hook is left behind"


def test_a_metric_that_fails_leaves_no_hook(model: TorchModel) -> None:
    case = case_of(model).variant(Noisy(0.1, 0))
    handle = model.module.out.register_forward_hook(_fail)
    with pytest.raises(RuntimeError, match="in the middle"):
        case.base()
    handle.remove()
    assert not any(m._forward_hooks for m in model.module.modules())


def _fail(module: nn.Module, args: object, out: object) -> None:
    raise RuntimeError("in the middle")


def test_noise_is_added_to_the_embeddings_and_measured(model: TorchModel) -> None:
    case = case_of(model)
    noisy = case.variant(Noisy(0.1, 3))
    assert noisy.targets == case.targets
    for i, name in enumerate(case.ids):
        item, moved = add_noise(model, model.encode(case.examples[i]), 0.1, np.random.default_rng(i))
        x = model.module.embed(torch.tensor(item.arrays["input_ids"])).detach()
        assert item.shift is not None
        assert moved == pytest.approx(float(np.linalg.norm(item.shift) / x.norm()), rel=1e-5)
        assert noisy.ask([Displacement(noisy.ids[i])])[0] == pytest.approx(0.1, rel=0.35), name
        with torch.no_grad():
            h = (x + torch.from_numpy(item.shift))[None]
            for layer in model.module.layers:
                h = h + torch.tanh(layer(torch.softmax(h @ h.transpose(1, 2) / 8**0.5, -1) @ h))
            z = model.module.out(h.mean(1))[0]
        target = case.targets[i]
        want = float(z[target] - z[1 - target])  # type: ignore[operator]
        assert model.forward([item], [target]).value[0] == pytest.approx(want, abs=1e-5)


def test_gradients_are_taken_at_the_noisy_inputs(model: TorchModel) -> None:
    """Conservation: integrated gradients of the noisy example sum to what the noisy example says."""
    noisy = case_of(model).variant(Noisy(0.2, 0))
    found = noisy.relevance("integrated_gradients:steps=60")
    np.testing.assert_allclose(found.extras["completeness_error"], 0, atol=2e-3)
    plain = case_of(model).relevance("integrated_gradients:steps=60")
    assert not np.allclose(found.values, plain.values, atol=1e-3)


def test_a_removed_unit_takes_its_noise_with_it(model: TorchModel) -> None:
    item, _ = add_noise(model, model.encode(Example("a", {"text": TEXTS[0]})), 0.5, np.random.default_rng(0))
    drop = np.array([True, False, True, True])
    for operator in ("delete", "mask"):
        left = model.reader.remove(item, drop, operator, np.random.default_rng(0))
        kept = left.shift[0] if operator == "delete" else left.shift[1]
        np.testing.assert_array_equal(kept, item.shift[1])
        assert np.count_nonzero(left.shift) == np.count_nonzero(item.shift[1])


def test_batches_do_not_mix_noise(model: TorchModel) -> None:
    together = case_of(model).variant(Noisy(0.3, 0)).base().value
    alone = [case_of(model).subset([i]).variant(Noisy(0.3, 0)).base().value[0] for i in range(len(TEXTS))]
    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_variants_are_paid_by_who_asked(model: TorchModel) -> None:
    desk = Desk(model)
    case = DeskCase(desk, [Example("a", {"text": TEXTS[0]})])
    relevance = case.relevance("leave_one_out")
    before = {(c.kind, c.method): c.forwards for c in desk.costs()}
    with desk.charged_to("metric", "max_sensitivity"):
        max_sensitivity(case, relevance, draws=2)
    after = {(c.kind, c.method): c.forwards for c in desk.costs()}
    assert after["metric", "max_sensitivity"] == 2 * (4 + 1), "two draws of four words and the whole"
    assert {k: v for k, v in after.items() if k in before} == before


def test_a_live_model_cannot_be_retrained_here(model: TorchModel) -> None:
    case = case_of(model)
    with pytest.raises(Unsupported, match="shuffled"):
        label_randomisation(case, case.relevance("leave_one_out"), by="labels")
    assert label_randomisation(case, case.relevance("leave_one_out")).where == {"by": "another class"}


class Nested(nn.Module):
    """Its embedding lies in a part that is finished before the edited layer, like that of BERT."""

    def __init__(self, *, apart: bool) -> None:
        super().__init__()
        self.bottom = nn.Sequential(nn.Embedding(64, 8), nn.LayerNorm(8)) if apart else nn.Embedding(64, 8)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True) for _ in range(2))
        self.out = nn.Linear(8, 2)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        h = self.bottom(ids)
        for layer in self.layers:
            h = layer(h, src_key_padding_mask=~mask)
        found: Tensor = 4 * self.out((h * mask[..., None]).sum(1) / mask.sum(1, keepdim=True))
        return found


@pytest.mark.parametrize("apart", [True, False])
def test_edits_of_noisy_inputs_share_what_is_below_with_its_noise(apart: bool) -> None:
    torch.manual_seed(0)
    module = Nested(apart=apart)
    embedding = "bottom.0" if apart else "bottom"
    model = wrap(module, encode, labels=["no", "yes"], mask="mask", mask_id=1, device="cpu", embedding=embedding)
    case = DeskCase(Desk(model), [Example("t", {"text": TEXTS[2]})])
    noisy = case.variant(Noisy(0.5, 0))
    (own,) = maps(noisy, "last", "mean", "here")
    one_unit = [own.single(t) for t in range(len(own))]
    assert np.isfinite(edited(noisy, [one_unit]).value).all()  # the first time the whole is computed beside it
    drawn = [own.given(np.random.default_rng(k).dirichlet(np.ones(len(own)))) for k in range(5)]
    together = edited(noisy, [drawn]).value
    alone = [edited(DeskCase(Desk(model), case.examples).variant(Noisy(0.5, 0)), [[one]]).value[0] for one in drawn]
    np.testing.assert_allclose(together, alone, atol=1e-5)
    assert np.abs(together - edited(case, [drawn]).value).max() > 1e-3
    assert np.isfinite(max_sensitivity(case, case.relevance("knock_out")).values).all()
