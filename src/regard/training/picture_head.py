"""A linear head on the frozen features of an image classifier: multinomial logistic regression."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from regard.datasets.examples import Examples
from regard.models.adapter import TorchModel
from regard.models.open.checkpoints import quiet
from regard.models.open.load import load

BATCH = 32
PENALTY = 1e-3
"""Weight of the squared norm of the head, on standardised features."""
STEPS = 200


def fit_picture_head(directory: Path, train: Examples, test: Examples, *, seed: int) -> float:
    """Fit `classifier` of the model in a directory, save it there, and return the accuracy on `test`.

    The problem is convex, so the seed only selects the pictures.
    """
    live = cast("TorchModel", load(str(directory)))  # a Hugging Face directory opens as nothing else
    module: Any = live.module
    features, labels = _features(live, train), _labels(train)
    centre, spread = features.mean(0), features.std(0).clamp(min=1e-6)
    head = logistic_regression((features - centre) / spread, labels, classes=len(train.labels))
    with torch.no_grad():
        module.classifier.weight.copy_(head.weight / spread)
        module.classifier.bias.copy_(head.bias - (head.weight / spread) @ centre)
    with quiet():
        module.save_pretrained(directory)
        right = module.classifier(_features(live, test)).argmax(-1) == _labels(test)
    return float(right.double().mean())


def logistic_regression(features: Tensor, labels: Tensor, *, classes: int) -> nn.Linear:
    """The minimum of cross-entropy + PENALTY |weights|^2, by L-BFGS from zero."""
    head = nn.Linear(features.shape[1], classes)
    nn.init.zeros_(head.weight)
    nn.init.zeros_(head.bias)
    solver = torch.optim.LBFGS(head.parameters(), max_iter=STEPS, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        solver.zero_grad()
        value = nn.functional.cross_entropy(head(features), labels) + PENALTY * head.weight.square().sum()
        value.backward()  # type: ignore[no-untyped-call]
        return value

    solver.step(loss)  # type: ignore[no-untyped-call]
    return head.eval()


def _features(model: TorchModel, data: Examples) -> Tensor:
    """(examples, features) that reach the head, in batches.

    Each batch is one call of the module: a prediction may call it again to find out which positions it reads.
    """
    module: Any = model.module
    parts: list[Tensor] = []

    def remember(layer: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        parts.append(inputs[0].detach())

    handle = module.classifier.register_forward_hook(remember)
    try:
        for start in range(0, len(data), BATCH):
            items = [model.encode(example) for example in data.items[start : start + BATCH]]
            with torch.inference_mode():
                model.run(*model.tensors(items, None))
    finally:
        handle.remove()
    return torch.cat(parts).float().clone()


def _labels(data: Examples) -> Tensor:
    codes: Sequence[Any] = [example.label for example in data]
    return torch.from_numpy(np.array(codes, np.int64))
