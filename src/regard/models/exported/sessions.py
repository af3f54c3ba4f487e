"""An ONNX graph in onnxruntime: run whole, with its attention exposed, or stopped at every attention.

Exposed: the Softmax outputs become outputs of the graph. Stopped: the graph is cut behind the scores of every
attention, so that other weights can replace them before the rest runs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from regard.errors import EnvironmentProblem, InputError, Unsupported, phrase
from regard.files import check_file
from regard.foreign_code import contained
from regard.models.exported.attention_nodes import AttentionNode, AttentionNodes, attention_nodes, inner_inputs

Tensors = dict[str, NDArray[Any]]
Change = Callable[[int, NDArray[Any]], NDArray[Any]]
"""(number of the attention, its scores) -> the weights that the rest of the graph reads."""
LARGEST: Final = 2 << 30
_KINDS: Final = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
}


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output of a graph; None in `shape` for a free dimension."""

    name: str
    kind: str
    shape: tuple[int | None, ...]

    @property
    def dtype(self) -> Any:
        if self.kind not in _KINDS:
            raise Unsupported(
                phrase("errors.common.input_number", number=self.name),
                expected=phrase("errors.common.one_allowed", allowed=", ".join(_KINDS)),
                got=self.kind,
            )
        return _KINDS[self.kind]


@dataclass(frozen=True, slots=True, eq=False)
class _Piece:
    """Nodes between two attentions: their inputs, and the outputs that later pieces need."""

    content: bytes
    reads: tuple[str, ...]
    gives: tuple[str, ...]


@dataclass(eq=False)
class Graph:
    """An ONNX file and its sessions."""

    path: Path
    _sessions: dict[tuple[str, int], Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        onnx = onnx_package(str(self.path))
        check_file(self.path, phrase("errors.common.model_live", live=self.path), largest=LARGEST)
        with contained(phrase("errors.common.model_live", live=self.path), expected=phrase("errors.models.onnx_graph")):
            self.proto: Any = onnx.load(str(self.path))
            if not self.proto.graph.node:
                raise InputError(
                    phrase("errors.common.model_live", live=self.path),
                    expected=phrase("errors.models.onnx_graph"),
                    got=phrase("errors.models.file_without_nodes"),
                )
        self._plain()  # a graph that onnxruntime cannot run is refused here

    @cached_property
    def found(self) -> AttentionNodes:
        """Attention nodes of the graph; at least one."""
        nodes = attention_nodes(self.proto.graph)
        if nodes.nodes:
            return nodes
        got, remedy = (
            phrase("errors.models.no_softmax_that_weighs_values"),
            phrase("errors.models.model_without_attention_none_read"),
        )
        if nodes.fused:
            got = phrase("errors.models.fused_nodes_which_hide_their", fused=", ".join(nodes.fused))
            remedy = phrase("errors.models.export_without_attention_fusion_no_optimisation")
        raise Unsupported(
            phrase("errors.common.model_live", live=self.path),
            expected=phrase("errors.models.graph_with_attention"),
            got=got,
            remedy=remedy,
        )

    @cached_property
    def digest(self) -> str:
        """sha256 of the file."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    @cached_property
    def inputs(self) -> dict[str, Port]:
        weights = {tensor.name for tensor in self.proto.graph.initializer}
        return {v.name: _port(v) for v in self._plain().get_inputs() if v.name not in weights}

    @cached_property
    def outputs(self) -> dict[str, Port]:
        return {v.name: _port(v) for v in self._plain().get_outputs()}

    def parameters(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the weights by name."""
        return {tensor.name: tuple(tensor.dims) for tensor in self.proto.graph.initializer}

    # ------------------------------------------------------------------ running

    def _session(self, name: str, content: Callable[[], bytes]) -> Any:
        """Return the session for this number of torch threads, so that a run repeats bit by bit."""
        import onnxruntime

        threads = torch.get_num_threads()
        if (name, threads) not in self._sessions:
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
            options.log_severity_level = 4
            with contained(
                phrase("errors.common.model_live", live=self.path), expected=phrase("errors.models.runnable_onnx_graph")
            ):
                session = onnxruntime.InferenceSession(content(), options, providers=["CPUExecutionProvider"])
            self._sessions[name, threads] = session
        return self._sessions[name, threads]

    def _plain(self) -> Any:
        return self._session("plain", lambda: bytes(self.proto.SerializeToString()))

    def run(self, feeds: Mapping[str, NDArray[Any]]) -> Tensors:
        """Outputs of the unmodified graph."""
        return self._run(self._plain(), feeds, list(self.outputs))

    def exposed(self, feeds: Mapping[str, NDArray[Any]]) -> tuple[Tensors, list[NDArray[Any]]]:
        """The outputs, and the weights of every attention as onnxruntime computed them."""
        names = [node.weights for node in self.found.nodes]
        session = self._session("exposed", lambda: self._with_outputs(names))
        tensors = self._run(session, feeds, [*self.outputs, *dict.fromkeys(names)])
        return {name: tensors[name] for name in self.outputs}, [tensors[name] for name in names]

    def stopped(self, feeds: Mapping[str, NDArray[Any]], change: Change) -> Tensors:
        """Outputs with the weights that `change` returns for the scores of every attention."""
        tensors: Tensors = dict(feeds)
        for number, piece in enumerate(self._pieces):
            if piece.gives:
                session = self._session(f"piece {number}", lambda content=piece.content: content)  # type: ignore[misc]
                inputs = {name: tensors[name] for name in piece.reads}
                tensors |= self._run(session, inputs, list(piece.gives))
            if number < len(self.found.nodes):
                node = self.found.nodes[number]
                scores = tensors[node.scores]
                tensors[node.weights] = np.ascontiguousarray(change(number, scores), dtype=scores.dtype)
        return {name: tensors[name] for name in self.outputs}

    def _run(self, session: Any, feeds: Mapping[str, NDArray[Any]], names: list[str]) -> Tensors:
        with contained(
            phrase("errors.common.model_live", live=self.path), expected=phrase("errors.models.inputs_of_the_graph")
        ):
            return dict(zip(names, session.run(names, dict(feeds)), strict=True))

    # ------------------------------------------------------------------ graphs made from the graph

    def _with_outputs(self, names: Sequence[str]) -> bytes:
        onnx = onnx_package(str(self.path))
        output_names = {value.name for value in self.proto.graph.output}
        extended = onnx.ModelProto()
        extended.CopyFrom(self.proto)
        extended.graph.output.extend(onnx.ValueInfoProto(name=n) for n in dict.fromkeys(names) if n not in output_names)
        return bytes(extended.SerializeToString())

    @cached_property
    def _pieces(self) -> list[_Piece]:
        """Cut the graph into pieces: piece k runs once the weights of attention k - 1 are known."""
        graph, nodes = self.proto.graph, self.found.nodes
        ready = {node.weights: k + 1 for k, node in enumerate(nodes)}
        stage: dict[str, int] = {}
        groups: list[list[Any]] = [[] for _ in range(len(nodes) + 1)]
        for node in graph.node:
            if node.op_type == "Softmax" and node.output[0] in ready:
                stage[node.output[0]] = ready[node.output[0]]
                continue
            place = max((stage.get(name, 0) for name in inner_inputs(node)), default=0)
            stage.update((name, place) for name in node.output if name)
            groups[place].append(node)
        needed: dict[str, int] = {value.name: len(nodes) + 1 for value in graph.output}
        for k, attention in enumerate(nodes):
            needed[attention.scores] = max(needed.get(attention.scores, 0), k + 1)
        for place, group in enumerate(groups):
            for name in (n for node in group for n in inner_inputs(node)):
                needed[name] = max(needed.get(name, 0), place)
        produced = [{n for node in group for n in node.output if n} for group in groups]
        crossing = sorted(n for k, names in enumerate(produced) for n in names if needed.get(n, 0) > k)
        kinds = self._kinds([*crossing, *ready])
        return [self._piece(group, produced[k], needed, k, kinds) for k, group in enumerate(groups)]

    def _piece(
        self, group: list[Any], made: set[str], needed: Mapping[str, int], place: int, kinds: Mapping[str, int]
    ) -> _Piece:
        onnx = onnx_package(str(self.path))
        graph = self.proto.graph
        consumed = {name for node in group for name in inner_inputs(node)}
        weights = [tensor for tensor in graph.initializer if tensor.name in consumed]
        weight_names = {tensor.name for tensor in weights}
        reads = tuple(sorted(consumed - made - weight_names))
        gives = tuple(sorted(name for name in made if needed.get(name, 0) > place))
        own = {value.name: value for value in graph.input}
        make = onnx.helper.make_tensor_value_info
        inputs = [own[name] if name in own else make(name, kinds[name], None) for name in reads]
        outputs = [make(name, kinds[name], None) if name in kinds else onnx.ValueInfoProto(name=name) for name in gives]
        cut = onnx.helper.make_graph(group, f"piece {place}", inputs, outputs, weights)
        model = onnx.helper.make_model(cut, opset_imports=self.proto.opset_import, ir_version=self.proto.ir_version)
        model.functions.extend(self.proto.functions)
        return _Piece(bytes(model.SerializeToString()), reads, gives)

    def _kinds(self, names: Sequence[str]) -> dict[str, int]:
        """The element type of tensors inside the graph, as onnxruntime infers it."""
        onnx = onnx_package(str(self.path))
        session = self._session("every crossing tensor", lambda: self._with_outputs(names))
        codes = {
            **{kind: onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)) for kind, dtype in _KINDS.items()},
            "tensor(uint8)": onnx.TensorProto.UINT8,
            "tensor(int8)": onnx.TensorProto.INT8,
        }
        return {value.name: codes.get(value.type, onnx.TensorProto.FLOAT) for value in session.get_outputs()}


def canonical(weights: NDArray[Any], node: AttentionNode, batch: int) -> NDArray[Any]:
    """(batch, head, query, key) of weights in the graph's layout: heads may be folded into the batch, or missing."""
    keys_last = np.moveaxis(weights, node.axis, -1)
    if keys_last.ndim == 2:
        return keys_last[:, None, None]
    if keys_last.ndim == 3:
        rows = keys_last.shape[0]
        return keys_last[:, None] if rows == batch else keys_last.reshape(batch, rows // batch, *keys_last.shape[1:])
    if keys_last.ndim == 4:
        return keys_last
    raise Unsupported(
        phrase("errors.common.attention_site", site=node.name),
        expected=phrase("errors.models.weights_with_two_four_axes"),
        got=phrase("errors.common.shape_shape", shape=tuple(weights.shape)),
    )


def restored(canonical_weights: NDArray[Any], node: AttentionNode, shape: tuple[int, ...]) -> NDArray[Any]:
    """The inverse of `canonical`: the layout of the graph, `shape`."""
    axis = node.axis % len(shape)
    keys_last = (*shape[:axis], *shape[axis + 1 :], shape[axis])
    return np.moveaxis(canonical_weights.reshape(keys_last), -1, axis)


def _port(value: Any) -> Port:
    shape = tuple(n if isinstance(n, int) and n > 0 else None for n in value.shape)
    return Port(value.name, value.type, shape)


def onnx_package(subject: str) -> Any:
    """Import onnx, with onnxruntime; raise an error with the install command if one is missing."""
    try:
        import onnx
        import onnxruntime  # noqa: F401 - asked for here so that one message names both
    except ImportError as error:
        raise EnvironmentProblem(
            phrase("errors.common.model_live", live=subject),
            expected=phrase("errors.models.packages_onnx_and_onnxruntime"),
            got=phrase("errors.common.no_error", error=error.name),
            remedy="pip install 'regard[onnx]'",
        ) from error
    if not Path(subject).is_file():
        raise InputError(
            phrase("errors.common.model_live", live=subject),
            expected=phrase("errors.models.onnx_file"),
            got=phrase("errors.common.no_such_file"),
        )
    return onnx
