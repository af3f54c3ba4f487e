"""Last linear layer of a classifier, found by running it: the one whose outputs are the logits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from regard.errors import Unsupported, phrase
from regard.models.adapter import TorchModel, own
from regard.models.ask.capability import capability
from regard.protocols import Encoded
from regard.records import Example, Floats

AT_ONCE = 16
EXACT = 1e-3


@capability(needs="model")
def last_layer(model: TorchModel, examples: Sequence[Example]) -> tuple[nn.Linear, Tensor, Tensor]:
    """Return the linear layer that computes the logits, its inputs (example, feature), and the logits."""
    return _last_layer(model, [model.encode(e) for e in examples])


@capability(needs="model")
def last_layer_inputs(model: TorchModel, encoded: Sequence[Encoded]) -> Floats:
    """Return (example, feature) the representation from which the last linear layer computes the logits."""
    return np.asarray(_last_layer(model, encoded)[1].numpy(), np.float64)


def _last_layer(model: TorchModel, encoded: Sequence[Encoded]) -> tuple[nn.Linear, Tensor, Tensor]:
    calls: list[tuple[nn.Linear, Tensor]] = []

    def watch(module: nn.Module, given: tuple[Tensor, ...], out: Tensor) -> None:
        if isinstance(module, nn.Linear) and given[0].ndim == 2:
            calls.append((module, given[0].detach().clone()))

    hooks = [m.register_forward_hook(watch) for m in model.module.modules() if isinstance(m, nn.Linear)]
    inputs, logits, layer = [], [], None
    try:
        for k in range(0, len(encoded), AT_ONCE):
            items = [own(e) for e in encoded[k : k + AT_ONCE]]
            for group in model.pieces(items):
                calls.clear()
                with torch.no_grad():
                    outputs, _ = model.outputs([items[i] for i in group], None)
                group_logits = outputs["logits"]
                fitting = [s for s in calls if s[1].shape[0] == len(group) and _is(s, group_logits)]
                if not fitting or (layer is not None and fitting[-1][0] is not layer):
                    raise Unsupported(
                        phrase("errors.models.last_layer", model=model.name),
                        expected=phrase("errors.models.linear_last_layer"),
                        got=phrase("errors.models.no_linear_layer_that_returns"),
                    )
                layer = fitting[-1][0]
                order = [k + i for i in group]
                inputs += list(zip(order, fitting[-1][1], strict=True))
                logits += list(zip(order, group_logits, strict=True))
    finally:
        for hook in hooks:
            hook.remove()
    assert layer is not None
    rows = [torch.stack([row for _, row in sorted(some, key=lambda pair: pair[0])]) for some in (inputs, logits)]
    return layer, rows[0].double(), rows[1].double()


def _is(seen: tuple[nn.Linear, Tensor], logits: Tensor) -> bool:
    layer, inputs = seen
    return layer.out_features == logits.shape[-1] and torch.allclose(
        nn.functional.linear(inputs, layer.weight, layer.bias), logits, atol=EXACT
    )
