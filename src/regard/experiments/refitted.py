"""Refitting of the last layer, a substitute for other training seeds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from regard.errors import Unsupported, phrase
from regard.experiments._finding import finding
from regard.experiments._map import setting
from regard.measures.divergence import tvd
from regard.measures.keyed_random import keyed_rng
from regard.models.ask.last_layer import last_layer
from regard.protocols import Findings, Study
from regard.records import Example, Floats, Ints, Json
from regard.registry import InProfile, experiment

FEWEST = 40
"""Minimum labelled examples to fit."""
STEPS, RATE = 100, 0.1


@experiment(
    question="How far do predictions move when only the last layer is refitted on parts of the examples?",
    needs=("attention",),
    scope="study",
    formula="the last linear layer fitted on all folds but one, with a pull to what it was; total variation between "
    "its answers and the model's. The attention below stays what it is, so its divergence is 0",
    cost="1 forward per example, and a small fit per fold",
    misleads="a lower bound: another seed also changes the layers below, and the attention",
    profile=(InProfile(("standard",), 14),),
)
def refitted(
    study: Study, *, folds: int = 5, pull: float = 1.0, layers: str | int = "last", heads: str | int = "mean"
) -> Findings:
    """Change of the predictions when the last layer is refitted: a lower bound of the variance between seeds.

    For external models without siblings. Returns, per labelled example, all with `bound` "lower" in `where` and the
    column `seeds` (examples, folds): `seed_change`, the mean change of the prediction, and `seed_jsd`, 0, since the
    layers below stay fixed. pull: weight of the squared distance from the original layer.
    """
    model = study.model
    if not last_layer.supports(model) or "classification" not in model.task or "token" in model.task:
        raise Unsupported(
            phrase("errors.experiments.experiment_refitted"),
            expected=phrase("errors.experiments.classifier_made_torch_modules"),
            got=model.task,
        )
    labelled = [(e, c) for e in study.examples if (c := _class(e, model.labels)) >= 0]
    if len(labelled) < FEWEST:
        raise Unsupported(
            phrase("errors.experiments.experiment_refitted"),
            expected=phrase("errors.experiments.labelled_examples", fewest=FEWEST),
            got=str(len(labelled)),
        )
    examples, labels = [e for e, _ in labelled], np.array([c for _, c in labelled])
    layer, inputs, logits = last_layer(model, examples)
    fold = keyed_rng(study.seed, "refitted").permutation(len(examples)) % folds
    base = _answers(logits)
    table = np.stack(
        [tvd(_answers(_fitted(layer, inputs, labels, fold != k, pull)), base) for k in range(folds)], axis=-1
    )
    where: dict[str, Json] = setting(layers, heads, bound="lower", folds=folds)
    ids = tuple(e.id for e in examples)
    return [
        finding("seed_change", ids, table.mean(-1), where, method="last layer refitted", curves={"seeds": table}),
        finding(
            "seed_jsd", ids, np.zeros(len(ids)), where, method="last layer refitted", curves={"seeds": 0.0 * table}
        ),
    ]


def _class(example: Example, names: Sequence[str]) -> int:
    if isinstance(example.label, int) and not isinstance(example.label, bool):
        return example.label if 0 <= example.label < len(names) else -1
    return list(names).index(str(example.label)) if str(example.label) in names else -1


def _fitted(layer: nn.Linear, inputs: Tensor, labels: Ints, used: np.ndarray, pull: float) -> Tensor:
    """Return (example, class) logits of the layer refitted to the used examples, starting from its weights."""
    weight, bias = layer.weight.detach().double(), layer.bias
    start = (weight, torch.zeros(len(weight), dtype=torch.float64) if bias is None else bias.detach().double())
    rows, truth = torch.from_numpy(used), torch.from_numpy(labels)
    with torch.inference_mode(False), torch.enable_grad():
        x, y = inputs.clone()[rows], truth[rows]
        parameters = [s.clone().requires_grad_() for s in start]
        optimiser = torch.optim.Adam(parameters, lr=RATE * float(weight.abs().mean() + 1e-6))
        for _ in range(STEPS):
            optimiser.zero_grad()
            outputs = x @ parameters[0].T + parameters[1]
            loss = _loss(outputs, y) + pull * sum(
                ((m - s) ** 2).sum() for m, s in zip(parameters, start, strict=True)
            ) / len(x)
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
    return inputs @ parameters[0].detach().T + parameters[1].detach()


def _loss(said: Tensor, y: Tensor) -> Tensor:
    if said.shape[-1] == 1:
        return nn.functional.binary_cross_entropy_with_logits(said[:, 0], y.double())
    return nn.functional.cross_entropy(said, y)


def _answers(logits: Tensor) -> Floats:
    if logits.shape[-1] == 1:
        p = torch.sigmoid(logits[:, 0])
        return np.asarray(torch.stack([1 - p, p], -1).numpy(), np.float64)
    return np.asarray(torch.softmax(logits, -1).numpy(), np.float64)
