"""`quadrants`: pictures of four coloured quadrants, one of them framed."""

from __future__ import annotations

import numpy as np

from regard.datasets.examples import Examples
from regard.datasets.splits import checked
from regard.errors import InputError, phrase
from regard.measures.keyed_random import keyed_rng
from regard.records import Example, Message, frozen
from regard.registry import method

COLOURS = {"red": (230, 50, 50), "green": (50, 200, 50), "blue": (50, 80, 230), "yellow": (230, 230, 50)}
NOISE = 50.0
"""Standard deviation of the pixel noise, of 255."""
WHITE = 255


@method("dataset", modality="image", licence="Apache-2.0", package="", real=False)
def quadrants(*, split: str = "test", n: int = 400, seed: int = 0, size: int = 32) -> Examples:
    """Generated pictures (size, size, 3): four noisy colours, a white frame around one; label = the framed colour.

    The rationale is the box of the framed quadrant. The slice `caption` lists all four colours in reading order;
    `captioner` learns to write them in any order.

    >>> one = quadrants(n=1)[0]
    >>> one.inputs["image"].shape, len(one.slices["caption"].split())
    ((32, 32, 3), 4)
    """
    split = checked(split)
    if size < 8 or size % 2 or n < 1:
        raise InputError("quadrants", expected=phrase("errors.datasets.count_and_even_size"), got=f"n={n}, size={size}")
    rng = keyed_rng(seed, "quadrants", split, size)
    names, half, frame = list(COLOURS), size // 2, max(1, size // 16)
    items = []
    for i in range(n):
        codes = rng.integers(len(names), size=4)
        shades = np.array([COLOURS[names[code]] for code in codes], np.float64).reshape(2, 2, 3)
        image = shades.repeat(half, 0).repeat(half, 1) + rng.normal(0.0, NOISE, (size, size, 3))
        image = np.clip(np.rint(image), 0, 255)
        quadrant = int(rng.integers(4))
        top, left = half * (quadrant // 2), half * (quadrant % 2)
        inner = image[top + frame : top + half - frame, left + frame : left + half - frame].copy()
        image[top : top + half, left : left + half] = WHITE
        image[top + frame : top + half - frame, left + frame : left + half - frame] = inner
        box = (float(top), float(left), float(top + half), float(left + half))
        caption = " ".join(names[code] for code in codes)
        items.append(
            Example(
                f"{split}-{i:05d}",
                {"image": frozen(image, np.uint8)},
                int(codes[quadrant]),
                (box,),
                slices={"caption": caption},
            )
        )
    note = Message.of("data.quadrants", n=n, split=split, seed=seed)
    return Examples("quadrants", tuple(items), tuple(names), (note,), modality="image")
