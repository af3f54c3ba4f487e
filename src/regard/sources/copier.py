"""`copier`: a tiny chat model that answers by a known rule, trained on the spot."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from regard.datasets.copying_prompts import Rule
from regard.records import Json
from regard.registry import method
from regard.sources._copying import STEPS, train_copier
from regard.training.cache import built_once


@method("source", data="documents", prompts="copying", task="next_token", modality="text", licence="MIT", seconds=10)
def copier(*, rule: Rule = "asked", seed: int = 0) -> str:
    """A two-layer chat model that copies the asked city, always the first one, or answers from memory.

    Path of a Hugging Face directory. The truth for citations: `regard audit copier:rule=first --task answer`.
    """

    def build(out: Path, state: Path) -> Mapping[str, Json]:
        return dict(train_copier(rule, seed, out))

    recipe: dict[str, Json] = {"version": 1, "rule": rule, "seed": seed, "steps": STEPS[rule]}
    return str(built_once("copier", recipe, ("torch", "transformers"), build))
