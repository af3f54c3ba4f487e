"""Limits on what a directory of a PEFT adapter may ask for, checked before anything of it is built."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from regard.errors import InputError
from regard.files import kind_of
from regard.models.open.config_limits import check_model, read_config
from regard.models.open.weight_files import header, weight_files

LARGEST_RANK: Final = 1 << 14
"""Where the weights do not say how large a rank is."""
_RANKS: Final = ("r", "init_r", "target_r", "rank_pattern", "num_virtual_tokens", "oft_block_size")


def check_adapter(folder: Path) -> None:
    """Refuse an adapter without a base, an adapter of an adapter, and ranks that its weights do not have."""
    about = read_config(folder / "adapter_config.json")
    subject = f"adapter {folder}"
    base = about.get("base_model_name_or_path")
    if not isinstance(base, str) or not base.strip() or "\0" in base:
        raise InputError(subject, expected="base_model_name_or_path, a directory or an id", got=repr(base)[:60])
    if not isinstance(about.get("peft_type"), str):
        raise InputError(subject, expected="peft_type, such as LORA", got=repr(about.get("peft_type"))[:60])
    weight_files(folder)
    weights = folder / "adapter_model.safetensors"
    if kind_of(weights) == "file":
        _check_ranks(about, subject, header(weights))
    place = folder / base if (folder / base).is_dir() else Path(base).expanduser()
    if kind_of(place) != "directory":
        return
    if kind_of(place / "adapter_config.json") == "file":
        base_kind = "the adapter itself" if place.resolve() == folder.resolve() else "another adapter"
        raise InputError(subject, expected="a whole model as its base", got=f"{base_kind} ({base})")
    check_model(place)


def _check_ranks(about: Mapping[str, Any], subject: str, shapes: Mapping[str, tuple[int, ...]]) -> None:
    most = max((n for name, shape in shapes.items() if "lora" in name for n in shape), default=LARGEST_RANK)
    for key in _RANKS:
        for rank in _each(about.get(key)):
            if isinstance(rank, bool) or not isinstance(rank, int) or not 0 <= rank <= most:
                expected = f"{key}: a whole number of at most {most:,}, the largest side of its weights"
                raise InputError(subject, expected=expected, got=str(rank)[:40])


def _each(value: Any) -> Iterator[Any]:
    yield from value.values() if isinstance(value, dict) else () if value is None else (value,)
