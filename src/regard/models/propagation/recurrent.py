"""LSTM, GRU and plain recurrent layers, step by step: a fused kernel hides its operations from a mode.

The steps are written out in torch functions, which the rules see one by one: gates and contents are factors of
products. The value of the layer stays that of the fused kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.models.propagation.backward import same_value

_LAYER = ("input", "hx", "params", "has_biases", "num_layers", "dropout", "train", "bidirectional", "batch_first")
_PACKED = ("data", "batch_sizes", "hx", "params", "has_biases", "num_layers", "dropout", "train", "bidirectional")
State = tuple[Tensor, ...]
Weights = Sequence[Tensor]
"""Weights of one layer in one direction: input and hidden weights, then their biases if it has any."""


def recurrent(
    name: str,
    function: Callable[..., tuple[Tensor, ...]],
    args: tuple[Any, ...],
    keywords: Mapping[str, Any],
    rules: Any,
) -> tuple[Tensor, ...]:
    """Run a recurrent layer with the rules; the call is that of `torch.lstm`, `torch.gru`, ..., padded or packed."""
    out = function(*args, **keywords)
    packed = len(args) > 1 and isinstance(args[1], Tensor) and args[1].dtype == torch.int64 and args[1].dim() == 1
    call = {**dict(zip(_PACKED if packed else _LAYER, args, strict=False)), **keywords}
    if call["train"] and call["dropout"]:
        return out
    with rules:
        recomputed = _layers(name, call, packed=packed)
    return tuple(
        same_value(again, value) if again.requires_grad else value for again, value in zip(recomputed, out, strict=True)
    )


def _layers(name: str, call: Mapping[str, Any], *, packed: bool) -> tuple[Tensor, ...]:
    axis = 1 if call.get("batch_first") else 0
    steps = list(torch.split(call["data"], call["batch_sizes"].tolist()) if packed else call["input"].unbind(axis))
    states = call["hx"] if isinstance(call["hx"], (tuple, list)) else (call["hx"],)
    directions, size = 2 if call["bidirectional"] else 1, 4 if call["has_biases"] else 2
    ends: list[State] = []
    for layer in range(call["num_layers"]):
        ways = []
        for way in range(directions):
            k = layer * directions + way
            weights, first = call["params"][k * size : (k + 1) * size], tuple(state[k] for state in states)
            outputs, end = _sequence(name, steps[::-1] if way else steps, first, weights)
            ways.append(outputs[::-1] if way else outputs)
            ends.append(end)
        steps = [torch.cat(pair, -1) for pair in zip(*ways, strict=True)] if directions == 2 else ways[0]
    whole = torch.cat(steps) if packed else torch.stack(steps, axis)
    return whole, *(torch.stack(parts) for parts in zip(*ends, strict=True))


def _sequence(name: str, steps: Sequence[Tensor], first: State, weights: Weights) -> tuple[list[Tensor], State]:
    """Return (output of each step, last state); packed steps have one row per text of at least that length."""
    state, outputs = tuple(part[: len(steps[0])] for part in first), []
    ended: list[State] = []
    inner_bias, outer_bias = weights[2:] if len(weights) > 2 else (None, None)
    for x in _inputs(steps, weights[0], inner_bias):
        if len(x) < len(state[0]):  # the shortest texts end
            ended.append(tuple(part[len(x) :] for part in state))
            state = tuple(part[: len(x)] for part in state)
        elif len(x) > len(state[0]):  # read backwards, longer texts begin before shorter ones
            state = tuple(
                torch.cat([part, begin[len(part) : len(x)]]) for part, begin in zip(state, first, strict=True)
            )
        state = _CELLS[name](x, F.linear(state[0], weights[1], outer_bias), state)
        outputs.append(state[0])
    for tail in reversed(ended):
        state = tuple(torch.cat(pair) for pair in zip(state, tail, strict=True))
    return outputs, state


def _inputs(steps: Sequence[Tensor], weight: Tensor, bias: Tensor | None) -> Sequence[Tensor]:
    """The input part of every step's sums, computed at once."""
    sizes = [len(step) for step in steps]
    if len(set(sizes)) == 1:
        return F.linear(torch.stack(tuple(steps), 1), weight, bias).unbind(1)
    return torch.split(F.linear(torch.cat(tuple(steps)), weight, bias), sizes)


def _lstm(inner: Tensor, outer: Tensor, state: State) -> State:
    total = inner + outer
    enter, forget, _, leave = torch.chunk(torch.sigmoid(total), 4, -1)
    candidate = torch.tanh(torch.chunk(total, 4, -1)[2])
    content = forget * state[1] + enter * candidate
    return leave * torch.tanh(content), content


def _gru(inner: Tensor, outer: Tensor, state: State) -> State:
    (reset_in, update_in, inner), (reset_out, update_out, outer) = (torch.chunk(part, 3, -1) for part in (inner, outer))
    update = torch.sigmoid(update_in + update_out)
    candidate = torch.tanh(inner + torch.sigmoid(reset_in + reset_out) * outer)
    return ((1 - update) * candidate + update * state[0],)


def _tanh(inner: Tensor, outer: Tensor, state: State) -> State:
    return (torch.tanh(inner + outer),)


def _relu(inner: Tensor, outer: Tensor, state: State) -> State:
    return (torch.relu(inner + outer),)


_CELLS: Mapping[str, Callable[[Tensor, Tensor, State], State]] = {
    "lstm": _lstm,
    "gru": _gru,
    "rnn_tanh": _tanh,
    "rnn_relu": _relu,
}
