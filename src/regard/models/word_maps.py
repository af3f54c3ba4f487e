"""Word maps of an image captioner: one map over the patches per generated word.

    maps = word_maps(module, processor, "<image> :", picture)
    maps.words, maps.values, maps.sinks

Only the rows that write the answer are captured, so memory grows with the answer and not with the square of the prompt.
A row's weights are averaged over the layers and heads of the text decoder. Some places get weight from every word
(sinks); that common part is subtracted from the maps and listed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from regard.errors import InputError, Unsupported, phrase
from regard.models.image_text import channels_first, image_token, patch_grid, picture_inputs, token_name
from regard.records import Floats
from regard.tap.row_capture import capture_rows

SINK = 0.02
"""Minimum share of every row's weight from which a place counts as a sink."""


@dataclass(frozen=True, slots=True, eq=False)
class Sink:
    """A place that every written word gives weight to. patch: its number, -1 for a place in the text.

    share: the smallest weight of any word on it.
    """

    name: str
    patch: int
    share: float


@dataclass(frozen=True, slots=True, eq=False)
class WordMaps:
    """Maps of the words that a model wrote about a picture. words: as written.

    values: (words, patches), each row the share of its weight on the picture beyond the sinks.
    raw: (words, patches) weights as they are; a row sums to the share of its weight that is on the picture. grid: rows
    and columns of patches. picture: (channels, height, width). held_bytes: memory of the captured rows.
    """

    text: str
    words: tuple[str, ...]
    values: Floats
    raw: Floats
    sinks: tuple[Sink, ...]
    grid: tuple[int, int]
    picture: NDArray[Any]
    held_bytes: int

    def quadrants(self) -> NDArray[np.int64]:
        """(words,) the quadrant with most of each map: 0 and 1 above, 2 and 3 below, left before right."""
        r, c = np.divmod(np.arange(self.values.shape[1]), self.grid[1])
        where = 2 * (2 * r >= self.grid[0]) + (2 * c >= self.grid[1])
        sums = np.stack([self.values[:, where == k].sum(1) for k in range(4)], axis=1)
        return np.asarray(sums.argmax(1), np.int64)


def word_maps(module: nn.Module, processor: Any, text: str, image: Any, *, new_tokens: int = 20) -> WordMaps:
    """Let the model write at most `new_tokens` after a text and a picture; map every word that it writes."""
    if new_tokens < 1:
        raise InputError("new_tokens", expected=phrase("errors.common.at_least"), got=str(new_tokens))
    model: Any = module.eval()
    if not getattr(model, "can_generate", lambda: False)():
        problem = type(module).__name__
        raise Unsupported(
            phrase("errors.models.maps_written_words"),
            expected=phrase("errors.models.model_that_writes_about_pictures"),
            got=problem,
        )
    inputs = picture_inputs(processor, text, image)
    holders = _holders(model.config, inputs["input_ids"])
    grid = patch_grid(model.config, inputs)
    if len(holders) != grid[0] * grid[1]:
        raise Unsupported(
            phrase("errors.models.maps_written_words"),
            expected=phrase("errors.models.place_in_prompt_for_each", grid=grid[0], grid_2=grid[1]),
            got=phrase("errors.models.places_n", n=len(holders)),
        )
    device = next(model.parameters()).device
    tensors = {name: tensor.to(device) for name, tensor in inputs.items()}

    def write() -> Tensor:
        sequences: Tensor = model.generate(**tensors, max_new_tokens=new_tokens, do_sample=False, num_beams=1)
        return sequences

    with torch.inference_mode():
        sequences, taps = capture_rows(module, write, "new")
        length = inputs["input_ids"].shape[1]
        new_ids = sequences[0, length:].tolist()
        rows = range(length - 1, length - 1 + len(new_ids))
        weights = np.mean([site.rows(example=0, queries=list(rows)).mean(0) for site in taps.sites], axis=0)
    ends = {int(i) for i in processor.tokenizer.all_special_ids}
    spoken = [k for k, token in enumerate(new_ids) if token not in ends]
    if not spoken:
        raise InputError(
            phrase("errors.models.model_answer"),
            expected=phrase("errors.common.at_least_one_word"),
            got=phrase("errors.common.none"),
            remedy=phrase("errors.models.another_text"),
        )
    answer = np.asarray(weights, np.float64)[spoken]
    names = [token_name(processor.tokenizer, int(i)) for i in inputs["input_ids"][0]]
    raw, common = answer[:, holders], answer.min(0) if len(spoken) > 1 else np.zeros(answer.shape[1])
    beyond = np.maximum(raw - common[holders], 0.0)
    patch_of = {place: k for k, place in enumerate(holders)}
    sinks = [
        Sink(_place_name(names, patch_of.get(int(k), -1), int(k), grid), patch_of.get(int(k), -1), float(common[k]))
        for k in np.argsort(-common[:length])
        if common[k] >= SINK
    ]
    return WordMaps(
        text=str(processor.tokenizer.decode([new_ids[k] for k in spoken])),
        words=tuple(token_name(processor.tokenizer, new_ids[k]) for k in spoken),
        values=beyond / np.maximum(beyond.sum(1, keepdims=True), 1e-12),
        raw=raw,
        sinks=tuple(sinks),
        grid=grid,
        picture=channels_first(image),
        held_bytes=taps.held_bytes,
    )


def _holders(config: Any, ids: Tensor) -> list[int]:
    """Positions of the prompt that stand for patches."""
    token = image_token(config)
    return [k for k, i in enumerate(ids[0].tolist()) if i == token]


def _place_name(names: Sequence[str], patch: int, place: int, grid: tuple[int, int]) -> str:
    return f"r{patch // grid[1]}c{patch % grid[1]}" if patch >= 0 else names[place]
