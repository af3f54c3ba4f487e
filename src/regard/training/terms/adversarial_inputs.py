"""`adversarial_inputs`: predict the label also from slightly worse word vectors."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from regard.registry import method
from regard.training.batches import Batch
from regard.training.loss import Outcome
from regard.training.terms.cross_entropy import cross_entropy
from regard.training.worst_case import ascent, norms, random_change, replay


@method(
    "term",
    needs=[],
    learning=True,
    cite="Miyato et al. 2017 (fgm); Madry et al. 2018 (pgd); Zhu et al. 2020 (freelb)",
    formula="mean of -log p(label | x + r), r the worst change with |r| <= epsilon |x|",
)
def adversarial_inputs(
    outcome: Outcome,
    batch: Batch,
    *,
    how: Literal["fgm", "pgd", "freelb", "random"] = "fgm",
    epsilon: float = 0.1,
    steps: int = 3,
) -> Tensor:
    """Cross-entropy where the inputs were moved against the label: word vectors of a text, else the inputs themselves.

    epsilon: how far, as a share of the norm of the example's inputs, so that large vectors are no way out. fgm: one
    step; pgd: `steps` from zero, the last one counts; freelb: `steps` from a random start, the mean over all counts;
    random: a random change of the same size, the control. The clean loss is a term of its own: keep `cross_entropy=1`.
    Deviation from Miyato et al.: relative sizes instead of normalised word vectors.
    """
    again = replay(outcome, "adversarial_inputs")
    vectors = again.vectors
    radius = epsilon * norms(vectors)

    def loss(change: Tensor) -> Tensor:
        return cross_entropy(again(inputs=change), batch)

    if how == "random":
        return loss(random_change(vectors, radius, outcome.real))
    if how == "freelb":
        start = random_change(vectors, radius, outcome.real) * torch.rand(())
        changes = [start, *ascent(loss, vectors, radius, steps=steps, start=start)[:-1]]
        return torch.stack([loss(change) for change in changes]).mean()
    return loss(ascent(loss, vectors, radius, steps=1 if how == "fgm" else steps)[-1])
