"""Vision-language input: one text and one picture, the meaning of each position, and every attention."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from regard.errors import InputError, Unsupported, phrase
from regard.models.dual_encoder import Together, Towers, together
from regard.models.read.pixels import bytes_of_picture
from regard.tap.build_sites import AnySite
from regard.tap.capture_call import capture_call


@dataclass(frozen=True, slots=True, eq=False)
class Looked:
    """Result of reading a text and a picture.

    words: names of the text positions, special: which are not words, holders: which stand for a patch. grid: rows and
    columns of patches. picture: (channels, height, width) as the model reads it, or the user's picture if the model
    reads it in another form. pairs: interactions of words and patches, for a model with two towers that never attend to
    each other; why_not: the reason if there are none.
    """

    words: tuple[str, ...]
    special: tuple[bool, ...]
    holders: tuple[int, ...]
    grid: tuple[int, int]
    picture: NDArray[Any]
    sites: tuple[AnySite, ...]
    pairs: Together | None = None
    why_not: str = ""

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of the picture."""
        return (int(self.picture.shape[-2]), int(self.picture.shape[-1]))


def look(module: nn.Module, processor: Any, text: str, image: Any) -> Looked:
    """Run a transformers model with its processor on a text and a picture."""
    inputs = picture_inputs(processor, text, image)
    tokenizer: Any = processor.tokenizer
    ids = [int(i) for i in inputs["input_ids"][0]]
    names = tuple(token_name(tokenizer, i) for i in ids)
    never = {int(i) for i in tokenizer.all_special_ids}
    return look_at(module, inputs, names, tuple(i in never for i in ids), image)


def picture_inputs(processor: Any, text: str, image: Any, *, special: bool = True) -> dict[str, Tensor]:
    """Return a processor's output for one text and one picture. special: whether it adds its special tokens."""
    picture = bytes_of_picture(image, phrase("errors.models.image"))
    options = {} if special else {"add_special_tokens": False}
    encoding = processor(text=[text], images=[picture], return_tensors="pt", **options)
    inputs: dict[str, Tensor] = {name: t for name, t in encoding.items() if isinstance(t, Tensor)}
    if not {"input_ids", "pixel_values"} <= set(inputs):
        raise InputError(
            "processor",
            expected=phrase("errors.models.input_ids_and_pixel_values"),
            got=", ".join(inputs) or phrase("errors.common.nothing"),
        )
    return inputs


def look_at(
    module: nn.Module, inputs: Mapping[str, Tensor], names: tuple[str, ...], special: tuple[bool, ...], image: Any
) -> Looked:
    """Run a model on prepared inputs: one text and one picture."""
    module.eval()
    config: Any = module.config
    device = next(module.parameters()).device
    tensors = {name: tensor[:1].to(device) for name, tensor in inputs.items()}
    pixels = tensors["pixel_values"]
    grid = patch_grid(config, inputs)
    if "image_grid_thw" in inputs:
        tensors["pixel_values"] = inputs["pixel_values"].to(device)
        picture = channels_first(image)
    else:
        picture = pixels[0].float().cpu().numpy()
    holder = image_token(config)
    holders = tuple(k for k, i in enumerate(tensors["input_ids"][0].tolist()) if i == holder)
    with torch.no_grad():
        _, taps = capture_call(module, lambda: module(**tensors), mode="weights")
    words = [k for k, other in enumerate(special) if not other and k not in holders]
    pairs, why_not = None, ""
    if isinstance(module, Towers):
        try:
            pairs = together(module, tensors, grid, words)
        except Unsupported as reason:
            why_not = str(reason)
    return Looked(
        words=names,
        special=special,
        holders=holders,
        grid=grid,
        picture=picture,
        sites=tuple(taps.sites),
        pairs=pairs,
        why_not=why_not,
    )


def image_token(config: Any) -> int | None:
    """Token that stands for a patch in a prompt."""
    names = ("image_token_id", "image_token_index")
    return next((int(i) for name in names if (i := getattr(config, name, None)) is not None), None)


def patch_grid(config: Any, inputs: Mapping[str, Tensor]) -> tuple[int, int]:
    """Rows and columns of the patches that words can look at."""
    pixels = inputs["pixel_values"]
    if "image_grid_thw" in inputs:  # Qwen2-VL and its kin: patches in a row, merged before the words meet them
        merged = int(getattr(config.vision_config, "spatial_merge_size", 1))
        _, tall, broad = (int(n) for n in inputs["image_grid_thw"][0])
        return tall // merged, broad // merged
    if pixels.ndim == 4:
        return _grid(config, pixels)
    raise Unsupported(
        phrase("errors.models.this_model_picture"),
        expected=phrase("errors.models.pixel_values_shape_channels_height"),
        got=str(tuple(pixels.shape)),
    )


def token_name(tokenizer: Any, i: int) -> str:
    """Name a token by its text; a special token by its own name."""
    spelt = str(tokenizer.convert_ids_to_tokens(i))
    return spelt if i in tokenizer.all_special_ids else str(tokenizer.decode([i])).strip() or spelt


def _grid(config: Any, pixels: Tensor) -> tuple[int, int]:
    seeing = getattr(config, "vision_config", config)
    patch = getattr(seeing, "patch_size", None)
    if patch is None:
        raise Unsupported(
            phrase("errors.models.this_model_picture"),
            expected=phrase("errors.models.patch_size_in_config"),
            got=phrase("errors.common.none"),
        )
    tall, broad = (patch, patch) if isinstance(patch, int) else (int(patch[0]), int(patch[1]))
    return int(pixels.shape[2]) // tall, int(pixels.shape[3]) // broad


def channels_first(image: Any) -> NDArray[Any]:
    """(channels, height, width) of a grey or coloured picture, or of a PIL image."""
    array = np.asarray(image)
    if array.ndim == 2:
        array = array[None]
    elif array.ndim == 3 and array.shape[2] in (1, 3, 4):
        array = array.transpose(2, 0, 1)[:3]
    if array.ndim != 3:
        raise InputError(
            phrase("errors.models.image"),
            expected=phrase("errors.models.picture_height_width_or_height"),
            got=str(array.shape),
        )
    return array
