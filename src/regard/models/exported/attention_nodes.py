"""Attention in an ONNX graph: the Softmax nodes that weigh values, and the names of their modules.

A Softmax is attention where its output reaches a product with a tensor that the graph computes from its input; a router
or an output Softmax does not.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from regard.errors import Text, phrase

PASSING: Final = frozenset(
    {"Where", "Cast", "CastLike", "Dropout", "Identity", "Reshape", "Transpose", "Unsqueeze", "Squeeze", "Expand"}
    | {"Flatten", "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "Slice", "Split", "Tile"}
)
"""Operations that only move, mask or encode weights."""
PRODUCTS: Final = frozenset({"MatMul", "MatMulInteger", "QLinearMatMul", "Einsum", "Gemm"})
FUSED: Final = frozenset({"Attention", "MultiHeadAttention", "GroupQueryAttention", "PackedAttention", "QAttention"})
"""Nodes that compute a whole attention, without a Softmax output to read."""


@dataclass(frozen=True, slots=True)
class AttentionNode:
    """Attention in a graph: the module that it belongs to, and the tensors before and after its Softmax."""

    name: str
    scores: str
    weights: str
    axis: int
    pooling: bool = False


@dataclass(frozen=True, slots=True)
class AttentionNodes:
    """The attention nodes of a graph in the order in which they run; (place, reason) of every other Softmax."""

    nodes: tuple[AttentionNode, ...]
    rejected: tuple[tuple[str, Text], ...]
    fused: tuple[str, ...] = field(default=())


def attention_nodes(graph: Any) -> AttentionNodes:
    """Find every attention of an ONNX `GraphProto`."""
    constants = constant_tensors(graph)
    consumers: dict[str, list[Any]] = {}
    for node in graph.node:
        for name in node.input:
            consumers.setdefault(name, []).append(node)
    outputs = {value.name for value in graph.output}
    nodes: list[AttentionNode] = []
    rejected: list[tuple[str, Text]] = []
    for node in graph.node:
        if node.op_type != "Softmax":
            continue
        place = module_path(node) or node.name or node.output[0]
        use = _use(node.output[0], consumers, constants, outputs)
        if use in ("product", "sum"):
            axis = next((a.i for a in node.attribute if a.name == "axis"), -1)
            nodes.append(
                AttentionNode(
                    name=place, scores=node.input[0], weights=node.output[0], axis=int(axis), pooling=use == "sum"
                )
            )
        else:
            rejected.append((place, use))
    fused = tuple(dict.fromkeys(node.op_type for node in graph.node if node.op_type in FUSED))
    return AttentionNodes(tuple(nodes), tuple(rejected), fused)


def _use(start: str, consumers: Mapping[str, list[Any]], constants: frozenset[str], outputs: set[str]) -> Text:
    """Return "product" or "sum" if the weights are applied to values, else the reason why this is not attention."""
    waiting, visited = [start], {start}
    while waiting:
        name = waiting.pop(0)
        for node in consumers.get(name, ()):
            others = [n for n in node.input if n and n not in visited and n not in constants]
            if node.op_type in PRODUCTS and others:
                return "product"
            if node.op_type == "Mul" and others and _summed(node, consumers):
                return "sum"
            if node.op_type in PASSING or (node.op_type == "Mul" and not others):
                fresh = [n for n in node.output if n and n not in visited]
                visited.update(fresh)
                waiting += fresh
    if visited & outputs:
        return phrase("errors.models.softmax_is_output")
    return phrase("errors.models.softmax_weighs_nothing")


def _summed(node: Any, consumers: Mapping[str, list[Any]]) -> bool:
    return any(after.op_type in ("ReduceSum", "ReduceMean") for n in node.output for after in consumers.get(n, ()))


def constant_tensors(graph: Any) -> frozenset[str]:
    """Tensors that do not depend on the input of the graph."""
    names = {tensor.name for tensor in graph.initializer}
    for node in graph.node:
        if all(name in names or not name for name in node.input) and not node.op_type.startswith("Random"):
            names.update(node.output)
    return frozenset(names)


def module_path(node: Any) -> str:
    """Path of the module that a node was exported from; "" if the graph has none.

    Both exporters of torch keep it: in the node's name, or in its metadata.
    """
    scopes = next((p.value for p in node.metadata_props if p.key == "pkg.torch.onnx.name_scopes"), None)
    if scopes is not None:
        try:
            names = [str(name) for name in ast.literal_eval(scopes)]
        except (ValueError, SyntaxError):
            names = []
        return names[-2] if len(names) > 1 else ""
    path = str(node.name).strip("/").split("/")[:-1]
    return re.sub(r"\.{2,}", ".", ".".join(path))


def inner_inputs(node: Any) -> Iterator[str]:
    """Names that a node reads, those of its sub-graphs included."""
    yield from (name for name in node.input if name)
    for attribute in node.attribute:
        graphs: Iterable[Any] = [*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])]
        for graph in graphs:
            own = {n for inner in graph.node for n in inner.output} | {v.name for v in graph.input}
            for inner in graph.node:
                yield from (name for name in inner_inputs(inner) if name not in own)
            yield from (value.name for value in graph.output if value.name not in own)
