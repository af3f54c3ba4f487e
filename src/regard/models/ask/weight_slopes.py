"""The gradient of the objective with respect to the attention weights of one example."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from regard.models.objective import Said
from regard.models.passes import Runs
from regard.models.read.encoded import Item
from regard.models.tasks import Outputs, best_class, decides_by_outputs
from regard.protocols import Target, WeightGradientKind, WeightSlopes
from regard.tap.attention_gradients import WeightGradient, attention_gradients
from regard.tap.site_attention import as_array


class RunsBackward(Runs, Protocol):
    def backward_allowed(self) -> Any: ...


def weight_slopes(model: RunsBackward, item: Item, target: Target, kind: WeightGradientKind) -> list[WeightSlopes]:
    """One record per site; sites that cut the example into pieces (windows as batch rows) are left out."""
    return [WeightSlopes(g.site, w[0], d[0]) for g, w, d in _found(model, [item], [target], kind) if len(w) == 1]


def weight_slopes_each(
    model: RunsBackward, items: Sequence[Item], targets: Sequence[Target], kind: WeightGradientKind
) -> list[list[WeightSlopes]]:
    """The same for examples of one length in one pass: each row of the batch has its own gradient."""
    if len(items) > 1:
        found = _found(model, items, targets, kind)
        if all(len(w) == len(items) for _, w, _ in found):
            return [[WeightSlopes(g.site, w[b], d[b]) for g, w, d in found] for b in range(len(items))]
    return [weight_slopes(model, item, target, kind) for item, target in zip(items, targets, strict=True)]


def decided_slopes(
    model: RunsBackward, items: Sequence[Item], kind: WeightGradientKind
) -> tuple[Said, list[Target], list[list[WeightSlopes]]] | None:
    """What a classifier decides, and the slopes of that, in one pass; None where deciding takes more than its outputs,
    or the rows of the pass are not these examples."""
    if not decides_by_outputs(model.row):
        return None
    tensors, asked = model.tensors(items, None)
    heard: list[tuple[Said, list[Target]]] = []

    def objective(outputs: Outputs) -> Tensor:
        targets = best_class(outputs, asked)
        said = model.row.read(outputs, asked, targets)
        heard.append((said, targets))
        return said.value.sum()

    with model.backward_allowed():
        _, made = attention_gradients(model.module, lambda: model.run(tensors, asked), objective, kind=kind)
    found = [(g, as_array(g.weights), as_array(g.gradient)) for g in made]
    if any(len(w) != len(items) for _, w, _ in found):
        return None
    return (*heard[0], [[WeightSlopes(g.site, w[b], d[b]) for g, w, d in found] for b in range(len(items))])


Arrays = tuple[WeightGradient, NDArray[np.float32], NDArray[np.float32]]


def _found(
    model: RunsBackward, items: Sequence[Item], targets: Sequence[Target], kind: WeightGradientKind
) -> list[Arrays]:
    tensors, asked = model.tensors(items, targets)

    def objective(outputs: Outputs) -> Tensor:
        return model.row.read(outputs, asked, targets).value.sum()

    with model.backward_allowed():
        _, found = attention_gradients(model.module, lambda: model.run(tensors, asked), objective, kind=kind)
    return [(g, as_array(g.weights), as_array(g.gradient)) for g in found]
