"""Segments of a sound as the units of a model that reads frames.

A frame of 20 ms is a small part of a spoken word: removing one changes next to nothing, and a second of sound has 50 of
them. An audit therefore uses segments of a tenth of a second: their attention is the sum over their frames, and
removing one removes all of its samples.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace

from regard.errors import InputError, Unsupported, phrase
from regard.models.adapter import TorchModel
from regard.models.read.sound import SEGMENT, SoundReader
from regard.protocols import Model
from regard.records import Spec


def in_segments(model: Model, seconds: float | None = None) -> Model:
    """Use segments of so many seconds as units of a model that reads frames.

    Without a number, a model keeps the segments that it has, or uses a tenth of a second; a model that reads no frames
    is returned unchanged. Such a model is an error if the caller names a number.
    """
    if not _reads_frames(model):
        if seconds is None:
            return model
        subject = phrase("errors.models.segments_model", model=model.name)
        raise Unsupported(subject, expected=phrase("errors.models.model_that_reads_frames"), got=model.modality)
    assert isinstance(model, TorchModel)
    assert isinstance(model.reader, SoundReader)
    if seconds is None:
        seconds = model.reader.segment or SEGMENT
    if not 0 < seconds < float("inf"):
        raise InputError("segment", expected=phrase("errors.models.positive_seconds"), got=f"{seconds:g}")
    if model.reader.segment == seconds:
        return model
    gathered = copy(model)
    gathered.reader = replace(model.reader, segment=seconds)
    spec = model.spec
    gathered.spec = None if spec is None else Spec(spec.kind, spec.name, {**spec.params, "segment": seconds})
    return gathered


def _reads_frames(model: Model) -> bool:
    """Whether the units are frames of samples; patches of a spectrogram are none."""
    sound = isinstance(model, TorchModel) and isinstance(model.reader, SoundReader) and model.reader.rate > 0
    return sound and "silence" in model.operators
