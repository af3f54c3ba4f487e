"""Relevance propagated backwards by rules (LRP): one forward and one backward pass, summed per unit.

The first use on a model proves the rules: the same output with and without them, no autograd function that they cannot
see into, no relevance lost. Later passes check again that none is lost.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from regard.errors import Unsupported, phrase
from regard.models.adapter import TorchModel, own
from regard.models.ask.capability import capability
from regard.models.ask.gradients import Row, per_unit, placed_inputs, row_chunks
from regard.models.ask.input_function import ends, free_entries, inserted, never_read
from regard.models.propagation.proof import Flow, Outputs, propagated, refusal
from regard.models.propagation.rules import Rule, frozen
from regard.models.read.encoded import Item
from regard.protocols import Encoded, Point, PropagatedRelevance, Target
from regard.records import Message
from regard.registry import upstairs
from regard.tap.attention_gradients import no_graph


@capability(needs="gradient")
def propagated_relevance(
    model: TorchModel, batch: Sequence[Encoded], targets: Sequence[Target], rule: Rule, baseline: str
) -> list[PropagatedRelevance]:
    """Propagate the relevance of the objective to the units of each example; refuse a model that loses some.

    The relevance of a unit is that of its difference from the baseline.
    """
    items = [own(encoded) for encoded in batch]
    here = Point(baseline=baseline)
    answers: dict[int, PropagatedRelevance] = {}
    for chunk in row_chunks(model, items, [(i, here) for i in range(len(items))]):
        for part in _parts(model, items, targets, chunk, rule):
            answers.update(part)
    return [answers[i] for i in range(len(items))]


def _parts(
    model: TorchModel, items: Sequence[Item], targets: Sequence[Target], chunk: Sequence[Row], rule: Rule
) -> list[dict[int, PropagatedRelevance]]:
    """Propagate a chunk; row by row if the accounts of its rows cannot be separated."""
    flow = _flow(model, items, targets, chunk, rule)
    apart = rule == "ln" or (flow.by_row and float(flow.error.max()) <= flow.tolerance)
    if len(chunk) > 1 and not apart:
        return [part for row in chunk for part in _parts(model, items, targets, [row], rule)]
    gradient = flow.gradients[0]
    if gradient is None:
        raise never_read(model)
    answers = {}
    for row, (i, point) in enumerate(chunk):
        end = ends(model, items[i], point.baseline)
        slope = gradient[row, : len(end.x)].to(end.x.dtype)
        units = per_unit(items[i], slope * (end.x - end.baseline))
        value, reached = float(flow.value[row]), float(flow.reached[row])
        special = float((slope * end.x)[~free_entries(items[i], end.x)].sum(dtype=torch.float64))
        absorbed: dict[str, float] = {}
        if rule != "ln":
            absorbed = {name: float(amounts[row]) for name, amounts in flow.absorbed.items()}
            absorbed["baseline"] = reached - special - float(units.sum())
            absorbed["objective"] = value - float(flow.started[row])
        answers[i] = PropagatedRelevance(units, special, absorbed, value)
    return [answers]


def _flow(
    model: TorchModel, items: Sequence[Item], targets: Sequence[Target], chunk: Sequence[Row], rule: Rule
) -> Flow:
    proof: dict[str, Message | None] = model.once(("relevance rules", rule), dict)
    if (reason := proof.get("refusal")) is not None:
        raise _refused(model, rule, reason)
    about = [targets[i] for i, _ in chunk]
    tensors, request = model.tensors([items[i] for i, _ in chunk], about)
    x = placed_inputs(model, items, chunk)[0].detach().requires_grad_()

    def call() -> Outputs:
        # a copy: the model may change its input in place
        with inserted(model, tensors, x.clone()) as inputs:
            return model.run(inputs, request)

    def objective(outputs: Outputs) -> Tensor:
        return model.row.read(outputs, request, about).value

    with model.backward_allowed():
        owners = _owners([items[i] for i, _ in chunk], x)
        flow = propagated(model.module, call, [x], objective, rule=rule, rows=len(chunk), owners=owners)
    if flow is None:
        with frozen(model.module), torch.enable_grad():
            differentiable = objective(call()).requires_grad
        raise _refused(model, rule, Message("lrp.held_constant")) if differentiable else no_graph(model.name)
    if "refusal" not in proof:
        with frozen(model.module), torch.enable_grad():
            plain = objective(call()).detach()
        proof["refusal"] = refusal(flow, rule, plain)
    if (reason := proof["refusal"] or refusal(flow, rule)) is not None:
        raise _refused(model, rule, reason)
    return flow


def _owners(items: Sequence[Item], x: Tensor) -> Tensor | None:
    """(rows, ...): unit of each entry of an array input; None if the input is a vector per position."""
    if any(item.owner.shape != x.shape[1:] for item in items):
        return None
    return torch.stack([torch.from_numpy(np.array(item.owner, np.int64)) for item in items]).to(x.device)


def _refused(model: TorchModel, rule: str, reason: Message) -> Unsupported:
    return Unsupported(
        phrase("errors.models.relevance_propagation", model=model.name),
        expected=phrase("errors.models.model_on_which_rules_proved", rule=rule),
        got=upstairs("render")(reason),
        remedy="integrated_gradients",
    )
