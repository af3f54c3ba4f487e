"""Limits for model directories, checked before building anything from one.

A config.json is a few lines that anyone can write: ten million layers take hours to build, and a vocabulary of 10**12
words fills the memory. Its numbers are compared with the weights that lie beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import torch

from regard.errors import InputError, RegardError, Text, phrase
from regard.files import check_file, kind_of, read_json, shown_size
from regard.foreign_code import described
from regard.models.open.weight_files import Held, header, held, weight_files

LARGEST_CONFIG: Final = 16 << 20
MOST_LAYERS: Final = 512
"""Layers that may always be built; more only if the weights list as many tensors."""
MOST_PARTS: Final = 1 << 16
MOST_LABELS: Final = 1_000_000
MOST_OF_ANYTHING: Final = 1 << 40
LARGEST_RANK: Final = 1 << 14
"""Maximum rank of an adapter if its weights do not show a smaller one."""
_RANKS: Final = ("r", "init_r", "target_r", "rank_pattern", "num_virtual_tokens", "oft_block_size")
FREE_NUMBERS: Final = 1 << 24
"""Numbers that a model may have beyond its weights: untrained heads, tables of positions."""
PER_BYTE: Final = 2
PER_QUANTIZED_BYTE: Final = 8
"""Maximum numbers per byte of weights."""

_LAYERS: Final = re.compile(r"(^|_)(n_)?(layers?|blocks?|depths?|stages?)(_|$)")
_PARTS: Final = re.compile(r"(^|_)(heads?|groups?|experts?|towers?|levels?)(_|$)")
_SIZES: Final = re.compile(r"(^|_)(size|dim|width|channels|heads?|layers?|embd|inner)$")
_UNUSED: Final = {
    "auto_map",
    "attn_implementation",
    "_attn_implementation",
    "_experts_implementation",
    "quantization_config",
    "use_pretrained_backbone",
    "custom_pipelines",
    "trust_remote_code",
}
"""Settings that do not change the number of weights, or that would run or fetch code."""


@contextmanager
def opening(source: object) -> Iterator[None]:
    """Replace any library exception about a malformed directory by a one-line error."""
    try:
        yield
    except (RegardError, MemoryError):
        raise
    except BaseException as error:
        # tokenizers panic with an exception outside `Exception`; Ctrl-C and sys.exit are not theirs
        if isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit):
            raise
        raise InputError(
            phrase("errors.common.model_live", live=source),
            expected=phrase("errors.models.model_that_can_opened"),
            got=described(error),
        ) from error


def check_model(folder: Path) -> None:
    """Refuse a Hugging Face directory whose config.json describes a far larger model than its weights."""
    path = folder / "config.json"
    if kind_of(path) != "file":
        return  # another kind of directory, or none: loading says so
    config = read_config(path)
    weights = held(folder)
    _check_numbers(config, path, len(weights.tensors))
    needed = _needed(config)
    per_byte = PER_QUANTIZED_BYTE if config.get("quantization_config") else PER_BYTE
    if weights.size and needed > FREE_NUMBERS + per_byte * weights.size:
        _refuse(path, needed, weights)


def check_adapter(folder: Path) -> None:
    """Refuse an adapter without a base, an adapter of an adapter, and ranks that its weights do not have."""
    about = read_config(folder / "adapter_config.json")
    subject = phrase("errors.models.adapter_folder", folder=folder)
    base = about.get("base_model_name_or_path")
    if not isinstance(base, str) or not base.strip() or "\0" in base:
        raise InputError(
            subject, expected=phrase("errors.models.base_model_name_or_path_directory"), got=repr(base)[:60]
        )
    if not isinstance(about.get("peft_type"), str):
        raise InputError(
            subject, expected=phrase("errors.models.peft_type_such_lora"), got=repr(about.get("peft_type"))[:60]
        )
    weight_files(folder)
    weights = folder / "adapter_model.safetensors"
    if kind_of(weights) == "file":
        _check_ranks(about, subject, header(weights))
    place = folder / base if (folder / base).is_dir() else Path(base).expanduser()
    if kind_of(place) != "directory":
        return
    if kind_of(place / "adapter_config.json") == "file":
        base_kind = (
            phrase("errors.models.adapter_itself")
            if place.resolve() == folder.resolve()
            else phrase("errors.models.another_adapter")
        )
        raise InputError(
            subject,
            expected=phrase("errors.models.whole_model_base"),
            got=phrase("errors.common.with_place", problem=base_kind, place=base),
        )
    check_model(place)


def _check_ranks(about: Mapping[str, Any], subject: Text, shapes: Mapping[str, tuple[int, ...]]) -> None:
    most = max((n for name, shape in shapes.items() if "lora" in name for n in shape), default=LARGEST_RANK)
    for key in _RANKS:
        value = about.get(key)
        ranks = value.values() if isinstance(value, dict) else () if value is None else (value,)
        for rank in ranks:
            if isinstance(rank, bool) or not isinstance(rank, int) or not 0 <= rank <= most:
                expected = phrase("errors.models.whole_number_at_most_largest", key=key, most=most)
                raise InputError(subject, expected=expected, got=str(rank)[:40])


def read_config(path: Path) -> dict[str, Any]:
    """The settings of a model or an adapter."""
    if (size := check_file(path)) > LARGEST_CONFIG:
        raise InputError(
            phrase("errors.common.file_place", place=path),
            expected=phrase("errors.common.at_most", n=shown_size(LARGEST_CONFIG)),
            got=shown_size(size),
        )
    config = read_json(path)
    if not isinstance(config, dict):
        raise InputError(
            phrase("errors.common.file_place", place=path),
            expected=phrase("errors.common.json_object"),
            got=type(config).__name__,
        )
    return config


def _refuse(path: Path, needed: int, weights: Held) -> None:
    raise InputError(
        phrase("errors.common.file_place", place=path),
        expected=phrase("errors.models.model_that_fits_weights", size=shown_size(weights.size)),
        got=phrase("errors.models.numbers_needed", needed=needed),
        remedy=phrase("errors.models.use_config_of_weights"),
    )


def _check_numbers(config: Mapping[str, Any], path: Path, tensors: int) -> None:
    """Refuse counts that no model has; `tensors`: number that the weight files list."""
    for key, value in _numbers(config):
        most = MOST_OF_ANYTHING
        if key in ("num_labels", "_num_labels"):
            most = MOST_LABELS
        elif _LAYERS.search(key):
            most = max(MOST_LAYERS, tensors)
        elif _PARTS.search(key):
            most = MOST_PARTS
        elif re.search(r"position|length|ctx|window|token|seed", key):
            continue  # no size: -1, or as large as a number can be, is usual
        if value < 0 and key.endswith(("feature_layer", "select_layer")):
            continue  # a layer counted from the last one
        if value < 0 and _SIZES.search(key):
            raise InputError(
                phrase("errors.common.file_place", place=path),
                expected=phrase("errors.models.or_more", key=key),
                got=f"{value:.4g}",
            )
        if value > most:
            raise InputError(
                phrase("errors.common.file_place", place=path),
                expected=phrase("errors.models.at_most", key=key, most=most),
                got=f"{value:.4g}",
            )


def _numbers(config: Mapping[str, Any], depth: int = 0) -> Iterator[tuple[str, float]]:
    """(key, number) of a config and of every config and list inside it."""
    for key, value in config.items():
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, int | float) and not isinstance(each, bool):
                yield str(key), each if abs(each) < 10**300 else 1e300
            elif isinstance(each, dict) and depth < 8 and key not in ("id2label", "label2id", "task_specific_params"):
                yield from _numbers(each, depth + 1)


def _needed(config: Mapping[str, Any]) -> int:
    """Count the numbers of the model on a device without memory; 0 if it cannot be built at all."""
    import transformers
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    names = config.get("architectures")
    name = names[0] if isinstance(names, list) and names and isinstance(names[0], str) else ""
    kind: Any = getattr(transformers, name, None)
    if not (isinstance(kind, type) and issubclass(kind, transformers.PreTrainedModel)):
        return 0
    try:
        settings: Any = CONFIG_MAPPING[str(config.get("model_type"))]
        with torch.device("meta"), _quick():
            module = kind(settings.from_dict(_plain(config)))
        return sum(tensor.numel() for tensors in (module.parameters(), module.buffers()) for tensor in tensors)
    except Exception:  # loading builds it in the same way, and then says what is wrong
        return 0


def _quick() -> Any:
    """Build without initialising weights."""
    from transformers.initialization import no_init_weights

    return no_init_weights()


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items() if key not in _UNUSED}
    return value
