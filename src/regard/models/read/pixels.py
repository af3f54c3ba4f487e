"""Images for a Hugging Face image processor: convert any user image to the scale that the processor expects.

A processor is made for pictures of 0..255: it resizes, rescales and normalises them itself. So uint8 arrays, floats of
0..1 or 0..255 and PIL images all become 0..255 here, and the processor does its work exactly once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from regard.errors import InputError
from regard.measures.pixel_range import full_brightness
from regard.models.read.images import as_channels_first
from regard.models.read.regions import Array

_COLOURS = {1: "L", 3: "RGB"}
_NUMBERS = ("I", "F")
"""Modes of PIL images that hold numbers of another range than 0..255, with everything that begins so."""


def as_pixels(image: Any, channels: int) -> Array:
    """The numbers of an image; a PIL image in another mode (palette, transparent) in the model's colours first."""
    mode = getattr(image, "mode", None)
    model_mode = _COLOURS.get(channels)
    if isinstance(mode, str) and model_mode is not None and mode != model_mode and not mode.startswith(_NUMBERS):
        image = image.convert(model_mode)
    return np.asarray(image)


def on_255(image: Any, channels: int, subject: str) -> Array:
    """(channels, height, width) of an image on 0..255, not rounded."""
    raw = as_pixels(image, channels)
    array = as_channels_first(raw, channels, subject)
    top = full_brightness(raw) if raw.size else 1.0
    if top is None:
        raise InputError(
            subject,
            expected="pixels of 0..1 or 0..255 (uint8 is always 0..255)",
            got=f"{raw.min():g} to {raw.max():g}" if np.isfinite(raw).all() else "NaN or infinity",
            remedy="pass the image before normalization: the model's image processor normalizes it",
        )
    return array if top == 255.0 else np.asarray(np.clip(array, 0.0, 1.0) * np.float32(255.0))


def processed(processor: Any, pixels: Array) -> Array:
    """(channels, height, width) as the model reads it, of an image on 0..255.

    Processors resize bytes, so an image that is resized is rounded to them; one that has the right size already is
    passed on unrounded, so that a small change of it reaches the model.
    """
    options: dict[str, Any] = {}
    if _has_its_size(processor, pixels):
        options["do_resize"] = False
    elif getattr(processor, "do_resize", True) or getattr(processor, "do_convert_rgb", False):
        pixels = as_bytes(pixels)
    if reads_unit_range(processor):
        options |= {"do_rescale": True, "rescale_factor": 1 / 255}
    batch = processor(images=pixels, input_data_format="channels_first", return_tensors="np", **options)
    return np.asarray(batch["pixel_values"][0], dtype=np.float32)


def as_bytes(pixels: Array) -> Array:
    """Numbers of 0..255 as uint8, rounded to the nearest."""
    return np.clip(np.rint(pixels), 0, 255).astype(np.uint8)


def bytes_of_picture(image: Any, subject: str) -> Array:
    """(height, width, 3) bytes of a grey or coloured picture, for a processor of texts and pictures."""
    colour = np.shape(image)[-1:] == (4,) and not hasattr(image, "mode")
    return as_bytes(on_255(np.asarray(image)[..., :3] if colour else image, 3, subject)).transpose(1, 2, 0)


def reads_unit_range(processor: Any) -> bool:
    """Whether a processor that does not rescale normalises numbers of 0..1, as its mean colour tells."""
    if getattr(processor, "do_rescale", True) or not getattr(processor, "do_normalize", False):
        return False
    mean = np.asarray(getattr(processor, "image_mean", None) or [255.0], np.float64)
    return bool((mean <= 1.0).all())


def _has_its_size(processor: Any, pixels: Array) -> bool:
    """Whether resizing would change nothing."""
    if not getattr(processor, "do_resize", False) or getattr(processor, "do_convert_rgb", False):
        return False
    if getattr(processor, "crop_pct", None) is not None:  # resizes to more than its size, then crops
        return False
    height, width = pixels.shape[1:]
    return bool(getattr(processor, "size", None) == {"height": height, "width": width})
