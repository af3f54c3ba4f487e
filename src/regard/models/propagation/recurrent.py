"""LSTM, GRU and plain recurrent layers, step by step: a fused kernel hides its gates from a mode.

The gates (sigmoids) are constants, as attention weights are, so all relevance of a cell goes to its content (Arras et
al. 2017, "the signal takes all"). The value of the layer stays that of the fused kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.models.propagation.backward import Quotient, SameValue
from regard.models.propagation.ledger import Ledger

_LAYER = ("input", "hx", "params", "has_biases", "num_layers", "dropout", "train", "bidirectional", "batch_first")
_PACKED = ("data", "batch_sizes", "hx", "params", "has_biases", "num_layers", "dropout", "train", "bidirectional")
State = tuple[Tensor, ...]


@dataclass(frozen=True, eq=False)
class _Weights:
    """Weights of one layer in one direction."""

    inner: Tensor
    outer: Tensor
    inner_bias: Tensor | None
    outer_bias: Tensor | None


def recurrent(
    name: str,
    function: Callable[..., tuple[Tensor, ...]],
    args: tuple[Any, ...],
    keywords: Mapping[str, Any],
    ledger: Ledger | None,
) -> tuple[Tensor, ...]:
    """Run a recurrent layer with the rules; the call is that of `torch.lstm`, `torch.gru`, ..., padded or packed."""
    out = function(*args, **keywords)
    packed = len(args) > 1 and isinstance(args[1], Tensor) and args[1].dtype == torch.int64 and args[1].dim() == 1
    call = {**dict(zip(_PACKED if packed else _LAYER, args, strict=False)), **keywords}
    if call["train"] and call["dropout"]:
        return out
    data: Tensor = call["data"] if packed else call["input"]
    if packed:
        steps = list(torch.split(data, call["batch_sizes"].tolist()))
    else:
        steps = list(data.unbind(1 if call.get("batch_first") else 0))
    states = call["hx"] if isinstance(call["hx"], (tuple, list)) else (call["hx"],)
    directions = 2 if call["bidirectional"] else 1
    ends: list[State] = []
    for layer in range(call["num_layers"]):
        ways = []
        for way in range(directions):
            k = layer * directions + way
            weights = _weights(call["params"], k, biased=call["has_biases"])
            first = tuple(state[k] for state in states)
            outputs, end = _sequence(name, steps[::-1] if way else steps, first, weights, ledger)
            ways.append(outputs[::-1] if way else outputs)
            ends.append(end)
        steps = [torch.cat(pair, -1) for pair in zip(*ways, strict=True)] if directions == 2 else ways[0]
    rows = torch.cat(steps) if packed else torch.stack(steps, 1 if call.get("batch_first") else 0)
    recomputed = (rows, *(torch.stack(parts) for parts in zip(*ends, strict=True)))
    return tuple(_kept(mine, value) for mine, value in zip(recomputed, out, strict=True))


def _kept(recomputed: Tensor, value: Tensor) -> Tensor:
    if not recomputed.requires_grad:
        return value
    out: Tensor = SameValue.apply(recomputed, value.detach())  # type: ignore[no-untyped-call]
    return out


def _weights(flat: Sequence[Tensor], k: int, *, biased: bool) -> _Weights:
    size = 4 if biased else 2
    own = flat[k * size : (k + 1) * size]
    return _Weights(own[0], own[1], own[2] if biased else None, own[3] if biased else None)


def _sequence(
    name: str, steps: Sequence[Tensor], first: State, weights: _Weights, ledger: Ledger | None
) -> tuple[list[Tensor], State]:
    """(the output of each step, the last state); packed steps have as many rows as texts that are so long."""
    cell = {"lstm": _lstm, "gru": _gru}.get(name, _plain)
    state, outputs = tuple(part[: len(steps[0])] for part in first), []
    ended: list[State] = []
    for x in steps:
        if len(x) < len(state[0]):  # the shortest texts end
            ended.append(tuple(part[len(x) :] for part in state))
            state = tuple(part[: len(x)] for part in state)
        elif len(x) > len(state[0]):  # read backwards, longer texts begin before shorter ones
            state = tuple(
                torch.cat([part, begin[len(part) : len(x)]]) for part, begin in zip(state, first, strict=True)
            )
        state = cell(x, state, weights, ledger, name)
        outputs.append(state[0])
    for tail in reversed(ended):
        state = tuple(torch.cat(pair) for pair in zip(state, tail, strict=True))
    return outputs, state


def _lstm(x: Tensor, state: State, weights: _Weights, ledger: Ledger | None, name: str) -> State:
    hidden, content = state
    size = hidden.shape[-1]
    gates = (
        _affine(x, weights.inner, weights.inner_bias) + _affine(hidden, weights.outer, weights.outer_bias)
    ).detach()
    enter, forget, _, leave = (part.sigmoid() for part in torch.chunk(gates, 4, -1))
    candidate = _content(x, hidden, weights, slice(2 * size, 3 * size), ledger)
    content = _constant_state(forget * content + enter * _bent(candidate, "tanh"), forget, content, ledger)
    return leave * _bent(content, "tanh"), content


def _gru(x: Tensor, state: State, weights: _Weights, ledger: Ledger | None, name: str) -> State:
    (hidden,) = state
    size = hidden.shape[-1]
    inner = torch.chunk(_affine(x, weights.inner, weights.inner_bias).detach(), 3, -1)
    outer = torch.chunk(_affine(hidden, weights.outer, weights.outer_bias).detach(), 3, -1)
    reset, update = (inner[0] + outer[0]).sigmoid(), (inner[1] + outer[1]).sigmoid()
    rows = slice(2 * size, 3 * size)
    candidate = _affine(x, weights.inner[rows], None) + reset * _affine(hidden, weights.outer[rows], None)
    if weights.inner_bias is not None and weights.outer_bias is not None:
        bias = weights.inner_bias[rows] + reset * weights.outer_bias[rows]
        candidate = _biased(candidate, bias, ledger)
    mixed = (1 - update) * _bent(candidate, "tanh") + update * hidden
    return (_constant_state(mixed, update, hidden, ledger),)


def _plain(x: Tensor, state: State, weights: _Weights, ledger: Ledger | None, name: str) -> State:
    (hidden,) = state
    candidate = _content(x, hidden, weights, slice(None), ledger)
    return (_bent(candidate, "relu" if name == "rnn_relu" else "tanh"),)


def _affine(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return torch.nn.functional.linear(x, weight, bias)


def _content(x: Tensor, hidden: Tensor, weights: _Weights, rows: slice, ledger: Ledger | None) -> Tensor:
    """The candidate of a cell before its nonlinearity."""
    total = _affine(x, weights.inner[rows], None) + _affine(hidden, weights.outer[rows], None)
    if weights.inner_bias is None or weights.outer_bias is None:
        return total
    return _biased(total, weights.inner_bias[rows] + weights.outer_bias[rows], ledger)


def _biased(total: Tensor, bias: Tensor, ledger: Ledger | None) -> Tensor:
    out = total + bias
    return out if ledger is None else ledger.absorb(out, "bias", bias)


def _constant_state(out: Tensor, factor: Tensor, state: Tensor, ledger: Ledger | None) -> Tensor:
    """Book the initial state, where the model was given one that does not depend on the input."""
    if ledger is None or state.requires_grad or not bool(state.any()):
        return out
    return ledger.absorb(out, "position", factor * state)


def _bent(x: Tensor, name: str) -> Tensor:
    if not x.requires_grad:
        return torch.tanh(x) if name == "tanh" else torch.relu(x)
    fixed = x.detach()
    slope = 1.0 if name == "tanh" else 0.0
    out: Tensor = Quotient.apply(x, lambda: getattr(torch, name)(fixed), slope, 0.0)  # type: ignore[no-untyped-call]
    return out
