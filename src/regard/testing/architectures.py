"""Tiny random models of many architectures: what the tap is proved on, and what `docs/support.md` is written from.

    for row in ARCHITECTURES:
        model, inputs = row.build(), row.inputs()
        model(**inputs)

Every row names its `transformers` classes, the settings that make the model small, inputs (padded where the model takes
an attention mask), the attention sites expected of that configuration with the sum in words, and what is known about
the weights that the model itself reports. Nothing is downloaded, and neither timm nor torchvision is needed.
"""

from __future__ import annotations

from regard.errors import UnknownName
from regard.testing.architecture import Architecture
from regard.testing.architecture_rows import (
    decoders,
    encoder_decoders,
    sound_and_series,
    text_and_image,
    text_encoders,
    vision,
)

ARCHITECTURES: tuple[Architecture, ...] = (
    *text_encoders.ROWS,
    *decoders.ROWS,
    *encoder_decoders.ROWS,
    *vision.ROWS,
    *sound_and_series.ROWS,
    *text_and_image.ROWS,
)


def find(name: str) -> Architecture:
    """The row of that name.

    >>> find("BERT").count
    2
    """
    by_name = {row.name: row for row in ARCHITECTURES}
    if name not in by_name:
        raise UnknownName("architecture", name, by_name)
    return by_name[name]
