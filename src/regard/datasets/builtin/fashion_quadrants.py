"""`fashion_quadrants`: four real pictures of clothes in one, for the pointing game."""

from __future__ import annotations

import numpy as np

from regard.datasets.builtin.fashion_mnist import NAMES, SIDE, fashion_mnist
from regard.datasets.examples import Examples
from regard.errors import InputError, phrase
from regard.measures.keyed_random import keyed_rng
from regard.records import Example, Message, frozen
from regard.registry import method


@method("dataset", modality="image", licence="MIT", package="dataset-fashion-mnist (Debian)", real=True)
def fashion_quadrants(*, split: str = "test", n: int = 200, seed: int = 0) -> Examples:
    """Pictures of 56 x 56 made of four from Fashion-MNIST of four classes; label = one of them, rationale = its box.

    For a model that was trained on single pictures: where it predicts the label, the map of that class belongs into
    the quadrant. The slice `classes` lists all four in reading order. Reference: Boehle et al. 2021 (grid pointing).
    """
    if n < 1:
        raise InputError("fashion_quadrants", expected=phrase("errors.datasets.at_least"), got=f"n={n}")
    rng = keyed_rng(seed, "fashion_quadrants", split)
    by_class: list[list[Example]] = [[] for _ in NAMES]
    for example in fashion_mnist(split=split):
        by_class[int(str(example.label))].append(example)
    items = []
    for i in range(n):
        classes = rng.choice(len(NAMES), size=4, replace=False)
        quadrant = int(rng.integers(4))
        image = np.zeros((2 * SIDE, 2 * SIDE), np.uint8)
        for place, code in enumerate(classes):
            pictures = by_class[int(code)]
            top, left = SIDE * (place // 2), SIDE * (place % 2)
            pixels = pictures[int(rng.integers(len(pictures)))].inputs["image"]
            image[top : top + SIDE, left : left + SIDE] = np.asarray(pixels)
        top, left = SIDE * (quadrant // 2), SIDE * (quadrant % 2)
        box = (float(top), float(left), float(top + SIDE), float(left + SIDE))
        items.append(
            Example(
                f"{split}-{i:05d}",
                {"image": frozen(image, np.uint8)},
                int(classes[quadrant]),
                (box,),
                slices={"classes": ", ".join(NAMES[int(code)] for code in classes)},
            )
        )
    note = Message.of("data.fashion_quadrants", n=n, split=split, seed=seed)
    return Examples("fashion_quadrants", tuple(items), NAMES, (note,), modality="image")
