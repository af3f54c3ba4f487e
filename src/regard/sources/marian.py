"""`marian`: a small translator of Hugging Face, trained on the spot."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from regard.records import Json
from regard.registry import method
from regard.training.cache import built_once


@method("source", data="phrases", task="sequence_to_sequence", modality="text", licence="Apache-2.0", seconds=60)
def marian(*, steps: int = 500, seed: int = 0) -> str:
    """A small MarianMT (2 + 2 layers x 4 heads) that translates the English sentences of `phrases` to Chinese words.

    Path of a Hugging Face directory, which also holds `pairs.csv`: 200 test sentences with translations and the true
    links of words. It stands in for OPUS-MT, whose weights no package carries.
    """

    def build(out: Path, state: Path) -> Mapping[str, Json]:
        from regard.training.marian_training import train_marian

        return train_marian(out, steps=steps, seed=seed)

    recipe: dict[str, Json] = {"version": 1, "steps": steps, "seed": seed}
    return str(built_once("marian", recipe, ("torch", "transformers"), build))
