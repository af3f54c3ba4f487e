"""Quiet use of the transformers library."""

from __future__ import annotations

import importlib.util
import io
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

from regard.errors import EnvironmentProblem, phrase
from regard.models.open.checkpoints import quiet
from regard.training.fixed_steps import save_parts


def unpack_gguf(file: Path, out: Path, *, begin_token: bool = False) -> None:
    """Convert a GGUF language model and its tokenizer to a Hugging Face directory in float32.

    begin_token: put the token of the beginning before every text; transformers does not read this from the file.
    """
    for needed in ("gguf", "accelerate"):
        if importlib.util.find_spec(needed) is None:
            expected = phrase("errors.common.installed")
            subject = phrase("errors.common.package_needs", needs=needed)
            problem = phrase("errors.common.not_installed")
            raise EnvironmentProblem(subject, expected=expected, got=problem, remedy="pip install 'regard[models]'")
    import torch
    import transformers

    model_kind: Any = transformers.AutoModelForCausalLM
    tokenizer_kind: Any = transformers.AutoTokenizer
    # the bar of the GGUF reader knows no switch
    with quiet(), redirect_stderr(io.StringIO()):
        packed = model_kind.from_pretrained(
            file.parent, gguf_file=file.name, local_files_only=True, trust_remote_code=False, dtype=torch.float32
        )
        options = {"add_bos_token": True} if begin_token else {}
        tokenizer = tokenizer_kind.from_pretrained(
            file.parent, gguf_file=file.name, local_files_only=True, trust_remote_code=False, **options
        )
    # transformers still calls the model quantized and will not save it; its numbers are float32 by now
    facts = {k: v for k, v in packed.config.to_dict().items() if k != "quantization_config"}
    with quiet():
        plain = model_kind.from_config(type(packed.config).from_dict(facts), dtype=torch.float32)
        plain.load_state_dict(packed.state_dict(), strict=True)
        if packed.can_generate():
            plain.generation_config = packed.generation_config
    save_parts(out, plain, tokenizer)
