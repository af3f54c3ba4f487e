"""The gradient of the objective with respect to the attention weights of one example."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from regard.models.adapter import TorchModel, as_answers, own
from regard.models.ask.capability import capability
from regard.models.objective import TensorAnswers
from regard.models.read.encoded import Item
from regard.models.tasks import Outputs, best_class, decides_by_outputs
from regard.protocols import Encoded, Target, WeightGradientKind, WeightSlopes
from regard.records import Answers
from regard.tap.attention_gradients import WeightGradient, attention_gradients
from regard.tap.site_attention import as_array


@capability(needs="gradient")
def weight_slopes(
    model: TorchModel, batch: Sequence[Encoded], targets: Sequence[Target], kind: WeightGradientKind
) -> list[list[WeightSlopes]]:
    """Differentiate with respect to the attention weights of every site, for examples of one length in one pass.

    One record per site; sites that cut an example into pieces (windows as batch rows) are skipped.
    """
    items = [own(encoded) for encoded in batch]
    if len(items) > 1:
        arrays = _arrays(model, items, targets, kind)
        if all(len(w) == len(items) for _, w, _ in arrays):
            return [[WeightSlopes(g.site, w[b], d[b]) for g, w, d in arrays] for b in range(len(items))]
    each = [_arrays(model, [item], [target], kind) for item, target in zip(items, targets, strict=True)]
    return [[WeightSlopes(g.site, w[0], d[0]) for g, w, d in arrays if len(w) == 1] for arrays in each]


@capability(needs="gradient")
def predicted_weight_slopes(
    model: TorchModel, batch: Sequence[Encoded], kind: WeightGradientKind
) -> tuple[Answers, list[Target], list[list[WeightSlopes]]] | None:
    """Predict, and differentiate with respect to the attention weights, in one pass.

    None if a prediction needs more than the outputs of the pass, or if its rows are not these examples.
    """
    if not decides_by_outputs(model.row):
        return None
    items = [own(encoded) for encoded in batch]
    tensors, request = model.tensors(items, None)
    predictions: list[tuple[TensorAnswers, list[Target]]] = []

    def objective(outputs: Outputs) -> Tensor:
        targets = best_class(outputs, request)
        answers = model.row.read(outputs, request, targets)
        predictions.append((answers, targets))
        return answers.value.sum()

    with model.backward_allowed():
        _, gradients = attention_gradients(model.module, lambda: model.run(tensors, request), objective, kind=kind)
    arrays = [(g, as_array(g.weights), as_array(g.gradient)) for g in gradients]
    if any(len(w) != len(items) for _, w, _ in arrays):
        return None
    answers, targets = predictions[0]
    slopes = [[WeightSlopes(g.site, w[b], d[b]) for g, w, d in arrays] for b in range(len(items))]
    return as_answers(len(items), [([*range(len(items))], answers)]), targets, slopes


Arrays = tuple[WeightGradient, NDArray[np.float32], NDArray[np.float32]]


def _arrays(
    model: TorchModel, items: Sequence[Item], targets: Sequence[Target], kind: WeightGradientKind
) -> list[Arrays]:
    tensors, request = model.tensors(items, targets)

    def objective(outputs: Outputs) -> Tensor:
        return model.row.read(outputs, request, targets).value.sum()

    with model.backward_allowed():
        _, gradients = attention_gradients(model.module, lambda: model.run(tensors, request), objective, kind=kind)
    return [(g, as_array(g.weights), as_array(g.gradient)) for g in gradients]
