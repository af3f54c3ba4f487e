"""`captioner`: a small image-to-text model, trained on the spot."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from regard.records import Json
from regard.registry import method
from regard.training.cache import built_once


@method("source", data="quadrants", task="image_to_text", modality="image", licence="Apache-2.0", seconds=30)
def captioner(*, steps: int = 400, seed: int = 0) -> str:
    """A small LLaVA (a vision tower of 1 layer, a Llama of 2) that describes four quadrants, in no fixed order.

    Path of a Hugging Face directory. Ask it "<image> : below-left"; it writes the colour there, and goes on with the
    other places. It proves the maps of written words: the colour of a quadrant must point into it.
    """

    def build(out: Path, state: Path) -> Mapping[str, Json]:
        from regard.training.caption_training import train_captioner

        return train_captioner(out, steps=steps, seed=seed)

    recipe: dict[str, Json] = {"version": 2, "steps": steps, "seed": seed}
    return str(built_once("captioner", recipe, ("torch", "transformers"), build))
