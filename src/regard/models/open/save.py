"""Save a changed model into a directory that `load` opens, with the other files of its source directory."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regard.errors import InputError, Unsupported, phrase
from regard.models.ask.torch_module import torch_module
from regard.models.open.checkpoints import quiet
from regard.networks.checkpoint import load_checkpoint, save_checkpoint
from regard.protocols import Model
from regard.records import Json, Spec
from regard.registry import build, names

_WEIGHTS = (
    "*.safetensors",
    "*.bin",
    "*.pt",
    "*.pth",
    "*.h5",
    "*.msgpack",
    "*.gguf",
    "*.index.json",
    "source.json",
    ".*",
)
_OWN = ("format", "version", "network", "config", "labels", "task", "modality", "sha256")


def folder_of(source: str) -> Path:
    """The directory behind a name or path."""
    if not Path(source).exists() and source.partition(":")[0] in names("source"):
        return Path(str(build(Spec.parse("source", source))()))
    folder = Path(source).expanduser()
    if not folder.is_dir():
        raise Unsupported(
            phrase("errors.models.writing_changed", source=source),
            expected=phrase("errors.models.model_from_directory_or_name"),
            got=phrase("errors.common.model_without_directory"),
            remedy=phrase("errors.models.save_with_tokenizer_into_directory"),
        )
    if (folder / "adapter_config.json").is_file():
        raise Unsupported(
            phrase("errors.models.writing_changed", source=source),
            expected=phrase("errors.models.whole_model"),
            got=phrase("errors.models.adapter_on_top_another"),
            remedy=phrase("errors.models.merge_and_unload_and_save_result"),
        )
    return folder


def refuse_taken(out: Path) -> None:
    """Refuse to write into a directory that is not empty."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(
            phrase("errors.common.directory_path", path=out),
            expected=phrase("errors.models.new_or_empty_one"),
            got=phrase("errors.models.one_with_files"),
            remedy=phrase("errors.common.choose_another_out"),
        )


def save_changed(model: Model, source: Path, out: Path, facts: Mapping[str, Json]) -> None:
    """Save the weights of `model` and copy everything else (tokenizer, ...) from `source`."""
    refuse_taken(out)
    module: Any = torch_module(model)
    if (source / "regard.json").is_file():
        _, about = load_checkpoint(source)
        inherited = {key: value for key, value in about.items() if key not in _OWN}
        save_checkpoint(
            out,
            module,
            labels=about["labels"],
            task=about["task"],
            modality=about["modality"],
            facts={**inherited, **facts},
        )
        return
    shutil.copytree(source, out, ignore=shutil.ignore_patterns(*_WEIGHTS), dirs_exist_ok=True)
    with quiet():
        module.save_pretrained(out)
