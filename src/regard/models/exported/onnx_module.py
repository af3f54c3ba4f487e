"""ONNX graph as a torch module: tensors in, tensors out. Inputs are padded to fixed shapes and outputs cut again."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from regard.errors import InputError, phrase
from regard.models.exported.sessions import Graph, Tensors, canonical, restored

Rewrite = Callable[[int, Tensor, slice], Tensor]
"""(number of the attention, scores (row, head, query, key), rows of the batch) -> weights."""


class OnnxModule(nn.Module):
    """Runs the graph of an ONNX file. `recording` exposes its weights, `rewriting` replaces them."""

    def __init__(self, graph: Graph, *, output: str = "", pad: int = 0) -> None:
        super().__init__()
        self.graph, self.pad = graph, pad
        self.renamed = {next(iter(graph.outputs)): output} if output else {}
        self.input_names = list(graph.inputs)
        self.config: Any = None
        self.embedding: nn.Embedding | None = None
        self._record: list[list[NDArray[Any]]] | None = None
        self._rewrite: Rewrite | None = None

    def get_input_embeddings(self) -> nn.Module | None:
        """The table of input embeddings, where the graph names one."""
        return self.embedding

    @property
    def first(self) -> str:
        """Name of the input that holds tokens, pixels or values."""
        return self.input_names[0]

    def fixed(self, axis: int) -> int | None:
        """Size of the main input along an axis, if the graph fixes it."""
        shape = self.graph.inputs[self.first].shape
        return shape[axis] if axis < len(shape) else None

    @cached_property
    def alone(self) -> bool:
        """Return whether inputs must not share a pass: int8 of `quantize_dynamic` has one scale for a whole batch."""
        return any(node.op_type == "DynamicQuantizeLinear" for node in self.graph.proto.graph.node)

    @property
    def masked(self) -> bool:
        """Return whether the graph takes a mask of real positions."""
        return any("mask" in name for name in self.input_names)

    @contextmanager
    def recording(self) -> Iterator[list[list[NDArray[Any]]]]:
        """Record the weights of every attention inside the block, one list for each part of the batch."""
        self._record = []
        try:
            yield self._record
        finally:
            self._record = None

    @contextmanager
    def rewriting(self, rewrite: Rewrite) -> Iterator[None]:
        """Use the weights that `rewrite` returns in passes inside the block."""
        self._rewrite = rewrite
        try:
            yield
        finally:
            self._rewrite = None

    def forward(self, *arrays: Tensor, **named: Tensor) -> dict[str, Tensor]:
        tensors = {**dict(zip(self.input_names, arrays, strict=False)), **named}
        device = next(iter(tensors.values())).device
        feeds = self._feeds(tensors)
        rows = len(feeds[self.first])
        width = feeds[self.first].shape[1] if feeds[self.first].ndim > 1 else 0
        size = self.fixed(0) or (1 if self.alone else rows)
        parts: list[Tensors] = []
        for start in range(0, rows, size):
            here = slice(start, min(rows, start + size))
            part = {name: self._filled(name, array[here]) for name, array in feeds.items()}
            parts.append(self._alone(part, here, width) if self.alone else self._part(part, here))
        length = self.fixed(1)
        out: dict[str, Tensor] = {}
        for name, port in self.graph.outputs.items():
            whole = np.concatenate([part[name] for part in parts])
            if length and width < length and whole.ndim > 2 and whole.shape[1] == length:
                whole = whole[:, :width]
            wide = whole.astype(np.float32) if port.kind == "tensor(float16)" else whole
            out[self.renamed.get(name, name)] = torch.from_numpy(np.ascontiguousarray(wide)).to(device)
        return out

    def _alone(self, feeds: Tensors, rows: slice, width: int) -> Tensors:
        """Run one input without its padding, which would change the scale of int8; pad outputs and weights again."""
        mask = next((array for name, array in feeds.items() if "mask" in name and array.ndim == 2), None)
        real = width if mask is None or self.fixed(1) else int(mask[0].sum())
        if self._rewrite is not None or real == width or mask is None or not mask[0, :real].all():
            return self._part(feeds, rows)
        short = {name: array[:, :real] if array.shape[1:2] == (width,) else array for name, array in feeds.items()}
        outputs = self._part(short, rows)
        if self._record is not None:
            self._record[-1] = [_padded(table, real, width, (2, 3)) for table in self._record[-1]]
        return {name: _padded(array, real, width, (1,)) if array.ndim > 2 else array for name, array in outputs.items()}

    def _part(self, feeds: Tensors, rows: slice) -> Tensors:
        count = rows.stop - rows.start
        if self._rewrite is not None:
            rewrite, nodes = self._rewrite, self.graph.found.nodes
            edited: list[NDArray[Any]] = []

            def change(number: int, scores: NDArray[Any]) -> NDArray[Any]:
                table = canonical(scores, nodes[number], len(feeds[self.first]))
                filled = torch.softmax(torch.from_numpy(np.array(table, np.float32)), -1).numpy()
                real = torch.from_numpy(np.array(table[:count], np.float32))
                filled[:count] = rewrite(number, real, rows).numpy()
                edited.append(filled[:count])
                return restored(filled, nodes[number], scores.shape)

            changed = self.graph.stopped(feeds, change)
            if self._record is not None:
                self._record.append(edited)
            return _first_rows(changed, count)
        if self._record is None:
            return _first_rows(self.graph.run(feeds), count)
        outputs, weights = self.graph.exposed(feeds)
        whole = len(feeds[self.first])
        self._record.append(
            [canonical(w, node, whole)[:count] for w, node in zip(weights, self.graph.found.nodes, strict=True)]
        )
        return _first_rows(outputs, count)

    def _feeds(self, tensors: Mapping[str, Tensor]) -> Tensors:
        """Arrays for every input of the graph: the given ones, and position ids if it needs them."""
        feeds: Tensors = {}
        for name, port in self.graph.inputs.items():
            if name in tensors:
                feeds[name] = tensors[name].detach().cpu().numpy().astype(port.dtype, copy=False)
        if self.first not in feeds:
            raise self._missing(self.first, tensors)
        shape = feeds[self.first].shape
        for name, port in self.graph.inputs.items():
            if name in feeds:
                continue
            if name == "position_ids":
                feeds[name] = np.broadcast_to(np.arange(shape[1], dtype=port.dtype), shape[:2]).copy()
            elif name == "token_type_ids":
                feeds[name] = np.zeros(shape[:2], port.dtype)
            elif "mask" in name and len(port.shape) == 2:
                feeds[name] = np.ones(shape[:2], port.dtype)
            else:
                raise self._missing(name, tensors)
        return feeds

    def _missing(self, name: str, tensors: Mapping[str, Tensor]) -> InputError:
        remedy = phrase("errors.models.export_model_without_cache_keys") if "past" in name else ""
        return InputError(
            phrase("errors.models.input_name", name=name, graph=self.graph.path.name),
            expected=phrase("errors.models.value_missing"),
            got=", ".join(tensors),
            remedy=remedy,
        )

    def _filled(self, name: str, array: NDArray[Any]) -> NDArray[Any]:
        """Pad the array to the size that the graph fixes: rows repeated, positions padded and masked."""
        size, length = self.fixed(0), self.fixed(1)
        if array.ndim == 2 and array.dtype.kind in "iub" and length is not None and array.shape[1] != length:
            if array.shape[1] > length or not self.masked:
                raise InputError(
                    phrase("errors.models.text_for_graph", graph=self.graph.path.name),
                    expected=phrase("errors.models.at_most_tokens_size_graph", length=length)
                    if self.masked
                    else phrase("errors.models.exactly_tokens_size_graph", length=length),
                    got=str(array.shape[1]),
                    remedy="" if self.masked else phrase("errors.models.fill_up_in_encode_function"),
                )
            fill = self.pad if name == self.first else 0
            wide = np.full((len(array), length), fill, array.dtype)
            wide[:, : array.shape[1]] = array
            array = wide
        if size is not None and len(array) < size:
            array = np.concatenate([array, np.repeat(array[-1:], size - len(array), axis=0)])
        return array


def _padded(array: NDArray[Any], real: int, width: int, axes: tuple[int, ...]) -> NDArray[Any]:
    """Zeros behind the `real` places of an axis, up to `width`; axes of another size stay."""
    grows = [width - real if axis in axes and size == real else 0 for axis, size in enumerate(array.shape)]
    return np.pad(array, [(0, more) for more in grows])


def _first_rows(tensors: Tensors, count: int) -> Tensors:
    return {name: array[:count] if array.ndim else array for name, array in tensors.items()}


def accepted_names(module: nn.Module) -> list[str]:
    """The names of the inputs that a module takes."""
    if isinstance(module, OnnxModule):
        return list(module.input_names)
    return list(inspect.signature(module.forward).parameters)
