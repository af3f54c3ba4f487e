"""Random input in the form that a model reads, to try methods on."""

from __future__ import annotations

from typing import Any

import numpy as np

from regard.models.read.regions import ArrayReader
from regard.models.read.sound import SoundReader
from regard.protocols import Model
from regard.records import Example, frozen

PICTURE = (64, 64, 3)
LOUDNESS = 0.1


def trial_input(model: Model) -> Example | None:
    """Return a random picture, sound, series or row; None for a text model, or if the shape is unknown."""
    rng = np.random.default_rng(0)
    reader: Any = getattr(model, "reader", None)
    if model.modality == "image":
        shape = getattr(reader, "trial", ()) or PICTURE
        return Example("random picture", {"image": frozen(rng.integers(0, 256, shape), np.uint8)})
    if not isinstance(reader, ArrayReader) or not reader.trial:
        return None
    numbers = frozen(rng.standard_normal(reader.trial))
    if isinstance(reader, SoundReader):
        return Example("random sound", {"audio": frozen(LOUDNESS * numbers), "rate": reader.rate or reader.trial[0]})
    return Example(f"random {reader.entry}", {reader.entry: numbers})
