"""Hugging Face directories and PEFT adapters on disk -> a live model and its processor. Nothing in them is executed."""

from __future__ import annotations

import importlib.util
import json
import pickle
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from torch import nn

from regard.errors import EnvironmentProblem, InputError, Text, Unsupported, phrase
from regard.message import Message
from regard.models.open.hub import hub
from regard.models.open.huggingface import infer_task, task_row
from regard.models.open.placement import Placement, loading_arguments, unpack_on_cpu
from regard.models.open.safe_config import refuse_adapter_code, without_kernels

_OPTIONAL = {
    "sentencepiece": "sentencepiece",
    "tiktoken": "tiktoken",
    "sacremoses": "sacremoses",
    "fugashi": "fugashi",
    "rjieba": "rjieba",
    "blobfile": "blobfile",
    "protobuf": "google.protobuf",
    "pillow": "PIL",
    "torchvision": "torchvision",
    "timm": "timm",
}
"""Packages that only some tokenizers and processors need: their pip name, and their import name."""
_PEFT_TASKS = {
    "SEQ_CLS": "classification",
    "TOKEN_CLS": "token_classification",
    "QUESTION_ANS": "question_answering",
    "CAUSAL_LM": "next_token",
    "SEQ_2_SEQ_LM": "sequence_to_sequence",
    "FEATURE_EXTRACTION": "similarity",
}


@contextmanager
def quiet(*, download: bool = False) -> Iterator[None]:
    """Silence transformers' load reports and progress bars, and keep it off the network unless `download`."""
    with hub(download=download), _silent():
        yield


@contextmanager
def _silent() -> Iterator[None]:
    import transformers

    logging: Any = transformers.utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def open_pretrained(
    source: str,
    task: str | None,
    *,
    trust_remote_code: bool,
    download: bool,
    where: Placement = Placement(),  # noqa: B008 - frozen
) -> tuple[nn.Module, Any, str, list[Text]]:
    """(model, processor, task, notes) of a directory or of an id in the local cache."""
    config = _config(source, trust_remote_code, download)
    architecture = (config.architectures or [""])[0]
    resolved = task or infer_task(config, architecture)
    module, notes, missing = _weights(
        source,
        config,
        architecture,
        task=resolved,
        asked=task,
        trust_remote_code=trust_remote_code,
        download=download,
        where=where,
    )
    _refuse_missing(source, missing, resolved, architecture)
    return module, open_processor(source, config, resolved, trust_remote_code, download), resolved, notes


def open_pair(source: str, *, trust_remote_code: bool = False, download: bool = False) -> tuple[nn.Module, Any]:
    """(model, processor) of a directory, or of an id in the local cache, whose model reads a text and a picture."""
    from transformers import AutoProcessor

    opener: Any = AutoProcessor
    config = _config(source, trust_remote_code, download)
    architecture = (config.architectures or [""])[0]
    module, _, missing = _weights(
        source,
        config,
        architecture,
        task="similarity",
        asked=None,
        trust_remote_code=trust_remote_code,
        download=download,
    )
    _refuse_missing(source, missing, "words and pictures", architecture)
    try:
        with quiet(download=download):
            processor = opener.from_pretrained(
                source, local_files_only=not download, trust_remote_code=trust_remote_code
            )
    except Exception as error:  # each processor fails in its own way
        raise InputError(
            phrase("errors.common.model_live", live=source),
            expected=phrase("errors.models.processor_texts_and_pictures"),
            got=_short(error),
            remedy=phrase("errors.models.processor_save_pretrained_into_model"),
        ) from error
    return module.eval(), processor


def _config(source: str, trust_remote_code: bool, download: bool) -> Any:
    from transformers import AutoConfig

    folder = Path(source)
    if folder.is_dir() and not (folder / "config.json").is_file():
        file_names = ", ".join(sorted(p.name for p in folder.iterdir())[:6]) or phrase("errors.common.nothing")
        raise InputError(
            phrase("errors.common.directory_path", path=source),
            expected=phrase("errors.models.model_config_json_hugging_face"),
            got=file_names,
        )
    try:
        with quiet(download=download):
            return AutoConfig.from_pretrained(
                source, local_files_only=not download, trust_remote_code=trust_remote_code
            )
    except Exception as error:
        raise InputError(
            phrase("errors.common.model_live", live=source),
            expected=phrase("errors.common.hugging_face_model")
            if folder.is_dir()
            else phrase("errors.models.hugging_face_model_in_local"),
            got=_short(error),
            remedy=code_remedy(error, trust_remote_code)
            or ("" if folder.is_dir() or download else phrase("errors.models.give_directory_or_download")),
        ) from error


def _weights(
    source: str,
    config: Any,
    architecture: str,
    *,
    task: str,
    asked: str | None,
    trust_remote_code: bool,
    download: bool,
    where: Placement = Placement(),  # noqa: B008 - frozen
) -> tuple[nn.Module, list[Text], list[str]]:
    import transformers

    row = task_row(task)
    fits = row.endings and architecture.endswith(row.endings)
    kind: Any = getattr(transformers, architecture, None)
    has_class = isinstance(kind, type) and issubclass(kind, transformers.PreTrainedModel)
    if not has_class or not (asked is None or fits) or task == "masked_token":
        kind = getattr(transformers, row.auto, None) if row.auto else None
    if kind is None:
        raise Unsupported(
            phrase("errors.common.model_live", live=source),
            expected=phrase("errors.models.architecture_for_task", task=task),
            got=architecture or phrase("errors.models.none_named"),
        )
    notes = without_kernels(config, source)
    try:
        with quiet(download=download):
            module, info = kind.from_pretrained(
                source,
                config=config,
                local_files_only=not download,
                trust_remote_code=trust_remote_code,
                output_loading_info=True,
                **loading_arguments(where),
            )
            module, remarks = unpack_on_cpu(module)
            notes += remarks
    except pickle.UnpicklingError as error:
        raise InputError(
            phrase("errors.models.weights_source", source=source),
            expected=phrase("errors.models.safetensors_or_plain_table_tensors"),
            got=phrase("errors.models.pickle_with_code"),
            remedy=phrase("errors.models.save_model_with_safetensors_pickle"),
        ) from error
    except (OSError, ValueError, RuntimeError, KeyError, SafetensorError) as error:
        raise InputError(
            phrase("errors.models.weights_source", source=source),
            expected=phrase("errors.models.weights_source", source=architecture),
            got=_short(error),
            remedy=code_remedy(error, trust_remote_code),
        ) from error
    unexpected = sorted(info["unexpected_keys"])
    if unexpected:
        notes.append(
            Message.of(
                "model_note.unused_weights",
                n=len(unexpected),
                source=source,
                model=type(module).__name__,
                first=", ".join(unexpected[:3]),
            )
        )
    missing = sorted(info["missing_keys"]) + [str(k[0]) for k in info.get("mismatched_keys", ())]
    return module, notes, missing


def _refuse_missing(source: str, missing: list[str], task: str, architecture: str) -> None:
    # the pooler of an encoder is not read when token vectors are averaged
    needed = [name for name in missing if not (task == "similarity" and name.startswith("pooler."))]
    if needed:
        first = ", ".join(needed[:4])
        problem = (
            phrase("errors.models.no_and_more", first=first, n=len(needed) - 4)
            if len(needed) > 4
            else phrase("errors.common.no_error", error=first)
        )
        raise InputError(
            phrase("errors.models.weights_source", source=source),
            expected=phrase("errors.models.every_weight_model_for_task", task=task),
            got=problem,
            remedy=phrase("errors.models.would_run_on_random_numbers"),
        )


def open_processor(source: str, config: Any, task: str, trust_remote_code: bool, download: bool) -> Any:
    """The tokenizer, the image processor or the feature extractor of sounds, beside the weights."""
    import transformers

    modality = task_row(task).modality
    if modality == "series":
        return None
    if task == "sequence_to_sequence" and config.model_type == "whisper":
        modality = "speech"
    makers: dict[str, Any] = {
        "text": transformers.AutoTokenizer,
        "audio": transformers.AutoFeatureExtractor,
        "speech": transformers.AutoProcessor,
    }
    maker = makers.get(modality, transformers.AutoImageProcessor)
    nouns = {"text": "tokenizer", "audio": "feature_extractor", "speech": "processor"}
    noun = nouns.get(modality, "image_processor")
    problem: Exception | None = None
    processor = None
    try:
        with quiet(download=download):
            processor = maker.from_pretrained(
                source, local_files_only=not download, trust_remote_code=trust_remote_code
            )
    except Exception as error:  # each tokenizer fails in its own way
        problem = error
        if (package := missing_package(error, source)) is not None:
            raise EnvironmentProblem(
                phrase("errors.common.of_key", key=Message(f"errors.noun.{noun}"), subject=source),
                expected=phrase("errors.models.package_package", package=package),
                got=phrase("errors.common.not_installed"),
                remedy=f"pip install {package}",
            ) from error
    if processor is None or (modality == "text" and _hollow(processor)):
        raise InputError(
            phrase("errors.common.model_live", live=source),
            expected=phrase("errors.models.beside_weights", noun=noun),
            got=_short(problem) if problem else phrase("errors.common.none"),
            remedy=code_remedy(problem, trust_remote_code)
            or phrase("errors.models.save_there_save_pretrained_or_load", value=noun),
        ) from problem
    return processor


def missing_package(error: BaseException, source: str = "") -> str | None:
    """Name the missing optional package behind an error of transformers; None for another error.

    source: the directory of the model. transformers 5 tries tiktoken on a SentencePiece file that it could not open,
    and complains about tiktoken alone.

    >>> missing_package(ImportError("T5Tokenizer requires the SentencePiece library but it was not found"))
    'sentencepiece'
    """
    text = str(error).casefold()
    lacking = isinstance(error, ImportError) or any(
        words in text for words in ("not found", "not installed", "install", "no module", "requires the")
    )
    absent = (name for name in _OPTIONAL if name in text and importlib.util.find_spec(_OPTIONAL[name]) is None)
    package = next(absent, None) if lacking else None
    fallback = package == "tiktoken" and importlib.util.find_spec("sentencepiece") is None
    return "sentencepiece" if fallback and _has_sentencepiece_file(Path(source)) else package


def _has_sentencepiece_file(folder: Path) -> bool:
    """Return whether a directory holds a SentencePiece model: a protocol buffer, where tiktoken writes text."""
    return any(file.read_bytes()[:1] == b"\n" for ending in ("*.model", "*.spm") for file in folder.glob(ending))


def _hollow(tokenizer: Any) -> bool:
    """Return whether a tokenizer has no vocabulary: transformers 5 builds one from nothing."""
    return len(set(tokenizer.get_vocab()) - set(tokenizer.all_special_tokens)) < 2


def code_remedy(error: BaseException | None, trust_remote_code: bool) -> Text:
    """Remedy for a model that needs its own code; "" for every other problem."""
    if trust_remote_code or "trust_remote_code" not in str(error):
        return ""
    return phrase("errors.models.read_code_that_brings_if")


def _short(error: BaseException | None) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:160]


def adapter_base(folder: Path, about: Mapping[str, Any]) -> str:
    """Base model of an adapter: a directory beside it, another path, or an id."""
    base = str(about.get("base_model_name_or_path") or "")
    return str(folder / base) if (folder / base).is_dir() else base


def open_peft(
    folder: Path, task: str | None, *, trust_remote_code: bool, download: bool
) -> tuple[Any, Any, str, list[Text]]:
    """(model with the adapter merged in, processor, task, notes) of a PEFT adapter directory."""
    try:
        from peft import PeftModel
    except ImportError as error:
        raise EnvironmentProblem(
            phrase("errors.models.adapter_folder", folder=folder),
            expected=phrase("errors.models.package_peft"),
            got=phrase("errors.common.none"),
            remedy="pip install 'regard[peft]'",
        ) from error
    from safetensors import safe_open

    about = json.loads((folder / "adapter_config.json").read_text("utf-8"))
    weights = folder / "adapter_model.safetensors"
    if not weights.is_file():
        raise InputError(
            phrase("errors.models.adapter_folder", folder=folder),
            expected="adapter_model.safetensors",
            got=phrase("errors.common.no_such_file"),
        )
    refuse_adapter_code(about, phrase("errors.models.adapter_folder", folder=folder))
    base = adapter_base(folder, about)
    with safe_open(str(weights), framework="pt") as file:
        shapes = {name: list(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118 - not a dict
    config = _config(base, trust_remote_code, download)
    architecture = (config.architectures or [""])[0]
    resolved = task or _PEFT_TASKS.get(str(about.get("task_type"))) or infer_task(config, architecture)
    heads = [s[0] for name, s in shapes.items() if len(s) == 2 and name.endswith(("classifier.weight", "score.weight"))]
    if (
        heads
        and resolved in ("classification", "token_classification", "multi_label")
        and config.num_labels != heads[0]
    ):
        config.num_labels = heads[0]
    module, notes, missing = _weights(
        base,
        config,
        architecture,
        task=resolved,
        asked=resolved,
        trust_remote_code=trust_remote_code,
        download=download,
    )
    trained_names = {name.removeprefix("base_model.model.").replace("modules_to_save.", "") for name in shapes}
    _refuse_missing(base, [name for name in missing if name not in trained_names], resolved, architecture)
    with quiet(download=download):
        module = PeftModel.from_pretrained(module, str(folder)).merge_and_unload()
    own = any((folder / name).is_file() for name in ("tokenizer.json", "tokenizer_config.json"))
    processor = open_processor(str(folder) if own else base, config, resolved, trust_remote_code, download)
    merged = Message.of("model_note.adapter", adapter=folder.name, base=base)
    return module, processor, resolved, [*notes, merged]
