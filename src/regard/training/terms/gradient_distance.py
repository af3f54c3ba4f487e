"""`gradient_distance`: attend to the words with large gradients."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from regard.measures.divergence import jsd
from regard.registry import method
from regard.training.batches import Batch
from regard.training.loss import Outcome
from regard.training.terms.cross_entropy import cross_entropy
from regard.training.worst_case import SMALLEST, replay


@method(
    "term",
    needs=["weights"],
    learning=True,
    cite="after Ross et al. 2017 and Jain & Wallace 2019",
    formula="mean of JSD(attention, |gradient of the loss by word|, or the positive part of -gradient x vector, as "
    "shares)",
)
def gradient_distance(outcome: Outcome, batch: Batch, *, of: Literal["size", "effect"] = "size") -> Tensor:
    """Jensen-Shannon divergence between attention and the gradient's share of each word, in 0..log 2.

    of=size: the norm of the gradient. of=effect: how much the loss would rise without the word, to first order (0 for
    words that speak against the label). The gradient is held fixed: attention moves towards it, it does not move
    towards attention, and no second derivative is needed. A text without any gradient does not count.
    """
    again, weights = replay(outcome, "gradient_distance"), outcome.weights
    assert weights is not None
    vectors = again.vectors
    leaf = torch.zeros_like(vectors).requires_grad_()
    with torch.enable_grad():
        (gradient,) = torch.autograd.grad(cross_entropy(again(inputs=leaf), batch), leaf)
    steep: Tensor = gradient.norm(dim=-1) if of == "size" else (-(gradient * vectors).sum(-1)).clamp_min(0.0)
    size = steep.sum(-1, keepdim=True)
    apart: Tensor = jsd(weights, steep / size.clamp_min(SMALLEST))
    counted: Tensor = (size.squeeze(-1) > SMALLEST).to(apart)
    return (apart * counted).sum() / counted.sum().clamp_min(1.0)
