"""Word-patch interactions of a two-tower model (CLIP, SigLIP), by joint occlusion.

No attention of such a model goes from words to patches: each tower sees its own input, and only two vectors meet.
Removal measures how much the similarity needs both: the word is masked from attention, the patch gets the mean colour.

    worth(word, patch) = s(text, image) - s(text - word, image) - s(text, image - patch) + s(text - word, image - patch)

This is the second difference of the similarity s (the cosine), the pair's interaction. A cosine of two towers is
bilinear in their unit vectors, so all pairs cost one pass of the text tower for each word and one of the image tower
for each patch, and are exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.errors import Unsupported, phrase

MOST = 196
"""Maximum places of a picture; beyond that, neighbouring patches are removed together."""
BATCH = 16


@runtime_checkable
class Towers(Protocol):
    """A model with a vector for a text and one for a picture."""

    def get_text_features(self, *args: Any, **named: Any) -> Any: ...
    def get_image_features(self, *args: Any, **named: Any) -> Any: ...


@dataclass(frozen=True, slots=True, eq=False)
class Together:
    """Interactions of words and places. values: (1 + words, 1 + places); row 0 and column 0 are the wholes.

    values[0, 0] is the similarity, the rest of row 0 its loss without each place, of column 0 without each word; every
    other entry is the interaction of both. words: positions in the text. boxes: (places, 4) top, left, bottom, right in
    pixels. block: patches per side of a place.
    """

    values: NDArray[np.float64]
    words: tuple[int, ...]
    boxes: NDArray[np.float64]
    block: int

    @property
    def similarity(self) -> float:
        return float(self.values[0, 0])


def together(
    module: Towers, inputs: Mapping[str, Tensor], grid: tuple[int, int], words: Sequence[int], *, most: int = MOST
) -> Together:
    """Measure the interactions. inputs: input_ids (1, length) and pixel_values (1, channels, height, width).

    grid: rows and columns of patches. words: the positions to remove, one at a time (not the special ones: a tower
    reads its vector there).
    """
    pixels = inputs["pixel_values"]
    if pixels.ndim != 4 or len(pixels) != 1:
        raise Unsupported(
            phrase("errors.models.words_and_patches"),
            expected=phrase("errors.models.one_picture_shape_channels_height"),
            got=str(tuple(pixels.shape)),
        )
    boxes, block = places(grid, (int(pixels.shape[2]), int(pixels.shape[3])), most)
    with torch.no_grad():
        text_vectors = _said(module, inputs, words)
        image_vectors = _seen(module, pixels, boxes)
    # what is left of each vector's change: the whole in row 0, what went with the word or the place in the others
    lost = [torch.cat([v[:1], v[:1] - v[1:]]).double() for v in (text_vectors, image_vectors)]
    return Together((lost[0] @ lost[1].T).cpu().numpy(), tuple(words), boxes, block)


def places(grid: tuple[int, int], size: tuple[int, int], most: int = MOST) -> tuple[NDArray[np.float64], int]:
    """Boxes of at most `most` places, and how many patches each has per side.

    >>> places((2, 2), (32, 32))[0].tolist()
    [[0.0, 0.0, 16.0, 16.0], [0.0, 16.0, 16.0, 32.0], [16.0, 0.0, 32.0, 16.0], [16.0, 16.0, 32.0, 32.0]]
    >>> places((24, 24), (336, 336))[1]
    2
    """
    block = 1
    while -(-grid[0] // block) * -(-grid[1] // block) > most:
        block += 1
    tall, broad = size[0] / grid[0], size[1] / grid[1]
    boxes = [
        [r * tall, c * broad, min(r + block, grid[0]) * tall, min(c + block, grid[1]) * broad]
        for r in range(0, grid[0], block)
        for c in range(0, grid[1], block)
    ]
    return np.array(boxes), block


def _said(module: Towers, inputs: Mapping[str, Tensor], words: Sequence[int]) -> Tensor:
    """(1 + words, features): unit vector of the text, and without each word."""
    ids = inputs["input_ids"]
    mask = inputs.get("attention_mask", torch.ones_like(ids)).repeat(len(words) + 1, 1)
    for row, word in enumerate(words, 1):
        mask[row, word] = 0
    shared = {"input_ids": ids, **({"token_type_ids": inputs["token_type_ids"]} if "token_type_ids" in inputs else {})}
    parts = []
    for start in range(0, len(mask), BATCH):
        part = mask[start : start + BATCH]
        same = {name: tensor.expand(len(part), -1) for name, tensor in shared.items()}
        parts.append(_vector(module.get_text_features(**same, attention_mask=part), len(part)))
    return torch.cat(parts)


def _seen(module: Towers, pixels: Tensor, boxes: NDArray[np.float64]) -> Tensor:
    """(1 + places, features): unit vector of the picture, and with each place in the mean colour."""
    colour = pixels[0].mean((1, 2))[:, None, None]
    parts = [_vector(module.get_image_features(pixel_values=pixels), 1)]
    edges = boxes.round().astype(int).tolist()
    for start in range(0, len(edges), BATCH):
        batch = edges[start : start + BATCH]
        copies = pixels.repeat(len(batch), 1, 1, 1)
        for copy, (top, left, bottom, right) in zip(copies, batch, strict=True):
            copy[:, top:bottom, left:right] = colour
        parts.append(_vector(module.get_image_features(pixel_values=copies), len(batch)))
    return torch.cat(parts)


def _vector(out: Any, n: int) -> Tensor:
    """Unit vectors of a tower's output; older transformers releases return the tensor itself."""
    vectors = out if isinstance(out, Tensor) else out.pooler_output
    if not isinstance(vectors, Tensor) or vectors.ndim != 2 or len(vectors) != n:
        shape = str(tuple(vectors.shape)) if isinstance(vectors, Tensor) else type(vectors).__name__
        raise Unsupported(
            phrase("errors.models.words_and_patches"),
            expected=phrase("errors.models.one_vector_for_each_text"),
            got=shape,
        )
    return torch.nn.functional.normalize(vectors.double(), dim=-1)
