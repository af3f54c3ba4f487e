"""The gradient of the objective with respect to the attention weights of one example."""

from __future__ import annotations

from typing import Any, Protocol

from torch import Tensor

from regard.models.attention_gradients import attention_gradients
from regard.models.encoded import Item
from regard.models.site_attention import as_array
from regard.models.tapped import Runs
from regard.models.tasks import Outputs
from regard.protocols import Target, WeightGradientKind, WeightSlopes


class RunsBackward(Runs, Protocol):
    def backward_allowed(self) -> Any: ...


def weight_slopes(model: RunsBackward, item: Item, target: Target, kind: WeightGradientKind) -> list[WeightSlopes]:
    """One record per site; sites that cut the example into pieces (windows as batch rows) are left out."""
    tensors, asked = model.tensors([item], [target])

    def objective(outputs: Outputs) -> Tensor:
        return model.row.read(outputs, asked, [target]).value.sum()

    with model.backward_allowed():
        _, found = attention_gradients(model.module, lambda: model.run(tensors, asked), objective, kind=kind)
    return [
        WeightSlopes(g.site, as_array(g.weights)[0], as_array(g.gradient)[0]) for g in found if g.weights.shape[0] == 1
    ]
