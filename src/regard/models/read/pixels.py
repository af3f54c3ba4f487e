"""Images for a Hugging Face image processor: convert any user image to the scale that the processor expects.

A processor is made for pictures of 0..255: it resizes, rescales and normalises them itself. So uint8 arrays, floats of
0..1 or 0..255 and PIL images all become 0..255 here, and the processor does its work exactly once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from regard.errors import InputError, phrase
from regard.measures.pixel_range import full_brightness
from regard.models.read.images import as_channels_first
from regard.models.read.regions import Array
from regard.records import Message, Text

_COLOURS = {1: "L", 3: "RGB"}
LEAST_CONTRAST = 0.1
"""Minimum distance of black and white: 1 to 5 after rescaling once; 0.004 to 0.02 after rescaling twice."""
_NUMBERS = ("I", "F")
"""Prefixes of PIL modes whose numbers have another range than 0..255."""


_LUMA = (0.299, 0.587, 0.114)
"""Weights of red, green and blue in grey (ITU-R 601), which Pillow uses, too."""
_OPAQUE = 4
"""Channels of a picture with transparency."""


def as_pixels(image: Any, channels: int) -> Array:
    """Convert an image to the model's colours: drop transparency, and convert colours to grey if it reads grey.

    Grey pictures stay as they are: `as_channels_first` repeats them.
    """
    mode = getattr(image, "mode", None)
    model_mode = _COLOURS.get(channels)
    if isinstance(mode, str) and model_mode is not None and mode != model_mode and not mode.startswith(_NUMBERS):
        image = image.convert(model_mode)
    array = np.asarray(image)
    if array.ndim == 3 and array.shape[2] == _OPAQUE and channels in _COLOURS and array.shape[0] != channels:
        array = array[..., :3]
    if channels == 1 and array.ndim == 3 and 3 in (array.shape[0], array.shape[2]) and 1 not in array.shape:
        colours = np.moveaxis(array, 0, 2) if array.shape[2] != 3 else array
        grey = colours @ np.array(_LUMA)
        return np.asarray(np.rint(grey).astype(np.uint8) if array.dtype == np.uint8 else grey)
    return array


def on_255(image: Any, channels: int, subject: Text, notes: list[Text] | None = None) -> Array:
    """Return (channels, height, width) of an image on 0..255, not rounded. notes: receives remarks for the user."""
    raw = as_pixels(image, channels)
    array = as_channels_first(raw, channels, subject)
    _refuse_twice_rescaled(raw, subject)
    if notes is not None:
        note_unusual_pixels(raw, channels, notes)
    top = full_brightness(raw) if raw.size else 1.0
    if top is None:
        raise InputError(
            subject,
            expected=phrase("errors.models.pixels_or_uint_always"),
            got=phrase("errors.common.to_array", array=raw.min(), array_2=raw.max())
            if np.isfinite(raw).all()
            else phrase("errors.common.nan_or_infinity"),
            remedy=phrase("errors.models.pass_image_before_normalization"),
        )
    return array if top == 255.0 else np.asarray(np.clip(array, 0.0, 1.0) * np.float32(255.0))


def _refuse_twice_rescaled(raw: Array, subject: Text) -> None:
    """Refuse floats of 0..1/255 with more shades than 0 and 1/255: bytes that were divided by 255 twice."""
    if raw.dtype.kind != "f" or not raw.size or not 0.0 < float(raw.max()) <= 1 / 255 + 1e-9 or float(raw.min()) < 0:
        return
    if np.abs(raw * 255 - np.rint(raw * 255)).max() > 1e-3:
        raise InputError(
            subject,
            expected=phrase("errors.models.pixels_or_uint_always"),
            got=phrase("errors.models.divided_by_twice_double_rescale", raw=raw.min(), raw_2=raw.max()),
            remedy=phrase("errors.models.pass_picture_read_model_image"),
        )


def note_unusual_pixels(raw: Array, channels: int, notes: list[Text]) -> None:
    """Add a remark on unusual numbers of a picture, once."""
    remarks = []
    if channels > 1 and (raw.ndim == 2 or 1 in (raw.shape[0], raw.shape[-1])):
        remarks.append(Message.of("data.grey_pictures", channels=channels))
    if raw.dtype == np.uint8 and raw.size and 0 < int(raw.max()) <= 1:
        remarks.append(Message("data.bytes_of_one"))
    notes += [remark for remark in remarks if remark not in notes]


def rescale_note(processor: Any, channels: int) -> Message | None:
    """Note on a processor that rescales twice: white and black then differ by a 255th of their distance.

    Measured on a black and a white picture, so it holds for every way to write such a configuration: a rescale factor
    of 1/255 squared, or one of 1/255 followed by a mean and deviation on 0..255.
    """
    size = getattr(processor, "size", None)
    edges = [int(edge) for edge in dict(size or {}).values() if isinstance(edge, int)] or [32]
    shades = [processed(processor, np.full((channels, max(edges), max(edges)), s, np.float32)) for s in (0.0, 255.0)]
    contrast = float(np.abs(shades[1] - shades[0]).max())
    if 0.0 < contrast <= LEAST_CONTRAST:
        return Message.of("data.double_rescale", contrast=f"{contrast:.2g}")
    return None


def processed(processor: Any, pixels: Array) -> Array:
    """Return (channels, height, width) as the model reads it, of an image on 0..255.

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


def bytes_of_picture(image: Any, subject: Text) -> Array:
    """(height, width, 3) bytes of a grey or coloured picture, for a processor of texts and pictures."""
    colour = np.shape(image)[-1:] == (4,) and not hasattr(image, "mode")
    return as_bytes(on_255(np.asarray(image)[..., :3] if colour else image, 3, subject)).transpose(1, 2, 0)


def reads_unit_range(processor: Any) -> bool:
    """Return whether a processor that does not rescale normalises numbers of 0..1, judged by its mean colour."""
    if getattr(processor, "do_rescale", True) or not getattr(processor, "do_normalize", False):
        return False
    mean = np.asarray(getattr(processor, "image_mean", None) or [255.0], np.float64)
    return bool((mean <= 1.0).all())


def _has_its_size(processor: Any, pixels: Array) -> bool:
    """Return whether resizing would change nothing."""
    if not getattr(processor, "do_resize", False) or getattr(processor, "do_convert_rgb", False):
        return False
    if getattr(processor, "crop_pct", None) is not None:  # resizes to more than its size, then crops
        return False
    height, width = pixels.shape[1:]
    return bool(getattr(processor, "size", None) == {"height": height, "width": width})
