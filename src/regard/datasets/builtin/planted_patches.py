"""`planted_patches`: images with an exactly known decisive patch."""

from __future__ import annotations

import numpy as np

from regard.datasets.examples import Examples
from regard.datasets.generated import note
from regard.datasets.splits import checked
from regard.errors import InputError, phrase
from regard.measures.keyed_random import keyed_rng
from regard.records import Example, Floats, frozen
from regard.registry import method

BRIGHT = 1.0
NOISE = 0.4
"""Maximum brightness of the background; the sign has full brightness."""
NAMES = ("cross", "frame")


def sign(label: int, patch: int) -> Floats:
    """Return (patch, patch) 1 on the sign of a class; at size 4 both classes have equally many bright pixels."""
    rows, columns = np.indices((patch, patch))
    edge = (np.minimum(rows, columns) == 0) | (np.maximum(rows, columns) == patch - 1)
    diagonal = (rows == columns) | (rows + columns == patch - 1)
    return np.where(edge if label else diagonal, 1.0, 0.0)


@method("dataset", modality="image", licence="Apache-2.0", package="", real=False)
def planted_patches(
    *, split: str = "test", n: int = 400, seed: int = 0, size: int = 16, patch: int = 4, distractors: int = 1
) -> Examples:
    """Generated images (size, size): one patch shows a cross (0) or a frame (1) on noise; rationale = its box.

    The sign stands on the grid of patches. distractors: patches of plain full brightness that mean nothing.

    >>> one = planted_patches(n=1)[0]
    >>> top, left, bottom, right = map(int, one.rationale[0])
    >>> one.inputs["image"].shape, bottom - top, top % 4
    ((16, 16), 4, 0)
    """
    split = checked(split)
    cells = (size // patch) ** 2 if patch > 0 else 0
    if patch < 3 or size % patch or not 0 <= distractors < cells or n < 1:
        expected = phrase("errors.datasets.at_least_patch_at_least")
        problem = f"n={n}, size={size}, patch={patch}, distractors={distractors}"
        raise InputError("planted_patches", expected=expected, got=problem)
    rng = keyed_rng(seed, "planted_patches", split, size, patch, distractors)
    items = []
    for i in range(n):
        label = i % 2
        image = rng.random((size, size)) * NOISE
        places = [divmod(int(c), size // patch) for c in rng.choice(cells, size=distractors + 1, replace=False)]
        boxes = [(r * patch, c * patch, (r + 1) * patch, (c + 1) * patch) for r, c in places]
        for top, left, bottom, right in boxes[1:]:
            image[top:bottom, left:right] = BRIGHT
        top, left, bottom, right = boxes[0]
        shape = sign(label, patch)
        image[top:bottom, left:right] = np.where(shape > 0, BRIGHT, image[top:bottom, left:right])
        box = (float(top), float(left), float(bottom), float(right))
        items.append(Example(f"{split}-{i:05d}", {"image": frozen(image)}, label, (box,)))
    provenance = note("images", n, split=split, seed=seed, known="patch")
    return Examples("planted_patches", tuple(items), NAMES, (provenance,), modality="image")
