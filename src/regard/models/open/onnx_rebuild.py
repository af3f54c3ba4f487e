"""Rebuild an ONNX graph in the Hugging Face class that it was exported from: the same weights, with gradients.

Exporters rename and transpose the weights of linear layers; the module path of a node identifies the weight. The result
must reproduce the outputs of the graph, or it is refused.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from regard.errors import Unsupported, phrase
from regard.message import Message
from regard.models.exported.attention_nodes import module_path
from regard.models.exported.onnx_module import OnnxModule
from regard.models.exported.sessions import Graph, onnx_package

TOLERANCE: Final = 1e-4
"""Maximum difference of the outputs, relative to the largest output (at least 1)."""
_PROBE: Final = (2, 8)


def rebuilt(graph: Graph, config: Any, module: OnnxModule) -> tuple[nn.Module, Message]:
    """Return (model in its own class, a note with the difference of its outputs)."""
    names = getattr(config, "architectures", None) or [""]
    kind = own_class(config)
    subject = phrase("errors.models.rebuild_graph", graph=graph.path)
    if kind is None:
        raise Unsupported(
            subject,
            expected=phrase("errors.models.config_json_beside_graph"),
            got=names[0] or phrase("errors.common.none"),
            remedy=phrase("errors.models.save_config_there_or_use"),
        )
    native = kind(config).eval()
    state = native.state_dict()
    weights = _weights(graph, state)
    missing = [name for name in state if name not in weights and not name.endswith("position_ids")]
    tied = set(getattr(native, "all_tied_weights_keys", None) or ())
    # an export that returns token vectors leaves the pooler out
    missing = [name for name in missing if name not in tied and not name.startswith("pooler.")]
    if missing:
        first = ", ".join(missing[:3])
        raise Unsupported(
            subject,
            expected=phrase("errors.models.every_weight_in_graph", names=names[0]),
            got=phrase("errors.models.no_and_more", first=first, n=len(missing) - 3)
            if len(missing) > 3
            else phrase("errors.common.no_error", error=first),
            remedy=phrase("errors.models.quantized_graphs_cannot_rebuilt"),
        )
    native.load_state_dict({**state, **weights})
    native.requires_grad_(False)
    error = _difference(native, module)
    if not error <= TOLERANCE:
        raise Unsupported(
            subject,
            expected=phrase("errors.models.outputs_equal_those_graph", tolerance=TOLERANCE),
            got=phrase("errors.common.difference_error", error=error),
        )
    return native, Message.of("model_note.rebuilt", file=graph.path.name, architecture=names[0], error=error)


def own_class(config: Any) -> Any | None:
    """Hugging Face class that the config names; None if it names none."""
    import transformers

    names = getattr(config, "architectures", None) or [""]
    return getattr(transformers, names[0], None) if names[0] else None


def _weights(graph: Graph, state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    onnx = onnx_package(str(graph.path))
    arrays: dict[str, NDArray[Any]] = {
        tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.proto.graph.initializer
    }
    for node in graph.proto.graph.node:  # equal weights are stored once, under the name of the first
        if node.op_type == "Identity" and node.input[0] in arrays:
            arrays[node.output[0]] = arrays[node.input[0]]
    prefix = _prefix(arrays, state)
    weights: dict[str, torch.Tensor] = {}

    def keep(name: str, array: NDArray[Any]) -> None:
        name = name.removeprefix(prefix)
        if name in state and name not in weights and tuple(state[name].shape) == array.shape:
            weights[name] = torch.from_numpy(np.array(array)).to(state[name].dtype)

    for name, array in arrays.items():
        keep(name, array)
    for node in graph.proto.graph.node:
        path = module_path(node)
        for name in (n for n in node.input if n in arrays):
            array = arrays[name]
            if node.op_type in ("MatMul", "Gemm") and array.ndim == 2:
                keep(f"{path}.weight", array.T)
                keep(f"{path}.weight", array)
            elif node.op_type in ("LayerNormalization", "Mul", "Gather"):
                keep(f"{path}.weight", array)
            if node.op_type in ("Add", "Gemm", "LayerNormalization") and array.ndim == 1:
                keep(f"{path}.bias", array)
    return weights


def _prefix(arrays: dict[str, Any], state: dict[str, torch.Tensor]) -> str:
    """Name of the wrapper that a model was exported in, with its dot; "" for none."""
    for name in arrays:
        head, dot, rest = name.partition(".")
        if dot and rest in state and name not in state:
            return head + dot
    return ""


def _difference(native: nn.Module, module: OnnxModule) -> float:
    rows, width = _PROBE
    width = module.fixed(1) or width
    config: Any = native.config
    numbers = np.random.default_rng(0).integers(0, max(2, int(config.vocab_size)), (rows, width))
    ids = torch.from_numpy(numbers)
    tensors = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    with torch.inference_mode():
        rebuilt, reference = native(**tensors), module(**tensors)
        own = next(iter(rebuilt.values()))
        other = next(iter(reference.values()))
    if own.shape != other.shape:
        return float("inf")
    return float((own - other).abs().max()) / max(1.0, float(other.abs().max()))
