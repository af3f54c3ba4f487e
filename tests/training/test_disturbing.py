"""Terms that run the network again: the worst change is worse than a random one, nothing moves at zero, nothing stays
behind; and learning from noisy copies."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import toy_data
import toy_examples as toy
from torch import Tensor, nn

from regard.errors import InputError
from regard.networks.vision import VisionTransformer
from regard.training.augmentation import Augment, Copied, with_copies
from regard.training.batches import Batch
from regard.training.learner import Learner
from regard.training.learners.classifier import classifier
from regard.training.loop import evaluate, fit, seeded
from regard.training.loss import Outcome, forward, weighted_terms
from regard.training.terms.adversarial_attention import adversarial_attention
from regard.training.terms.adversarial_inputs import adversarial_inputs
from regard.training.terms.consistency import consistency
from regard.training.terms.gradient_distance import gradient_distance
from regard.training.train_one import Loss, _Ready
from regard.training.worst_case import ascent, norms, random_change

ROWS = toy_data.rows(64, "train")
BATCH = ROWS.batch(np.arange(24), None)


@pytest.fixture
def network() -> nn.Module:
    return toy_data.network().eval()


@pytest.fixture
def outcome(network: nn.Module) -> Outcome:
    return forward(network, BATCH)


def clean(outcome: Outcome) -> float:
    return F.cross_entropy(outcome.logits, BATCH.labels).item()


def test_nothing_added_changes_nothing_and_no_hook_stays(network: nn.Module, outcome: Outcome) -> None:
    assert outcome.again is not None
    again = outcome.again(inputs=torch.zeros(24, 8, 8), scores=torch.zeros(24, 8))
    torch.testing.assert_close(again.logits, outcome.logits)
    assert not any(module._forward_hooks for module in network.modules())


def test_scores_are_added_before_the_softmax(network: nn.Module, outcome: Outcome) -> None:
    assert outcome.again is not None
    assert outcome.weights is not None
    assert outcome.real is not None
    more = torch.randn(24, 8)
    moved = outcome.again(scores=more).weights
    expected = outcome.weights * more.exp() * outcome.real
    torch.testing.assert_close(moved, expected / expected.sum(-1, keepdim=True))


@pytest.mark.parametrize("how", ["fgm", "pgd", "freelb"])
def test_the_worst_inputs_are_worse_than_random_ones(outcome: Outcome, how: str) -> None:
    torch.manual_seed(0)
    worst = adversarial_inputs(outcome, BATCH, how=how, epsilon=0.2).item()  # type: ignore[arg-type]
    random = np.mean([adversarial_inputs(outcome, BATCH, how="random", epsilon=0.2).item() for _ in range(20)])
    assert worst > random + 1e-3
    assert worst > clean(outcome)
    assert adversarial_inputs(outcome, BATCH, epsilon=0.0).item() == pytest.approx(clean(outcome), abs=1e-5)


def test_worst_attention_is_worse_than_random_and_grows_with_epsilon(outcome: Outcome) -> None:
    torch.manual_seed(0)
    values = [adversarial_attention(outcome, BATCH, epsilon=e).item() for e in (0.0, 0.5, 2.0)]
    assert values[0] == pytest.approx(clean(outcome), abs=1e-5)
    assert values == sorted(values)
    control = [adversarial_attention(outcome, BATCH, direction="random", epsilon=2.0).item() for _ in range(20)]
    assert values[2] > np.mean(control)


def test_the_interpretable_variant_is_the_same_change(outcome: Outcome) -> None:
    """Kitada & Iyatomi's iAT: r_t = sum_k a_tk d_tk with d the normalised differences of scores, a along its gradient.

    With one norm for the whole text that is the plain worst change, as the docstring of the term says."""
    scores = torch.randn(6, dtype=torch.float64)
    gradient = torch.randn(6, dtype=torch.float64)  # of the loss by each score
    apart = scores[None, :] - scores[:, None]
    d = apart / apart.norm(dim=1, keepdim=True)
    g = gradient[:, None] * d  # of the loss by each a_tk, at a = 0
    interpretable = (0.7 * g / g.norm() * d).sum(1)
    torch.testing.assert_close(interpretable, 0.7 * gradient / gradient.norm())


def test_ascent_of_a_linear_loss_is_known() -> None:
    slope = torch.tensor([[3.0, 4.0], [0.0, -2.0]])
    for steps in (1, 3):
        (*_, found) = ascent(lambda r: (slope * r).sum(), slope, torch.tensor([[10.0], [1.0]]), steps=steps)
        torch.testing.assert_close(found, torch.tensor([[6.0, 8.0], [0.0, -1.0]]))


def test_random_changes_have_the_size_asked_for_and_leave_padding() -> None:
    real = torch.tensor([[True, True, False], [True, False, False]])
    found = random_change(torch.zeros(2, 3, 4), 0.5, real)
    torch.testing.assert_close(norms(found).flatten(), torch.tensor([0.5, 0.5]))
    assert not found[~real].any()


def test_consistency_is_zero_without_change_and_worst_is_worse(outcome: Outcome) -> None:
    torch.manual_seed(0)
    assert consistency(outcome, BATCH, epsilon=0.0, attention=1.0).item() == pytest.approx(0.0, abs=1e-6)
    random = np.mean([consistency(outcome, BATCH, epsilon=0.3).item() for _ in range(20)])
    assert 0 < random < consistency(outcome, BATCH, epsilon=0.3, direction="worst").item()
    with_attention = np.mean([consistency(outcome, BATCH, epsilon=0.3, attention=1.0).item() for _ in range(20)])
    assert with_attention > random


def test_gradient_distance_teaches_attention_alone(network: nn.Module, outcome: Outcome) -> None:
    found = gradient_distance(outcome, BATCH)
    assert 0 < found.item() <= math.log(2)
    found.backward()  # type: ignore[no-untyped-call]
    assert network.attention.query.grad is not None  # type: ignore[union-attr]
    assert network.output.weight.grad is None  # type: ignore[union-attr]  # the gradient is held fixed


def test_training_with_it_brings_attention_to_the_gradient() -> None:
    dev = toy_data.rows(40, "dev")
    apart = {}
    for name in ("plain", "taught"):
        net = toy_data.network()
        terms = weighted_terms({"cross_entropy": 1.0, **({"gradient_distance": 2.0} if name == "taught" else {})})
        fit(net, ROWS, dev, terms, toy_data.QUICK)
        judged = dev.batch(np.arange(40), None)
        apart[name] = gradient_distance(forward(net, judged), judged).item()
    assert apart["taught"] < apart["plain"]


def test_a_split_is_judged_without_terms_that_only_teach() -> None:
    net, dev = toy_data.network(), toy_data.rows(40, "dev")
    plain = evaluate(net, dev, weighted_terms({"cross_entropy": 1.0}))
    both = evaluate(net, dev, weighted_terms({"cross_entropy": 1.0, "adversarial_inputs:epsilon=5": 1.0}))
    assert both == plain
    assert evaluate(net, dev, weighted_terms({"adversarial_inputs:epsilon=0.5": 1.0}))[0] > plain[0]


def test_images_are_moved_themselves_and_have_no_scores() -> None:
    net = VisionTransformer(channels=1, height=4, width=4, patch=2, classes=2, size=8, heads=2, layers=1).eval()
    picture = Batch((torch.rand(3, 1, 4, 4),), torch.tensor([0, 1, 0]), torch.arange(3))
    said = forward(net, picture)
    assert adversarial_inputs(said, picture, epsilon=0.5) > F.cross_entropy(said.logits, picture.labels)
    with pytest.raises(InputError, match="a network over words"):
        adversarial_attention(said, picture)
    with pytest.raises(InputError, match="run again"):
        adversarial_attention(Outcome(said.logits), picture)


def made(train: object) -> Learner:
    return classifier(train, size=8, hidden=4, min_count=1)  # type: ignore[arg-type]


def test_copies_are_drawn_anew_and_the_rest_of_a_row_stays() -> None:
    data = toy.examples(toy.text, "train", 12)
    augment = Augment(("drop_words", "keyboard"), (5,), share=0.5, copies=3)
    both = with_copies(data, augment)
    assert len(both) == 48
    assert [e.label for e in both][:12] == [e.label for e in both][12:24]
    assert both[12].inputs["text"] != data[0].inputs["text"]
    assert [str(spec) for spec, _ in augment.kinds()] == ["drop_words", "keyboard", "drop_words"]
    rows = Copied(made(data).rows(both, True), 12, augment)
    assert len(rows.labels) == len(rows.lengths) == 12
    chosen = np.arange(12)
    one, same, other = (rows.batch(chosen, np.random.default_rng(k)) for k in (1, 1, 2))
    assert torch.equal(one.inputs[0], same.inputs[0])
    assert one.inputs[0].shape != other.inputs[0].shape or not torch.equal(one.inputs[0], other.inputs[0])
    assert torch.equal(one.rows, torch.arange(12))
    assert torch.equal(one.labels, torch.from_numpy(rows.labels))
    judged = rows.batch(chosen, None)
    assert torch.equal(judged.inputs[0], made(data).rows(data, False).batch(chosen, None).inputs[0])


def test_only_what_is_learned_from_gets_copies_and_rationales_refuse_them() -> None:
    data = toy.examples(toy.text, "train", 12)
    loss = Loss(augment=Augment(("keyboard",), (3,)))
    ready = _Ready(made(data), loss, weighted_terms({"cross_entropy": 1.0}))
    assert len(ready.rows(data, True).labels) == len(ready.rows(data, False).labels) == 12
    refused = _Ready(made(data), loss, weighted_terms({"rationale_distance": 1.0}))
    with pytest.raises(InputError, match="noisy copies"):
        refused.rows(data, True)
    with pytest.raises(InputError, match="severities 1 to 5"):
        Augment(("keyboard",), (9,))


def test_a_killed_adversarial_training_draws_the_same_numbers() -> None:
    """Random starts come from the step's own seed: two trainings agree bit by bit."""
    found: list[dict[str, Tensor]] = []
    for _ in range(2):
        net = toy_data.network()
        terms = weighted_terms({"cross_entropy": 1.0, "adversarial_inputs:how=freelb,steps=2": 1.0})
        with seeded(7, "elsewhere"):
            fit(net, ROWS, toy_data.rows(20, "dev"), terms, toy_data.QUICK)
        found.append(net.state_dict())
    assert all(torch.equal(found[0][k], found[1][k]) for k in found[0])
