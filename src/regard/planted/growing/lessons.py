"""Loss terms that train planted attention."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.planted.growing.networks import Planted
from regard.training.batches import Batch
from regard.training.loss import Outcome, Term
from regard.training.terms.attention_entropy import attention_entropy
from regard.training.terms.cross_entropy import cross_entropy
from regard.training.terms.hidden_mass import hidden_mass

SMALLEST = 1e-6


def lessons(network: torch.nn.Module, *, pull: bool, hide: bool, entropy: float, silence: bool) -> list[Term]:
    terms = [Term("cross_entropy", cross_entropy)]
    if pull:
        terms.append(Term("taught", _taught))
    if hide:
        terms.append(Term("hidden_mass", hidden_mass, 2.0))
    if entropy:
        terms.append(Term("attention_entropy", attention_entropy, entropy))
    if silence:
        assert isinstance(network, Planted)
        terms.append(Term("silence", Silence(network)))
    return terms


def _taught(outcome: Outcome, batch: Batch) -> Tensor:
    """Return the cross-entropy of attention against its target, mean over texts with a target."""
    assert outcome.weights is not None
    want = batch.beside["taught"]
    has_target = want.any(-1)
    losses = -(want * outcome.weights.clamp_min(SMALLEST).log()).sum(-1)
    return torch.where(has_target, losses, 0.0).sum() / has_target.sum().clamp_min(1)


class Silence:
    """Random attention without the evidence must answer with equal probabilities."""

    def __init__(self, network: Planted) -> None:
        self.network = network

    def __call__(self, outcome: Outcome, batch: Batch) -> Tensor:
        states, real = outcome.states, outcome.real
        assert states is not None
        assert real is not None
        allowed = real & (batch.beside["evidence"] == 0)
        # sharp and blunt ones: an adversary may use any of them
        heat = torch.rand(len(states), 1) * 8
        weights = torch.softmax((heat * torch.rand(real.shape)).masked_fill(~allowed, -1e9), -1)
        context = torch.bmm(weights.unsqueeze(1), states).squeeze(1)
        logits = self.network.answer(context, states, real)
        return -F.log_softmax(logits, -1).mean() - torch.tensor(float(logits.shape[-1])).log()
