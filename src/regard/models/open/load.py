"""`load`: open a name, directory, file or live object as a model for every method."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn

from regard.errors import InputError, Text, UnknownName, Unsupported, phrase
from regard.files import cache_directory, exists
from regard.message import Message
from regard.models.adapter import TorchModel, pick_device
from regard.models.endpoint.address import PREFIX as ENDPOINT
from regard.models.endpoint.endpoint_model import open_endpoint
from regard.models.exported.onnx_model import OnnxModel
from regard.models.forecast_direction import direction_of
from regard.models.open.checkpoints import open_peft, open_pretrained
from regard.models.open.config_limits import check_adapter, check_model, opening
from regard.models.open.factory_file import factory_product
from regard.models.open.gguf_file import gguf_in, open_gguf
from regard.models.open.hub import snapshot_of
from regard.models.open.huggingface import Options, from_transformers, task_row
from regard.models.open.labels import label_order
from regard.models.open.onnx_file import onnx_in, open_onnx
from regard.models.open.placement import DeviceMap, pick_dtype, placement
from regard.models.open.regard_networks import open_network
from regard.models.open.stored_model import code_file
from regard.models.open.wrap import wrap
from regard.models.read.chinese_words import Words, checked_words, chinese_word_spans
from regard.models.read.text import Overflow, TextReader
from regard.models.sound_segments import in_segments
from regard.models.writing_steps import steps_of
from regard.networks.family import Family, is_family, read_family
from regard.protocols import Model
from regard.records import Json, Spec
from regard.registry import build, named_model, names


def load(
    source: Any,
    *,
    processor: Any = None,
    task: str | None = None,
    device: str = "auto",
    dtype: str | torch.dtype | None = None,
    labels: str | Sequence[str] | Mapping[str, int] | None = None,
    overflow: Overflow = "windows",
    max_length: int | None = None,
    trust_remote_code: bool = False,
    download: bool = False,
    rebuild: bool = False,
    words: Words = "characters",
    segment: float = 0.0,
    name: str | None = None,
    device_map: DeviceMap | None = None,
    quantize: str | None = None,
) -> Model:
    """Load a model from a name, a directory, a file, or a live object.

    source: a name from `regard list source` (or `planted:NAME` from `regard list planted`);
    `openai:http://HOST:PORT/v1#MODEL` (an endpoint with log-probabilities, without attention or gradients); a directory
    (Hugging Face, PEFT adapter, regard network, ONNX, GGUF); a Hugging Face id in the local cache (download=True
    fetches it); `model.onnx` (with processor=DIR of its tokenizer, default its own directory; rebuild=True puts its
    weights into its Hugging Face class, for gradients); `file.py:factory`; a live transformers model (with
    processor=tokenizer) or `transformers.pipeline`; anything that already is a model. task: overrides that of the
    architecture. labels: "neg=0,pos=1", or all names in order. overflow: "windows", "cut" or "error" for texts longer
    than the model; max_length makes that shorter. words: grouping of Chinese characters into words: each alone, or by
    "jieba" (pip install 'regard[chinese]'). segment: seconds of sound that are one unit of a model that reads frames;
    0: every frame is one. dtype: fp32, fp16 or bf16. device_map: "auto", or module -> device, for a model larger than
    one device. quantize: "4bit" or "8bit" (bitsandbytes). A .gguf file, and weights in several files, are read as they
    are.
    """
    checked_words(words)
    model = _load(
        source,
        processor=processor,
        task=task,
        device=device,
        dtype=dtype,
        labels=labels,
        overflow=overflow,
        max_length=max_length,
        trust_remote_code=trust_remote_code,
        download=download,
        rebuild=rebuild,
        name=name,
        device_map=device_map,
        quantize=quantize,
    )
    model = model if words == "characters" else _with_words(model, words)
    return in_segments(model, segment) if segment else model


def _with_words(model: Model, words: Words) -> Model:
    """Group the characters of a text model into Chinese words."""
    inner = model.inner if isinstance(model, OnnxModel) else model
    if not isinstance(inner, TorchModel) or not isinstance(inner.reader, TextReader):
        raise Unsupported(
            phrase("errors.models.words_model", model=model.name),
            expected=phrase("errors.models.text_model"),
            got=model.modality,
        )
    chinese_word_spans("")  # a missing package is reported here
    inner.reader.segment = chinese_word_spans
    if inner.spec is not None:
        inner.spec = Spec(inner.spec.kind, inner.spec.name, {**inner.spec.params, "words": words})
    return model


def _load(
    source: Any,
    *,
    processor: Any,
    task: str | None,
    device: str,
    dtype: str | torch.dtype | None,
    labels: str | Sequence[str] | Mapping[str, int] | None,
    overflow: Overflow,
    max_length: int | None,
    trust_remote_code: bool,
    download: bool,
    rebuild: bool,
    name: str | None,
    device_map: DeviceMap | None,
    quantize: str | None,
) -> Model:
    if overflow not in ("windows", "cut", "error"):
        raise UnknownName("overflow", str(overflow), ("windows", "cut", "error"))
    if task is not None:
        task_row(task)
    asked_otherwise = {"written_token": steps_of, "forecast_direction": direction_of}
    if task is not None and task in asked_otherwise:
        return asked_otherwise[task](
            load(
                source,
                processor=processor,
                device=device,
                dtype=dtype,
                overflow=overflow,
                max_length=max_length,
                trust_remote_code=trust_remote_code,
                download=download,
                name=name,
                device_map=device_map,
                quantize=quantize,
            )
        )
    where = placement(dtype, device_map, quantize)
    options = Options(
        task=task,
        device=device,
        dtype=where.dtype,
        labels=labels,
        overflow=overflow,
        max_length=max_length,
        name=name,
        where=where,
    )
    if not isinstance(source, (str, Path)):
        return _live(source, processor, options)
    text = str(source)
    if text.startswith(ENDPOINT):
        return open_endpoint(text, cache_directory() / "endpoint")
    params: dict[str, Json] = {
        "task": task,
        "device": device,
        "dtype": str(dtype).removeprefix("torch.") if dtype is not None else None,
        "labels": _json_labels(labels),
        "overflow": overflow,
        "max_length": max_length,
        "trust_remote_code": trust_remote_code,
        "download": download,
        "rebuild": rebuild,
        "processor": str(processor) if isinstance(processor, (str, Path)) else None,
        "name": name,
        "device_map": device_map if isinstance(device_map, str | None) else dict(device_map),
        "quantize": quantize,
    }
    arguments = {key: value for key, value in params.items() if value not in (None, False)}
    options = replace(options, spec=Spec("model", text, arguments))
    spec = None if exists(text) else named_model(text)
    if spec is not None:
        product, options = build(spec)(), replace(options, name=name or text)
        if isinstance(product, str):
            return _directory(product, options, trust_remote_code, download)
        return _made(product, options)
    code = code_file(text)
    if code is not None:
        return _factory(*code, processor, options)
    graph = _graph(Path(text).expanduser())
    if graph is not None:
        if processor is not None and not isinstance(processor, (str, Path)):
            options = replace(options, spec=None)
        _refuse_placement(options)
        with opening(text):
            return open_onnx(graph, processor, options, rebuild=rebuild)
    if isinstance(processor, (str, Path)):
        raise InputError(
            phrase("errors.models.processor_processor", processor=processor),
            expected=phrase("errors.models.onnx_graph_beside"),
            got=phrase("errors.common.model_target", target=text),
        )
    packed = _gguf(Path(text).expanduser())
    if packed is not None:
        with opening(text):
            return _adapted(open_gguf(packed, options.where), replace(options, name=options.name or packed.stem))
    return _directory(text, options, trust_remote_code, download)


def named_directory(text: str) -> str:
    """Return the directory of a named model, made on first use; return any other text unchanged."""
    spec = None if exists(text) else named_model(text)
    product = None if spec is None else build(spec)()
    return product if isinstance(product, str) else text


def _gguf(path: Path) -> Path | None:
    """The GGUF file that a path names: itself, or the one in a directory without another model."""
    if path.suffix == ".gguf":
        return path
    return gguf_in(path) if path.is_dir() and not any(path.glob("*.safetensors")) else None


def _graph(path: Path) -> Path | None:
    """The ONNX file that a path names: itself, or the one in a directory without other weights."""
    if path.suffix == ".onnx":
        return path
    if not path.is_dir() or (path / "regard.json").is_file() or (path / "adapter_config.json").is_file():
        return None
    if any(True for pattern in ("*.safetensors", "*.bin", "*.gguf") for _ in path.glob(pattern)) or is_family(path):
        return None
    return onnx_in(path)


def rebuild(spec: Spec) -> Model:
    """Rebuild the model of a Spec from `load` in another process. For a stored Spec, call `stored_spec` first."""
    return load(spec.name, **cast("dict[str, Any]", dict(spec.params)))


def _json_labels(labels: str | Sequence[str] | Mapping[str, int] | None) -> Json:
    if labels is None or isinstance(labels, str):
        return labels
    return dict(labels) if isinstance(labels, Mapping) else [str(label) for label in labels]


def _directory(source: str, options: Options, trust_remote_code: bool, download: bool) -> Model:
    folder = Path(source).expanduser()
    if folder.is_file():
        raise InputError(
            phrase("errors.common.file_place", place=source),
            expected=phrase("errors.models.model_directory_or_file_py"),
            got=phrase("errors.common.file"),
            remedy=f"{source}:make_model" if source.endswith(".py") else phrase("errors.models.directory_that_holds"),
        )
    if folder.is_dir():
        if is_family(folder):
            return _family(read_family(folder), options, trust_remote_code, download)
        options = replace(options, folder=folder, name=options.name or folder.resolve().name)
        if (folder / "regard.json").is_file():
            _refuse_placement(options)
            with opening(source):
                return open_network(folder, options)
        if (folder / "adapter_config.json").is_file():
            _refuse_placement(options)
            with opening(source):
                check_adapter(folder)
                parts = open_peft(folder, options.task, trust_remote_code=trust_remote_code, download=download)
                return _adapted(parts, options)
        source = str(folder)
    elif not _may_be_id(source):
        raise InputError(
            phrase("errors.common.model_live", live=source),
            expected=phrase("errors.models.name_directory_or_hugging_face"),
            got=phrase("errors.models.no_such_path"),
        )
    elif "/" not in source and not download and snapshot_of(source) is None:
        raise UnknownName("model", source, names("source"))
    with opening(source):
        if (place := folder if folder.is_dir() else snapshot_of(source)) is not None:
            check_model(place)
        parts = open_pretrained(
            source, options.task, trust_remote_code=trust_remote_code, download=download, where=options.where
        )
        return _adapted(parts, options)


def _family(family: Family, options: Options, trust_remote_code: bool, download: bool) -> Model:
    """Open the member of the family that is best on dev; a note names it."""
    facts: dict[str, Json] = {"size": family.size, "best": family.best}
    note = Message("model_note.family", facts)
    if len(family.members) != family.size:
        note = Message("model_note.part_of_family", {**facts, "trained": len(family.members)})
    name = options.name or f"{family.directory.resolve().name}/{family.best}"
    noted = replace(options, notes=(*options.notes, note), name=name)
    return _directory(str(family.directory / family.best), noted, trust_remote_code, download)


def _may_be_id(source: str) -> bool:
    return source.count("/") <= 1 and not source.startswith((".", "/", "~")) and source.strip() == source != ""


def _adapted(opened: tuple[nn.Module, Any, str, list[Text]], options: Options) -> TorchModel:
    module, processor, task, notes = opened
    module.requires_grad_(False)
    return from_transformers(module, processor, replace(options, task=task, notes=(*options.notes, *notes)))


def _refuse_placement(options: Options) -> None:
    """Refuse options that only a Hugging Face directory on disk supports."""
    for name, value in (("device_map", options.where.device_map), ("quantize", options.where.quantize)):
        if value is not None:
            subject, expected = (
                f"--{name.replace('_', '-')} {value}",
                phrase("errors.models.hugging_face_directory_or_id"),
            )
            raise Unsupported(subject, expected=expected, got=phrase("errors.models.model_another_kind"))


def _live(source: Any, processor: Any, options: Options) -> Model:
    _refuse_placement(options)
    verbs = ("encode", "remove", "predict", "forward")
    if not isinstance(source, nn.Module) and all(callable(getattr(source, verb, None)) for verb in verbs):
        return cast("Model", source)  # open already: a request to a service must not wait for the import below
    import transformers

    if isinstance(source, transformers.Pipeline):
        beside = processor or source.tokenizer or source.image_processor
        return from_transformers(source.model, beside, options)
    peft = sys.modules.get("peft")
    if peft is not None and isinstance(source, peft.PeftModel):
        if source.active_peft_config.is_prompt_learning:
            raise Unsupported(
                phrase("errors.models.adapter_folder", folder=type(source).__name__),
                expected=phrase("errors.models.adapter_inside_model_layers_lora"),
                got=phrase("errors.models.learned_prompts"),
            )
        source = source.get_base_model()  # its layers are the adapted ones
    if isinstance(source, transformers.PreTrainedModel):
        return from_transformers(source, processor, options)
    if isinstance(source, nn.Module):
        if not callable(processor):
            raise InputError(
                phrase("errors.models.module_type", type=type(source).__name__),
                expected=phrase("errors.models.encode_function_beside_torch"),
                got=phrase("errors.common.none"),
                remedy="regard.wrap(module, encode=...)",
            )
        return wrap(
            source,
            processor,
            task=options.task or "classification",
            labels=label_order(options.labels),
            overflow=options.overflow,
            max_length=options.max_length,
            device=options.device,
            dtype=options.dtype,
            name=options.name,
        )
    raise InputError(
        phrase("errors.models.model_type", type=type(source).__name__),
        expected=phrase("errors.models.name_directory_file_py_factory"),
        got=phrase("errors.models.object_another_kind"),
    )


def _made(model: TorchModel, options: Options) -> TorchModel:
    """Adapt a model that a named source built in memory."""
    _refuse_placement(options)
    if options.task not in (None, model.task):
        raise InputError(
            phrase("errors.common.model_live", live=options.name),
            expected=phrase("errors.models.own_task", task=model.task),
            got=str(options.task),
        )
    model.device = pick_device(options.device)
    model.module.to(device=model.device, dtype=pick_dtype(options.dtype))
    model.labels = label_order(options.labels) or model.labels
    model.name, model.spec = options.name or model.name, options.spec
    return model


def _factory(path: Path, name: str, processor: Any, options: Options) -> Model:
    """Run the Python file that the user named; nothing else is ever executed."""
    product = factory_product(path, name)
    beside = processor
    if isinstance(product, tuple) and len(product) == 2:
        product, beside = product
    model = _live(product, beside, replace(options, name=options.name or f"{path.name}:{name}"))
    if isinstance(model, TorchModel):
        model.spec = options.spec
    return model
