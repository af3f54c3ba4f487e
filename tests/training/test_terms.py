"""Terms of a loss: known answers, bounds, independent formulas, gradients that exist, and what each asks for."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy as scipy_entropy

from regard.errors import InputError, UnknownName
from regard.registry import entry, find, names
from regard.training.batches import Batch
from regard.training.loss import Outcome, in_words, parse_terms, weighted_terms

GENERATOR = torch.Generator().manual_seed(0)
REAL = torch.tensor([[True, True, True, True], [True, True, False, False]])


def distributions(*shape: int) -> torch.Tensor:
    return torch.rand(*shape, generator=GENERATOR).log().softmax(-1)


def masked() -> torch.Tensor:
    weights = distributions(2, 4) * REAL
    return weights / weights.sum(-1, keepdim=True)


LOGITS = torch.randn(2, 3, generator=GENERATOR)
WEIGHTS, OTHER = masked(), masked()
STATES = torch.randn(2, 4, 5, generator=GENERATOR)
OUTCOME = Outcome(LOGITS, WEIGHTS, STATES, REAL)
BATCH = Batch(
    (), torch.tensor([2, 0]), torch.arange(2),
    {
        "predictions": distributions(2, 3), "attention": OTHER, "weight": torch.tensor([1.0, 3.0]),
        "rationale": torch.tensor([[0.0, 1.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0]]),
        "hidden": torch.tensor([[0.0, 1.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0]]),
    },
)  # fmt: skip


def value(text: str, outcome: Outcome = OUTCOME, batch: Batch = BATCH) -> float:
    (term,) = weighted_terms({text: 1.0})
    return term.function(outcome, batch).item()


def test_every_term_can_be_asked_and_has_a_gradient() -> None:
    logits, scores = LOGITS.clone().requires_grad_(), torch.zeros(2, 4, requires_grad=True)
    states = STATES.clone().requires_grad_()
    weights = scores.masked_fill(~REAL, -1e9).softmax(-1)
    outcome = Outcome(logits, weights, states, REAL)
    for name in names("term"):
        if name == "squared_error" or entry("term", name).facts.get("learning"):
            continue  # those that disturb the network are in test_disturbing.py
        found = find("term", name)(outcome, BATCH)
        assert found.shape == ()
        gradients = torch.autograd.grad(found, [logits, scores, states], allow_unused=True, retain_graph=True)
        there = [g for g in gradients if g is not None]
        assert there, name
        assert all(torch.isfinite(g).all() for g in there), name


def test_cross_entropy_is_torchs_own_with_class_weights() -> None:
    weights = torch.tensor([3.0, 1.0, 1.0])
    assert value("cross_entropy") == pytest.approx(F.cross_entropy(LOGITS, BATCH.labels, weight=weights).item())
    plain = BATCH._replace(beside={})
    assert value("cross_entropy", batch=plain) == pytest.approx(F.cross_entropy(LOGITS, BATCH.labels).item())


def test_cross_entropy_of_a_translation_leaves_padding_out() -> None:
    logits = torch.randn(2, 3, 5, generator=GENERATOR)
    labels = torch.tensor([[1, 2, 4], [3, -100, -100]])
    real = labels != -100
    expected = -logits.log_softmax(-1)[real].gather(-1, labels[real][:, None]).mean().item()
    assert value("cross_entropy", Outcome(logits), Batch((), labels, torch.arange(2))) == pytest.approx(expected)


def test_squared_error_in_units_of_the_series() -> None:
    batch = Batch((), torch.tensor([[10.0], [20.0]]), torch.arange(2), {"scale": torch.tensor([[5.0], [5.0]])})
    assert value("squared_error", Outcome(torch.tensor([[15.0], [20.0]])), batch) == pytest.approx(0.5)


def test_distances_against_scipy() -> None:
    mine, other = LOGITS.softmax(-1).numpy(), BATCH.beside["predictions"].numpy()
    assert value("prediction_distance") == pytest.approx(0.5 * np.abs(mine - other).sum(-1).mean(), abs=1e-6)
    assert value("prediction_distance:measure=kl") == pytest.approx(scipy_entropy(other.T, mine.T).mean(), abs=1e-6)
    expected = np.mean([jensenshannon(a, b) ** 2 for a, b in zip(mine, other, strict=True)])
    assert value("prediction_distance:measure=jsd") == pytest.approx(expected, abs=1e-6)
    pairs = [(WEIGHTS[0].numpy(), OTHER[0].numpy()), (WEIGHTS[1, :2].numpy(), OTHER[1, :2].numpy())]
    assert value("attention_distance") == pytest.approx(np.mean([scipy_entropy(a, b) for a, b in pairs]), abs=1e-5)
    expected = np.mean([jensenshannon(a, b) ** 2 for a, b in pairs])
    assert value("attention_distance:measure=jsd") == pytest.approx(expected, abs=1e-6)


def test_a_model_is_no_distance_from_itself() -> None:
    beside = {**BATCH.beside, "predictions": LOGITS.softmax(-1), "attention": WEIGHTS}
    for text in ("prediction_distance", "attention_distance", "attention_distance:measure=jsd"):
        assert value(text, batch=BATCH._replace(beside=beside)) == pytest.approx(0.0, abs=1e-6)


def test_attention_that_the_other_model_never_gave_is_far_but_finite() -> None:
    never = OTHER.clone()
    never[0, 0] = 0.0
    found = value("attention_distance", batch=BATCH._replace(beside={**BATCH.beside, "attention": never}))
    assert math.isfinite(found)
    assert found > value("attention_distance")


def test_conicity_against_the_formula_and_at_its_bounds() -> None:
    def conicity(states: np.ndarray) -> float:
        middle = states.mean(0)
        cosines = states @ middle / (np.linalg.norm(states, axis=1) * np.linalg.norm(middle))
        return float(cosines.mean())

    expected = np.mean([conicity(STATES[0].numpy()), conicity(STATES[1, :2].numpy())])
    assert value("conicity") == pytest.approx(expected, abs=1e-6)
    same = STATES[:, :1].expand(-1, 4, -1)
    assert value("conicity", OUTCOME._replace(states=same)) == pytest.approx(1.0, abs=1e-6)
    noisy = STATES.clone()
    noisy[1, 2:] = 1e3  # padding is not a word
    assert value("conicity", OUTCOME._replace(states=noisy)) == pytest.approx(expected, abs=1e-6)


def test_entropy_of_uniform_attention_is_log_n() -> None:
    uniform = REAL / REAL.sum(-1, keepdim=True)
    expected = (math.log(4) + math.log(2)) / 2
    assert value("attention_entropy", OUTCOME._replace(weights=uniform)) == pytest.approx(expected, abs=1e-6)


def test_rationales_and_hidden_words() -> None:
    mass = (WEIGHTS[0, 1] + WEIGHTS[0, 2]).item()
    # the second example has no rationale, and nothing but hidden words: neither counts
    assert value("rationale_distance") == pytest.approx(-math.log(mass), abs=1e-5)
    assert value("hidden_mass") == pytest.approx(-math.log(1 - mass), abs=1e-5)


def test_every_term_says_what_it_needs() -> None:
    assert set(names("term")) >= {
        "cross_entropy", "prediction_distance", "attention_distance", "conicity", "attention_entropy",
        "rationale_distance", "hidden_mass", "squared_error",
    }  # fmt: skip
    known = {"weights", "states", "predictions", "attention", "rationale", "hidden"}
    for name in names("term"):
        needs = entry("term", name).facts["needs"]
        assert isinstance(needs, list)
        assert set(map(str, needs)) <= known, name
        assert entry("term", name).facts["formula"]


@pytest.mark.parametrize("text", ["conicity", "conicity=", "conicity=much", "=1", "conicity=nan", "conicity=inf"])
def test_a_term_without_a_weight(text: str) -> None:
    with pytest.raises(InputError, match="name=weight"):
        parse_terms([text])


def test_terms_that_are_not_there() -> None:
    with pytest.raises(UnknownName, match="Try: conicity"):
        weighted_terms({"concity": 1.0})
    with pytest.raises(InputError, match="at least one term"):
        weighted_terms({})
    with pytest.raises(InputError, match="each term once"):
        parse_terms(["conicity=1", "conicity=2"])
    assert in_words({"cross_entropy": 1, "conicity": 0.25, "attention_entropy": -1}) == (
        "cross_entropy + 0.25 conicity - attention_entropy"
    )
