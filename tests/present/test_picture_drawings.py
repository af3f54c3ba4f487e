"""Pictures in reports and terminals: the pixels are the user's, and the colour lies on the marked patch."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from regard.present.png import png, shown_pixels
from regard.present.terminal.picture_overlay import picture_overlay


def test_png_is_read_back_as_it_was() -> None:
    for channels in (1, 3):
        pixels = np.random.default_rng(0).integers(0, 256, (5, 7, channels), np.uint8)
        back = np.asarray(Image.open(io.BytesIO(png(pixels))))
        assert np.array_equal(back.reshape(pixels.shape), pixels)


def test_shown_pixels_keep_brightness_on_every_scale() -> None:
    pixels = np.random.default_rng(0).integers(0, 200, (6, 8, 3), np.uint8)
    for image in (pixels, pixels / 255, pixels.astype(float), pixels.transpose(2, 0, 1)):
        shown = shown_pixels(image, 64)
        assert shown is not None
        assert np.array_equal(shown, pixels)
    small = shown_pixels(np.full((100, 50), 0.5), 20)
    assert small is not None
    assert small.shape == (20, 10, 1)
    assert shown_pixels({"blob": "x"}, 8) is None  # type: ignore[arg-type]


def test_overlay_tints_the_marked_patch_only() -> None:
    units = {
        "places": [[0, 0, 0, 0], [0, 0, 4, 4], [0, 4, 4, 8]],
        "special": [True, False, False],
        "names": ["", "", ""],
    }
    example = {"inputs": {"image": np.full((4, 8), 128, np.uint8)}, "units": units}
    text = picture_overlay(example, [0.0, 0.0, 1.0], signed=True)
    assert text is not None
    first, last = text.spans[0].style, text.spans[7].style
    assert "rgb(128,128,128)" in str(first) or str(first) == "#808080 on #808080"
    assert str(first) != str(last)
    assert picture_overlay({"inputs": {}, "units": units}, [0, 0, 1], signed=True) is None


def test_overlay_outlines_the_detected_object() -> None:
    units = {"places": [[0, 0, 8, 8]], "special": [False], "names": [""]}
    inputs = {"image": np.full((8, 8), 90, np.uint8), "object_box": [2.0, 2.0, 6.0, 6.0]}
    text = picture_overlay({"inputs": inputs, "units": units}, [0.0], signed=True)
    assert text is not None
    row = [str(span.style) for span in text.spans[8:16]]  # rows 2 and 3 of the picture
    assert [i for i, style in enumerate(row) if "255" in style] == [2, 3, 4, 5]
    assert row[3] == "rgb(255,255,255) on rgb(90,90,90)"  # the edge above, the inside below
