"""transformers, without its remarks and bars where they say nothing new."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def quiet() -> Iterator[None]:
    """transformers logs errors only, and draws no bars, inside the block."""
    import transformers.utils

    logging: Any = transformers.utils.logging
    level = logging.get_verbosity()
    bars = logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def unpack_gguf(file: Path, out: Path) -> None:
    """A causal language model and its tokenizer from a GGUF file, saved as a Hugging Face directory in float32."""
    import torch
    import transformers

    model_kind: Any = transformers.AutoModelForCausalLM
    tokenizer_kind: Any = transformers.AutoTokenizer
    with quiet():
        where = {"gguf_file": file.name, "local_files_only": True}
        model = model_kind.from_pretrained(file.parent, dtype=torch.float32, **where)
        model.save_pretrained(out)
        tokenizer_kind.from_pretrained(file.parent, **where).save_pretrained(out)
