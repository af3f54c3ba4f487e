"""Segments of a sound as the units of a model that reads frames.

A frame of 20 ms is a small part of a spoken word: removing one changes next to nothing, and a second of sound has 50 of
them. An audit therefore uses segments of a tenth of a second: their attention is the sum over their frames, and
removing one removes all of its samples.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace

from regard.models.adapter import TorchModel
from regard.models.read.sound import SEGMENT, SoundReader
from regard.protocols import Model
from regard.records import Spec


def in_segments(model: Model, seconds: float = SEGMENT) -> Model:
    """Use segments of so many seconds as units of a model that reads frames; return any other model unchanged."""
    if not isinstance(model, TorchModel) or not isinstance(model.reader, SoundReader):
        return model
    if "silence" not in model.operators or not model.reader.rate or model.reader.segment == seconds:
        return model  # patches of a spectrogram are no frames
    gathered = copy(model)
    gathered.reader = replace(model.reader, segment=seconds)
    spec = model.spec
    gathered.spec = None if spec is None else Spec(spec.kind, spec.name, {**spec.params, "segment": seconds})
    return gathered
