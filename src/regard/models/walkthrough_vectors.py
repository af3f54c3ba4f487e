"""The vectors behind one row of attention, as they enter the product.

A fused attention receives its queries and keys. If the model's own code computes the scores, the provenance of the
softmax gives the operands, in whatever layout the code has them; a layout is accepted if its product gives the scores.
Additive attention has no queries and keys, but a last linear layer with one output: its weights and its inputs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.message import Message, Text
from regard.tap.layout import Layout
from regard.tap.recorder import Kept
from regard.tap.sdpa import SdpaCall, scores_of
from regard.tap.tap import Event

FITS = 1e-4
"""Maximum difference between a score and the product that explains it."""
_HIDDEN = -1e9


@dataclass(frozen=True, slots=True)
class Vectors:
    """Vectors of one row: query (d,), keys (n, d), factor, scores (n,), values (n, v), sink, output."""

    form: str
    query: Tensor
    keys: Tensor
    factor: float
    scores: Tensor
    values: Tensor | None = None
    sink: float | None = None
    output: Tensor | None = None
    notes: tuple[Text, ...] = ()


@dataclass(frozen=True, slots=True)
class Called:
    """Call of a linear layer: inputs (..., d), outputs (..., d')."""

    inputs: Tensor
    outputs: Tensor
    layer: nn.Linear


def of_call(call: SdpaCall, kept: Kept, head: int, row: int) -> Vectors:
    """Build the vectors from queries and keys of a fused attention; heads may share keys and values."""
    heads, shared = call.query.shape[1], call.key.shape[1]
    owner = head // (heads // shared)
    scores = scores_of(call, batch=slice(0, 1), heads=torch.tensor([head]), rows=torch.tensor([row]))[0, 0, 0]
    out = kept.out.reshape(*call.query.shape[:-1], call.value.shape[-1])
    notes = [Message.of("model_note.shared_keys", heads=heads, shared=shared, owner=owner)]
    if call.softcap:
        notes.append(Message.of("model_note.capped", cap=call.softcap))
    return Vectors(
        form="dot",
        query=call.query[0, head, row],
        keys=call.key[0, owner],
        factor=call.factor,
        scores=scores,
        values=call.value[0, owner],
        sink=None if call.sinks is None else float(call.sinks.reshape(-1)[head]),
        output=out[0, head, row],
        notes=tuple(notes if heads != shared else notes[1:]),
    )


def of_softmax(
    event: Event, layout: Layout, scores: Tensor, linears: Sequence[Called], head: int, row: int
) -> Vectors | None:
    """Build the vectors from the provenance of a softmax; None if nothing known gives its scores."""
    assert event.softmax is not None
    rows = layout.canonical(scores.detach())
    line = rows[0, head, row].double()
    values = _values(event.softmax.values, rows.shape[1], rows.shape[3], head)
    operands = event.softmax.scores
    sides = None
    if operands is not None:
        whole = operands.q is not None and operands.k is not None
        sides = (operands.q, operands.k) if whole else operands.factors
    if sides is not None and sides[0] is not None and sides[1] is not None:
        product = _product(sides[0], sides[1], rows, head, row)
        if product is not None:
            query, keys, factor = _unscaled(*product, linears, head, row)
            return Vectors(form="dot", query=query, keys=keys, factor=factor, scores=line, values=values)
    for linear in (called for called in linears if called.layer.out_features == 1):
        features = _features(linear, rows, head, row)
        if features is not None:
            bias = linear.layer.bias
            notes = () if bias is None else (Message.of("model_note.bias", bias=float(bias)),)
            return Vectors(
                form="additive",
                query=linear.layer.weight[0],
                keys=features,
                factor=1.0,
                scores=line,
                values=values,
                notes=notes,
            )
    return None


def _product(one: Tensor, other: Tensor, rows: Tensor, head: int, row: int) -> tuple[Tensor, Tensor, float] | None:
    """(query, keys, factor) in the first layout of the two operands whose product gives the scores."""
    _, heads, queries, keys = rows.shape
    line = rows[0, head, row].double()
    open_ = line > _HIDDEN
    for left, right in ((one, other), (other, one)):
        for q in _layouts(left.detach(), heads, queries):
            for k in _layouts(right.detach(), heads, keys):
                if q.shape[-1] != k.shape[-1]:
                    continue
                query, block = q[head % q.shape[0], row].double(), k[head % k.shape[0]].double()
                factor = _factor((block @ query)[open_], line[open_], query.shape[-1])
                if factor is not None:
                    return query, block, factor
    return None


def _unscaled(
    query: Tensor, keys: Tensor, factor: float, linears: Sequence[Called], head: int, row: int
) -> tuple[Tensor, Tensor, float]:
    """Query before the code scaled it for the product."""
    size = query.shape[-1]
    whole = query * math.sqrt(size)
    if factor == 1.0 and size > 1:
        for called in linears:
            outputs = called.outputs.reshape(-1, called.outputs.shape[-1])
            if row < len(outputs) and (head + 1) * size <= outputs.shape[1]:
                candidate = outputs[row, head * size : (head + 1) * size].double()
                if float((candidate - whole).abs().max()) <= FITS and float(whole.abs().max()) > FITS:
                    return candidate, keys, 1.0 / math.sqrt(size)
    return query, keys, factor


def _factor(dots: Tensor, line: Tensor, size: int) -> float | None:
    """The factor between dot products and scores; None if there is none."""
    norm = float(dots @ dots)
    free = [float(dots @ line) / norm] if norm > 0 else []
    for factor in (1.0, 1.0 / math.sqrt(size), *free):  # a round factor before a fitted one
        limit = FITS * max(1.0, float(line.abs().max()))
        if float((dots * factor - line).abs().max()) <= limit and len(line):
            return factor
    return None


def _layouts(tensor: Tensor, heads: int, length: int) -> Iterator[Tensor]:
    """(head, length, feature) of the first example, in every layout that the shape allows."""
    if tensor.ndim == 2:
        forms = [tensor[None]]
    elif tensor.ndim == 3:
        forms = [tensor[:heads], tensor[:1]]  # heads folded into the batch axis, or none
    elif tensor.ndim == 4:
        forms = [tensor[0], tensor[0].transpose(0, 1)]
    else:
        return
    for form in (turned for f in forms for turned in (f, f.transpose(-1, -2))):
        if form.shape[0] in (1, heads) and form.shape[1] == length:
            yield form


def _features(linear: Called, rows: Tensor, head: int, row: int) -> Tensor | None:
    """(n, d) inputs of the layer whose outputs are the scores of this row."""
    _, _, queries, keys = rows.shape
    line = rows[0, head, row].double()
    open_ = line > _HIDDEN
    outputs, inputs = linear.outputs.reshape(-1).double(), linear.inputs.reshape(-1, linear.inputs.shape[-1])
    start = {keys: 0, queries * keys: row * keys}.get(len(outputs))
    if start is None:
        return None
    window = slice(start, start + keys)
    fits = float((outputs[window] - line)[open_].abs().max()) <= FITS
    return inputs[window] if fits else None


def _values(values: Tensor | None, heads: int, keys: int, head: int) -> Tensor | None:
    """(n, v): values of this head, if their layout is unambiguous."""
    if values is None:
        return None
    for form in _layouts(values.detach(), heads, keys):
        return form[head % form.shape[0]]
    return None
