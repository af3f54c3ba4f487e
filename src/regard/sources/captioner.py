"""`captioner`: a small image-to-text model, trained on the spot."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from regard.records import Json
from regard.registry import method
from regard.training.cache import built_once


@method("source", data="quadrants", task="image_to_text", modality="image", licence="Apache-2.0", seconds=20)
def captioner(*, steps: int = 250, seed: int = 0) -> str:
    """A small LLaVA (a vision tower of 1 layer, a Llama of 2) that writes the colours of four quadrants in order.

    Path of a Hugging Face directory. Ask it "<image> :"; it writes four colours. It proves the maps of written words:
    the word of a quadrant must point into it.
    """

    def build(out: Path, state: Path) -> Mapping[str, Json]:
        from regard.training.caption_training import train_captioner

        return train_captioner(out, steps=steps, seed=seed)

    recipe: dict[str, Json] = {"version": 1, "steps": steps, "seed": seed}
    return str(built_once("captioner", recipe, ("torch", "transformers"), build))
