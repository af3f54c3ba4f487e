"""ONNX files -> the adapter: the graph, and beside it a tokenizer, an image processor or an encode function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import nn

from regard.errors import InputError, Unsupported, phrase
from regard.message import Message
from regard.models.adapter import TorchModel
from regard.models.exported.capabilities import register
from regard.models.exported.onnx_model import OnnxModel
from regard.models.exported.onnx_module import OnnxModule
from regard.models.exported.sessions import Graph, onnx_package
from regard.models.open.checkpoints import open_processor, quiet
from regard.models.open.huggingface import Options, from_transformers, infer_task, rename, task_row
from regard.models.open.onnx_rebuild import own_class, rebuilt
from regard.models.open.wrap import wrap
from regard.protocols import Model

REMEDY: Final = phrase("errors.models.regard_load_model_onnx_processor")
_PREFERRED: Final = ("model.onnx", "onnx/model.onnx")
_SPANS: Final = {"start_logits", "end_logits"}
_INTEGER: Final = ("MatMulInteger", "QLinearMatMul", "DequantizeLinear")
_VECTORS: Final = ("last_hidden_state", "token_embeddings", "sentence_embedding")


def onnx_in(folder: Path) -> Path | None:
    """Graph of a directory without other weights; None if it holds none."""
    for name in _PREFERRED:
        if (folder / name).is_file():
            return folder / name
    files = sorted(folder.glob("*.onnx"))
    if len(files) > 1:
        raise InputError(
            phrase("errors.common.directory_path", path=folder),
            expected=phrase("errors.models.one_onnx_file"),
            got=", ".join(file.name for file in files[:6]),
            remedy=phrase("errors.models.name_file", files=folder / files[0].name),
        )
    return files[0] if files else None


def open_onnx(path: Path, processor: Any, options: Options, *, rebuild: bool = False) -> Model:
    """Open an ONNX graph; `rebuild` loads its weights into the Hugging Face class that it names, for gradients."""
    onnx_package(str(path))
    graph = Graph(path)
    options = replace(options, name=options.name or path.stem)
    _refuse_nan(graph)
    beside = Path(processor).expanduser() if isinstance(processor, (str, Path)) else path.parent
    if isinstance(processor, (str, Path)) and not beside.is_dir():
        raise InputError(
            phrase("errors.models.processor_processor", processor=processor),
            expected=phrase("errors.models.directory_with_tokenizer"),
            got=phrase("errors.common.no_such_directory"),
        )
    config = _config(graph, beside)
    if not rebuild:
        _ = graph.found  # a graph without attention is refused before anything else is read
    if callable(processor) and not hasattr(processor, "save_pretrained"):
        return _joined(_by_function(graph, processor, options), graph)
    task = options.task or _task(graph, config)
    options = replace(options, task=task)
    module = OnnxModule(graph, output=_renamed_output(graph, task))
    module.config = config
    config.onnx_sha256 = graph.digest
    if processor is None or isinstance(processor, (str, Path)):
        processor = _processor(beside, config, task, graph)
    if rebuild:
        native, note = rebuilt(graph, config, module)
        return from_transformers(native, processor, replace(options, notes=(*options.notes, note)))
    if bool(getattr(config, "is_encoder_decoder", False)):
        raise Unsupported(
            phrase("errors.common.model_live", live=path),
            expected=phrase("errors.models.graph_without_decoder"),
            got=phrase("errors.models.one_part_encoder_decoder"),
            remedy="",
        )
    if task_row(task).modality == "text":
        module.embedding = _embedding(graph)
        module.pad = int(getattr(processor, "pad_token_id", None) or 0)
        length = module.fixed(1)
        if length is not None:
            options = replace(options, max_length=min(length, options.max_length or length))
    return _joined(from_transformers(module, processor, options), graph)


def _joined(inner: TorchModel, graph: Graph) -> OnnxModel:
    register()
    quantized = sum(node.op_type in _INTEGER for node in _nodes(graph))
    config: Any = getattr(inner.module, "config", None)
    note, remedy = Message("model_note.onnx_no_gradients"), phrase("errors.models.rebuild_in_its_class")
    if quantized:
        note = Message("model_note.onnx_no_gradients_quantized")
        remedy = phrase("errors.models.load_graph_before_quantization")
    elif own_class(config) is None:
        note = Message("model_note.onnx_no_gradients_no_class")
        remedy = phrase("errors.models.load_model_before_export")
    model = OnnxModel(inner, [note], without_capability=remedy)
    if quantized:
        model.inner._notes.append(Message.of("model_note.quantized_graph", n=quantized))
    return model


def _nodes(graph: Graph) -> Sequence[Any]:
    return list(graph.proto.graph.node)


def _by_function(graph: Graph, encode: Callable[[Any], Any], options: Options) -> TorchModel:
    """Adapter of a graph whose input comes from an encode function: tokens, or an array of numbers."""
    module = OnnxModule(graph, output=_renamed_output(graph, options.task or "classification"))
    port = graph.inputs[module.first]
    row = task_row(options.task) if options.task else None
    modality: Any = row.modality if row is not None else "text" if "int" in port.kind else None
    if modality is None:
        raise InputError(
            phrase("errors.common.model_live", live=graph.path),
            expected=phrase("errors.models.task_input_array_numbers"),
            got=f"{module.first} {port.shape}",
            remedy=phrase("errors.models.task_eries_classification"),
        )
    width = module.fixed(1) if modality == "tabular" else None
    inner = wrap(
        module,
        encode,
        task=options.task or "classification",
        modality=modality,
        labels=_labels(graph, options),
        mask=next((name for name in module.input_names if "mask" in name), None),
        columns=[f"x{i}" for i in range(width or 0)],
        channels=(port.shape[1] or 1) if modality == "image" else 1,
        class_tokens=-1 if modality == "image" else 0,
        max_length=module.fixed(1) if modality == "text" and module.masked else options.max_length,
        overflow=options.overflow,
        device=options.device,
        name=options.name,
    )
    inner.spec = options.spec
    inner.traits = replace(inner.traits, config={"onnx_sha256": graph.digest})
    return inner


def _labels(graph: Graph, options: Options) -> tuple[str, ...]:
    shape = next(iter(graph.outputs.values())).shape
    count = (shape[-1] if len(shape) > 1 else 1) or 0
    names = [f"LABEL_{i}" for i in range(2 if count == 1 else count)]
    return rename(names, options.labels)


def _config(graph: Graph, folder: Path) -> Any:
    """The config.json beside the tokenizer, else one made from the outputs of the graph."""
    import transformers

    for place in dict.fromkeys((folder, graph.path.parent)):
        if (place / "config.json").is_file():
            with quiet():
                config: Any = transformers.AutoConfig.from_pretrained(str(place), local_files_only=True)
            _refuse_other_labels(graph, config, place)
            return config
    logits = graph.outputs.get("logits") or next(iter(graph.outputs.values()))
    count = logits.shape[-1] if len(logits.shape) == 2 and logits.shape[-1] else 2
    made: Any = transformers.PretrainedConfig()
    made.num_labels = 2 if count == 1 else count
    return made


def _refuse_other_labels(graph: Graph, config: Any, place: Path) -> None:
    logits = graph.outputs.get("logits")
    architecture = (getattr(config, "architectures", None) or [""])[0]
    count = logits.shape[-1] if logits is not None and len(logits.shape) == 2 else None
    if count and architecture.endswith("ForSequenceClassification") and config.num_labels != count:
        raise InputError(
            phrase("errors.common.model_live", live=graph.path),
            expected=phrase("errors.models.classes_names", num_labels=config.num_labels, place=place / "config.json"),
            got=phrase("errors.models.outputs_count", count=count),
            remedy=phrase("errors.models.use_config_of_model"),
        )


def _task(graph: Graph, config: Any) -> str:
    """Task that the architecture or the outputs of the graph imply."""
    names = set(graph.outputs)
    architecture = (getattr(config, "architectures", None) or [""])[0]
    if architecture:
        return infer_task(config, architecture)
    if names >= _SPANS:
        return "question_answering"
    first = next(iter(graph.outputs.values()))
    if first.name in _VECTORS:
        return "similarity"
    if len(first.shape) == 2:
        return "image_classification" if "pixel_values" in graph.inputs else "classification"
    raise Unsupported(
        phrase("errors.models.task_architecture", architecture=graph.path),
        expected=phrase("errors.models.architecture_with_known_task"),
        got=phrase(
            "errors.models.outputs_outputs", outputs=", ".join(f"{p.name} {p.shape}" for p in graph.outputs.values())
        ),
        remedy=phrase("errors.models.task_such_token_classification"),
    )


def _renamed_output(graph: Graph, task: str) -> str:
    """Name that the task reads, if the graph's first output has another name."""
    first = next(iter(graph.outputs.values()))
    names = set(graph.outputs)
    if task == "question_answering":
        return ""
    if task == "similarity":
        if names & {"last_hidden_state", "sentence_embedding"}:
            return ""
        return "last_hidden_state" if len(first.shape) == 3 else "sentence_embedding"
    return "" if "logits" in names else "logits"


def _processor(folder: Path, config: Any, task: str, graph: Graph) -> Any:
    holds = any((folder / name).is_file() for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"))
    if task_row(task).modality == "text" and not holds:
        raise InputError(
            phrase("errors.common.model_live", live=graph.path),
            expected=phrase("errors.models.tokenizer_beside_graph"),
            got=phrase("errors.common.none_in_train", train=folder),
            remedy=REMEDY,
        )
    return open_processor(str(folder), config, task, False, False)


def _embedding(graph: Graph) -> nn.Embedding | None:
    """Float table in which the graph looks up token ids."""
    onnx = onnx_package(str(graph.path))
    weights = {tensor.name: tensor for tensor in graph.proto.graph.initializer}
    for node in _nodes(graph):
        if node.op_type == "Gather" and node.input[0] in weights and node.input[1] == "input_ids":
            table = onnx.numpy_helper.to_array(weights[node.input[0]])
            if table.ndim == 2 and table.dtype.kind == "f":
                layer = nn.Embedding(*table.shape)
                layer.weight = nn.Parameter(torch.from_numpy(np.array(table, np.float32)), requires_grad=False)
                return layer
    return None


def _refuse_nan(graph: Graph) -> None:
    onnx = onnx_package(str(graph.path))
    for tensor in graph.proto.graph.initializer:
        array = onnx.numpy_helper.to_array(tensor)
        if array.dtype.kind == "f" and array.ndim > 1 and not bool(np.isfinite(array).all()):
            raise InputError(
                phrase("errors.common.model_live", live=graph.path),
                expected=phrase("errors.models.finite_weights"),
                got=phrase(
                    "errors.models.nan_or_infinite_values_in_name",
                    bad=int((~np.isfinite(array)).sum()),
                    name=tensor.name,
                ),
                remedy=phrase("errors.models.export_model_again_from_healthy"),
            )
