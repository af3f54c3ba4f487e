"""GGUF files (llama.cpp): unpacked by transformers into a causal language model."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import torch
from torch import nn

from regard.errors import EnvironmentProblem, InputError
from regard.models.open.checkpoints import quiet


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


def open_gguf(file: Path) -> tuple[nn.Module, Any, str, list[str]]:
    """(model in float32, tokenizer, task, notes) of a GGUF file."""
    import transformers

    if not file.is_file():
        raise InputError(f"model {file}", expected="a GGUF file", got="no such file")
    for package in ("gguf", "accelerate"):
        if importlib.util.find_spec(package) is None:
            raise EnvironmentProblem(
                f"model {file}", expected=f"the package {package}", got="none", remedy="pip install 'regard[models]'"
            )
    options: dict[str, Any] = {"gguf_file": file.name, "local_files_only": True, "trust_remote_code": False}
    opener: Any = transformers.AutoModelForCausalLM
    tokens: Any = transformers.AutoTokenizer
    with quiet():
        module = opener.from_pretrained(str(file.parent), dtype=torch.float32, **options)
        tokenizer = tokens.from_pretrained(str(file.parent), **options)
    return module, tokenizer, "next_token", [f"unpacked from {file.name} to float32"]
