"""Picture files and encoded pictures (PNG, JPEG, ...) -> pixels, through Pillow."""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from regard.errors import EnvironmentProblem, InputError, Text, phrase
from regard.files import check_file, reason
from regard.records import frozen

SUFFIXES: Final = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm")
MOST_PIXELS: Final = 4_000_000
"""Maximum pixels; larger pictures are averaged down by a whole factor, so that every example stays usable."""
EXPECTED: Final = phrase("errors.datasets.png_jpeg_or_other_picture")


@dataclass
class PictureDecoder:
    """Decode cells of a table. folder: base of relative paths. reduced: pictures that were averaged down."""

    folder: Path | None = None
    reduced: list[Text] = field(default_factory=list)

    def decode(self, cell: Any, subject: Text) -> NDArray[Any]:
        """Return the pixels of a path, of file bytes, or of {"bytes": ..., "path": ...} as `datasets` stores it."""
        path = Path(picture_name(cell)).expanduser()
        file = path if self.folder is None or path.is_absolute() else self.folder / path
        content = picture_bytes(cell)
        pixels, factor = decoded(file if content is None else content, subject)
        if factor > 1:
            self.reduced.append(subject)
        return pixels


def is_encoded(cell: Any) -> bool:
    """Return whether a cell holds a picture file: its path, its bytes, or both.

    >>> is_encoded("cats/1.PNG"), is_encoded("[[0, 1], [1, 0]]"), is_encoded({"bytes": b"...", "path": None})
    (True, False, True)
    """
    if isinstance(cell, Mapping):
        return isinstance(cell.get("bytes"), bytes) or isinstance(cell.get("path"), str)
    return isinstance(cell, bytes) or (isinstance(cell, str) and has_picture_suffix(cell))


def has_picture_suffix(name: str) -> bool:
    return name.strip().lower().endswith(SUFFIXES)


def picture_bytes(cell: Any) -> bytes | None:
    """File content, if the cell holds it."""
    content = cell.get("bytes") if isinstance(cell, Mapping) else cell
    return content if isinstance(content, bytes) else None


def picture_name(cell: Any) -> str:
    """Return the path of the file; "" if only its bytes are known."""
    name = cell.get("path") if isinstance(cell, Mapping) else cell
    return name.strip() if isinstance(name, str) else ""


def decoded(content: Path | bytes, subject: Text) -> tuple[NDArray[Any], int]:
    """Return (height, width) of a grey or (height, width, 3) of a coloured picture, and its reduction factor.

    Bytes of 0..255; a picture of 16 bits per pixel becomes numbers of 0..1. The EXIF orientation is applied.
    """
    try:
        from PIL import Image, ImageOps
    except ImportError:
        remedy = "pip install 'regard[images]'"
        raise EnvironmentProblem(
            subject,
            expected=phrase("errors.datasets.pillow_which_reads_pictures"),
            got=phrase("errors.common.none"),
            remedy=remedy,
        ) from None
    if isinstance(content, Path):
        check_file(content, subject)
    # Pillow meets damaged files with exceptions of many kinds, and huge ones with a warning
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            warnings.filterwarnings("ignore", category=UserWarning)
            with Image.open(io.BytesIO(content) if isinstance(content, bytes) else content) as image:
                image.load()
                upright = ImageOps.exif_transpose(image)
    except MemoryError:
        raise
    except Exception as error:
        raise InputError(subject, expected=EXPECTED, got=_problem(error, content)) from None
    factor = 1
    while upright.width * upright.height > MOST_PIXELS * factor**2:
        factor += 1
    return _pixels(upright, factor, subject), factor


def _problem(error: Exception, content: Path | bytes) -> Text:
    """Return Pillow's error message without the object or path in it."""
    if type(error).__name__ == "UnidentifiedImageError":
        size = content.stat().st_size if isinstance(content, Path) else len(content)
        return (
            phrase("errors.datasets.bytes_that_no_picture", size=size) if size else phrase("errors.datasets.empty_file")
        )
    return reason(error)


def pil_pixels(image: Any, subject: Text) -> NDArray[Any]:
    """Pixels of an in-memory PIL image, in its own size."""
    return _pixels(image, 1, subject)


def _pixels(image: Any, factor: int, subject: Text) -> NDArray[Any]:
    if image.mode.startswith("I"):
        array = np.asarray(image, np.float64)
        if array.size and not (array.min() >= 0 and array.max() <= 65535):
            expected = phrase("errors.datasets.whole_numbers_bits_per_pixel")
            raise InputError(
                subject, expected=expected, got=phrase("errors.common.to_array", array=array.min(), array_2=array.max())
            )
        return frozen(array[::factor, ::factor] / 65535)
    if image.mode == "F":
        expected, got = phrase("errors.datasets.pixels_or_bits"), phrase("errors.datasets.bit_floats_whose_range_file")
        raise InputError(subject, expected=expected, got=got, remedy=phrase("errors.datasets.convert_png"))
    plain = image.convert("L" if image.mode in ("1", "L", "LA", "La") else "RGB")
    return frozen(np.asarray(plain.reduce(factor) if factor > 1 else plain), np.uint8)
