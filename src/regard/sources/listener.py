"""`listener`: a small classifier of sounds of Hugging Face, trained on the spot."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from regard.records import Json
from regard.registry import method
from regard.training.cache import built_once


@method(
    "source", data="planted_sounds", task="audio_classification", modality="audio", licence="Apache-2.0", seconds=60
)
def listener(*, kind: Literal["wav2vec2", "ast"] = "wav2vec2", steps: int | None = None, seed: int = 0) -> str:
    """A small Wav2Vec2 (or AST) that hears the low and the high beeps of `planted_sounds`.

    Path of a Hugging Face directory, which also holds `recordings/`: 120 test sounds, one sub-folder for each class.
    Both have 2 layers x 4 heads. steps: default 200 (ast: 400).
    It stands in for published classifiers of sounds, whose weights no package carries.
    """

    def build(out: Path, state: Path) -> Mapping[str, Json]:
        from regard.training.sound_training import train_listener

        return train_listener(out, kind=kind, steps=steps, seed=seed)

    recipe: dict[str, Json] = {"version": 1, "kind": kind, "steps": steps, "seed": seed}
    return str(built_once("listener", recipe, ("torch", "transformers"), build))
