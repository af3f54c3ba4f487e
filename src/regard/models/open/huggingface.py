"""Hugging Face models: a live transformers model with its processor -> the adapter."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from regard.errors import InputError, UnknownName, Unsupported, phrase
from regard.message import Message
from regard.models.adapter import Pooling, TorchModel, Traits
from regard.models.detector import DetectorModel
from regard.models.exported.onnx_module import OnnxModule, accepted_names
from regard.models.open.detector_features import feature_cells
from regard.models.open.labels import parse_labels
from regard.models.open.placement import Placement
from regard.models.open.sound_models import hears, open_sound, sound_front
from regard.models.read.encoded import Reader
from regard.models.read.hf_tokens import alphabet_of, expected_tokens, pieces_of, tokenize_with
from regard.models.read.images import as_channels_first, image_reader
from regard.models.read.picture_geometry import geometry_of
from regard.models.read.pixels import on_255, processed, rescale_note
from regard.models.read.regions import Array
from regard.models.read.series import series_reader
from regard.models.read.text import Overflow, TextReader
from regard.models.tasks import TASKS, TaskRow
from regard.records import Json, Spec, Text

_OFFSET_POSITIONS = {
    "roberta",
    "xlm-roberta",
    "camembert",
    "longformer",
    "mpnet",
    "data2vec-text",
    "luke",
    "ibert",
    "xlm-roberta-xl",
    "roberta-prelayernorm",
    "xmod",
    "layoutlmv3",
    "esm",
    "markuplm",
}
"""Model types whose position ids begin after the padding id, so that some positions cannot be used."""

_LAST_IS_FIRST = {"xlnet"}
"""Model types that read the last position whatever it is: rows of different length must not share a batch."""

_ALWAYS_STARTED = ("gemma", "mistral", "mixtral")
"""Model types that are always trained with a start token."""

UNLIMITED = 512
"""Positions per window if a model names no limit."""

_TAG_NOTHING = ("O", "LABEL_O")


@dataclass(frozen=True, slots=True)
class Options:
    """User options for a model, the same for every way of loading."""

    task: str | None = None
    device: str = "auto"
    dtype: str | torch.dtype | None = None
    labels: str | Sequence[str] | Mapping[str, int] | None = None
    overflow: Overflow = "windows"
    max_length: int | None = None
    name: str | None = None
    notes: tuple[Text, ...] = ()
    spec: Spec | None = None
    folder: Path | None = field(default=None)
    where: Placement = Placement()  # noqa: RUF009 - frozen


def _spelt(tokenizer: Any, token: int) -> str:
    """Spell a token; show white space by visible symbols, and an empty token by its raw name."""
    text = str(tokenizer.decode([token]))
    visible = text.strip() or text.replace("\n", "⏎").replace("\t", "⇥").replace(" ", "␣")
    return visible or str(tokenizer.convert_ids_to_tokens(token))


def infer_task(config: Any, architecture: str) -> str:
    """Task that an architecture name implies.

    >>> from types import SimpleNamespace
    >>> infer_task(SimpleNamespace(problem_type=None, num_labels=2), "BertForSequenceClassification")
    'classification'
    """
    if architecture.endswith("ForSequenceClassification") and hasattr(config, "conv_stride"):
        return "audio_classification"  # a sequence of samples, not of tokens
    for row in TASKS.values():
        if architecture.endswith(row.endings) and row.endings:
            if row.name != "classification":
                return row.name
            problem_type = getattr(config, "problem_type", None)
            if problem_type == "regression" or (problem_type is None and getattr(config, "num_labels", 2) == 1):
                return "regression"
            return "multi_label" if problem_type == "multi_label_classification" else "classification"
    raise Unsupported(
        phrase("errors.models.task_architecture", architecture=architecture or phrase("errors.models.this_model")),
        expected=phrase("errors.models.architecture_with_known_task"),
        got=phrase("errors.models.unknown_architecture"),
        remedy=phrase("errors.models.task_one", tasks=", ".join(TASKS)),
    )


def task_row(name: str) -> TaskRow:
    if name not in TASKS:
        raise UnknownName("task", name, TASKS)
    return TASKS[name]


def from_transformers(module: nn.Module, processor: Any, options: Options) -> TorchModel:
    """The adapter of a live model and its tokenizer (or image processor)."""
    config: Any = module.config
    row = task_row(options.task or infer_task(config, type(module).__name__))
    accepted = frozenset(accepted_names(module))
    name = options.name or str(getattr(config, "name_or_path", "") or type(module).__name__)
    makers = {"text": _text, "image": _image, "series": _series, "audio": _audio}
    modality = "audio" if hears(module) else row.modality
    if modality not in makers:
        raise Unsupported(
            phrase("errors.common.for_sizes", sizes=name, ids=row.name),
            expected=phrase("errors.models.text_image_sound_or_series"),
            got=modality,
        )
    reader, traits, embedding = makers[modality](module, processor, row, options, accepted, name)
    front = sound_front(module, processor) if modality == "audio" else None
    pools_class = options.folder is not None and row.name == "similarity" and _class_pooled(options.folder)

    def call(inner: nn.Module, tensors: Mapping[str, Tensor]) -> Any:
        tensors = tensors if front is None else front(tensors)  # inside the function that is explained and attacked
        out = inner(**{key: value for key, value in tensors.items() if key in accepted})
        return {"sentence_embedding": out["last_hidden_state"][:, 0]} if pools_class else out

    kind = DetectorModel if row.name == "object_detection" else TorchModel
    return kind(
        module,
        reader,
        row,
        name=name,
        labels=_labels(config, row, options.labels),
        device=options.device,
        dtype=options.dtype,
        traits=traits,
        embedding=embedding,
        call=call,
        spec=options.spec,
        notes=options.notes,
    )


def _labels(config: Any, row: TaskRow, given: str | Sequence[str] | Mapping[str, int] | None) -> tuple[str, ...]:
    if not row.labelled:
        return ()
    count = int(getattr(config, "num_labels", 0) or 0)
    label_names = getattr(config, "id2label", None) or {}
    labels = [str(label_names.get(i, f"LABEL_{i}")) for i in range(count)]
    return rename(labels, given)


def rename(labels: Sequence[str], given: str | Sequence[str] | Mapping[str, int] | None) -> tuple[str, ...]:
    """The model's labels, some of them renamed by the user.

    >>> rename(["LABEL_0", "LABEL_1"], "neg=0,pos=1")
    ('neg', 'pos')
    """
    if given is None:
        return tuple(labels)
    if not isinstance(given, (str, Mapping)):
        if len(given) != len(labels) and labels:
            raise InputError("labels", expected=phrase("errors.models.names_n", n=len(labels)), got=f"{len(given)}")
        return tuple(map(str, given))
    out = list(labels)
    for label, at in (parse_labels(given) if isinstance(given, str) else given).items():
        if not 0 <= at < len(out):
            raise InputError(
                phrase("errors.models.label_label", label=label, at=at),
                expected=phrase("errors.models.class_index_in_range", n=len(out) - 1),
                got=str(at),
            )
        out[at] = label
    return tuple(out)


ReaderParts = tuple[Reader, Traits, nn.Module | None]


def _text(
    module: nn.Module, tokenizer: Any, row: TaskRow, options: Options, accepted: frozenset[str], name: str
) -> ReaderParts:
    if tokenizer is None:
        raise InputError(
            phrase("errors.common.model_live", live=name),
            expected=phrase("errors.models.tokenizer_beside_weights"),
            got=phrase("errors.common.none"),
            remedy=phrase("errors.models.load_model_processor_tokenizer"),
        )
    config: Any = module.config
    native: Any = module
    encoder_decoder = bool(getattr(config, "is_encoder_decoder", False))
    # an encoder may scale what it shares with the decoder, so its own module is asked
    embedding: nn.Module = (native.get_encoder() if encoder_decoder else native).get_input_embeddings()
    rows = int(getattr(embedding, "num_embeddings", 0)) or None
    alphabet = alphabet_of(tokenizer, rows, getattr(config, "pad_token_id", None))
    if getattr(config, "pad_token_id", None) is None:
        config.pad_token_id = alphabet.pad  # a batch of a causal classifier is refused without one
    masks = "attention_mask" in accepted
    limit, notes = _limit(config, tokenizer, options)
    notes += _missing_start(tokenizer, config, options.folder)
    # GPT-2 takes token types but was never trained with them: the tokenizer knows what its model is given
    types = "token_type_ids" in accepted and "token_type_ids" in tokenizer.model_input_names
    reader = TextReader(
        tokenize_with(tokenizer, types=types, rows=rows, subject=name),
        alphabet,
        limit,
        options.overflow,
        maskable=masks,
        deletable=not row.placed,
        siamese=row.name == "similarity",
        observations=notes,
        spell=lambda ids: [_spelt(tokenizer, i) for i in ids],
        join=lambda ids: str(tokenizer.decode(ids, skip_special_tokens=True)),
        pieces=lambda ids: pieces_of(tokenizer, ids),
        expected=(lambda text: expected_tokens(tokenizer, text)) if encoder_decoder else None,
    )
    pooling: Pooling = "class" if row.name == "similarity" and _class_pooled(options.folder) else "auto"
    if getattr(config, "classifier_pooling", "cls") == "mean" and row.name in ("classification", "multi_label"):
        pooling = "mean"
    traits = Traits(
        pads=masks and config.model_type not in _LAST_IS_FIRST,
        kept_logits="logits_to_keep" in accepted,
        shares=row.name == "next_token" and {"past_key_values", "attention_mask"} <= accepted and not encoder_decoder,
        encoder_decoder=encoder_decoder,
        pooling=pooling,
        class_id=tokenizer.cls_token_id,
        mask_id=tokenizer.mask_token_id,
        pad_id=alphabet.pad,
        quiet=frozenset(i for i, label in _id2label(config).items() if label in _TAG_NOTHING),
        config=settings(config),
        tokenizer=tokenizer,
    )
    return reader, traits, embedding


def _missing_start(tokenizer: Any, config: Any, folder: Path | None) -> list[Text]:
    """Return a note if the model was trained with a start token that its tokenizer does not write."""
    start = tokenizer.bos_token_id
    # transformers 5 drops the entry of the file where tokenizer.json has no post-processor
    stored = _stored_json(folder, "tokenizer_config.json").get("add_bos_token")
    declared = True in (stored, getattr(tokenizer, "init_kwargs", {}).get("add_bos_token"))
    if start is None or not (declared or str(config.model_type).startswith(_ALWAYS_STARTED)):
        return []
    if start in tokenizer("a", verbose=False)["input_ids"]:
        return []
    return [phrase("errors.models.no_start_token", token=tokenizer.bos_token)]


def _id2label(config: Any) -> dict[int, str]:
    return {int(i): str(label) for i, label in (getattr(config, "id2label", None) or {}).items()}


def _limit(config: Any, tokenizer: Any, options: Options) -> tuple[int, list[Text]]:
    """Maximum number of positions per pass, with notes for the user."""
    declared = [int(tokenizer.model_max_length)] if tokenizer.model_max_length < 1_000_000 else []
    positions = getattr(config.get_text_config(), "max_position_embeddings", None)
    if isinstance(positions, int) and positions > 0:
        offset = int(config.pad_token_id or 0) + 1 if config.model_type in _OFFSET_POSITIONS else 0
        declared.append(positions - offset)
    if options.max_length is not None:
        if declared and options.max_length > min(declared):
            raise InputError(
                "max_length", expected=phrase("errors.common.at_most", n=min(declared)), got=str(options.max_length)
            )
        return options.max_length, [Message.of("model_note.pieces", n=options.max_length)]
    if not declared:
        return UNLIMITED, []
    return min(declared), []


def _class_pooled(folder: Path | None) -> bool:
    """Return whether a sentence-transformers directory uses the class token instead of the mean."""
    return bool(_stored_json(folder, "1_Pooling/config.json").get("pooling_mode_cls_token", False))


def _stored_json(folder: Path | None, name: str) -> dict[str, Any]:
    """Return the object in a JSON file of the model's directory; empty without one."""
    path = folder / name if folder is not None else None
    content = json.loads(path.read_text("utf-8")) if path is not None and path.is_file() else {}
    return content if isinstance(content, dict) else {}


def settings(config: Any) -> dict[str, Json]:
    """Return the settings of the architecture, without the path they were loaded from."""
    raw = json.loads(config.to_json_string(use_diff=False))
    return {
        k: v for k, v in raw.items() if k not in ("_name_or_path", "transformers_version", "dtype", "architectures")
    }


def _image(
    module: nn.Module, processor: Any, row: TaskRow, options: Options, accepted: frozenset[str], name: str
) -> ReaderParts:
    config: Any = module.config
    patch = getattr(config, "patch_size", None)
    channels = int(getattr(config, "num_channels", 3))
    size = getattr(config, "image_size", None)
    edges = _two(size) if size is not None else None
    cut = _two(patch) if patch is not None else tuple(max(1, e // 8) for e in edges or (64, 64))
    fixed = patch is not None and not hasattr(config, "window_size")

    def prepare(given: Any, subject: Text) -> Array:
        if processor is not None:
            return processed(processor, on_255(given, channels, subject, reader.observations))
        array = as_channels_first(given, channels, subject)
        if edges is not None and array.shape[1:] != edges:
            raise InputError(
                subject,
                expected=phrase("errors.models.image_pixels", edges=edges[0], edges_2=edges[1]),
                got=f"{array.shape[1:]}",
                remedy=phrase("errors.models.load_with_image_processor"),
            )
        return array

    lead = _class_tokens(module) if fixed else -1
    cells = feature_cells(module) if row.name == "object_detection" and patch is None else None
    lead = 0 if cells is not None else lead
    mean = bool(getattr(config, "use_mean_pooling", False)) or lead < 1
    traits = Traits(pooling="mean" if mean else "class", config=settings(config))
    geometry = None if processor is None else geometry_of(processor, channels)
    reader = image_reader("pixel_values", prepare, (cut[0], cut[1]), lead, geometry, cells)
    double_rescale = None if processor is None else rescale_note(processor, channels)
    reader.observations += [] if double_rescale is None else [double_rescale]
    return reader, traits, None


def _two(size: Any) -> tuple[int, int]:
    return (int(size), int(size)) if isinstance(size, int) else (int(size[0]), int(size[1]))


def _class_tokens(module: nn.Module) -> int:
    """Count the vectors before the patches by their names in transformers."""
    names = {"cls_token": 1, "distillation_token": 1, "class_embedding": 1, "register_tokens": 0}
    count = 0
    for path, shape in _shapes(module).items():
        last = path.rpartition(".")[2]
        if last in names:
            count += names[last] or shape[1]
    return count


def _shapes(module: nn.Module) -> dict[str, tuple[int, ...]]:
    """Shapes of the weights by name."""
    if isinstance(module, OnnxModule):
        return module.graph.parameters()
    return {path: tuple(tensor.shape) for path, tensor in module.named_parameters()}


def _series(
    module: nn.Module, processor: Any, row: TaskRow, options: Options, accepted: frozenset[str], name: str
) -> ReaderParts:
    config: Any = module.config
    if "past_values" not in accepted or getattr(config, "patch_length", None) is None:
        raise Unsupported(
            phrase("errors.common.for_sizes", sizes=name, ids=row.name),
            expected=phrase("errors.models.model_patches_past_values_patchtst"),
            got=name,
        )
    reader = series_reader(
        "past_values",
        int(config.num_input_channels),
        patch=int(config.patch_stride),
        lead=int(bool(getattr(config, "use_cls_token", False))),
        length=int(config.context_length),
    )
    return reader, Traits(pooling="mean", config=settings(config)), None


def _audio(
    module: nn.Module, processor: Any, row: TaskRow, options: Options, accepted: frozenset[str], name: str
) -> ReaderParts:
    reader, traits = open_sound(module, processor, name=name, accepted=accepted, config=settings(module.config))
    return reader, traits, None
