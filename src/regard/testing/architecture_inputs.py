"""Inputs for the tiny architectures: deterministic, ragged where the model takes an attention mask."""

from __future__ import annotations

from typing import Any

import torch

Inputs = dict[str, Any]

VOCABULARY = 99
LENGTH = 9
_FIRST_WORD = 10
"""Ids below this are special in some model (padding, start, end, image places)."""


def _stream(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def token_ids(rows: int, length: int, seed: int = 1) -> torch.Tensor:
    """(rows, length) ordinary words, no special ids."""
    return torch.randint(_FIRST_WORD, VOCABULARY, (rows, length), generator=_stream(seed))


def noise(*shape: int, seed: int = 2) -> torch.Tensor:
    return torch.randn(shape, generator=_stream(seed))


def text() -> Inputs:
    """Two texts of 9 and 6 tokens, padded on the right."""
    mask = torch.ones(2, LENGTH, dtype=torch.long)
    mask[1, 6:] = 0
    return {"input_ids": token_ids(2, LENGTH), "attention_mask": mask}


def long_text() -> Inputs:
    """Two texts of 32 tokens."""
    ids = token_ids(2, 32)
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def text_with_global_token() -> Inputs:
    """The first token sees, and is seen by, every other; so does the third of the first text."""
    global_mask = torch.zeros(2, LENGTH, dtype=torch.long)
    global_mask[:, 0] = 1
    global_mask[0, 2] = 1
    return {**text(), "global_attention_mask": global_mask}


def text_without_mask() -> Inputs:
    return {"input_ids": token_ids(2, LENGTH)}


def text_padded_left() -> Inputs:
    """The same, padded on the left as for generation: the padded query rows see no key at all."""
    mask = torch.ones(2, LENGTH, dtype=torch.long)
    mask[1, :3] = 0
    return {"input_ids": token_ids(2, LENGTH), "attention_mask": mask}


def text_on_page() -> Inputs:
    """Words with their boxes on a page."""
    corner = torch.randint(0, 400, (2, LENGTH, 2), generator=_stream(3))
    return {**text(), "bbox": torch.cat([corner, corner + 50], dim=-1)}


def page() -> Inputs:
    """Words, boxes, and the picture of the page."""
    return {**text_on_page(), "pixel_values": noise(2, 3, 32, 32)}


def text_to_text() -> Inputs:
    """Source of 9 and 6 tokens, target of 7 and 5."""
    mask = torch.ones(2, 7, dtype=torch.long)
    mask[1, 5:] = 0
    return {**text(), "decoder_input_ids": token_ids(2, 7, seed=4), "decoder_attention_mask": mask}


def image() -> Inputs:
    """Two colour pictures of 32 x 32."""
    return {"pixel_values": noise(2, 3, 32, 32)}


def speech() -> Inputs:
    return {"input_features": noise(2, 8, 60), "decoder_input_ids": token_ids(2, 7)}


def picture() -> Inputs:
    """The second picture is narrower: its right edge is padding."""
    mask = torch.ones(2, 64, 64, dtype=torch.long)
    mask[1, :, 40:] = 0
    return {"pixel_values": noise(2, 3, 64, 64), "pixel_mask": mask}


def pixels() -> Inputs:
    return {"inputs": noise(2, 3, 8, 8)}


def sound() -> Inputs:
    """Two sounds of 640 and 420 samples: 19 and 12 frames."""
    mask = torch.ones(2, 640, dtype=torch.long)
    mask[1, 420:] = 0
    return {"input_values": noise(2, 640), "attention_mask": mask}


def spectrogram() -> Inputs:
    return {"input_values": noise(2, 24, 16)}


def patches() -> Inputs:
    return {"past_values": noise(2, 32, 2)}


def forecast() -> Inputs:
    return {
        "past_values": noise(2, 10),
        "past_time_features": noise(2, 10, 1, seed=3),
        "past_observed_mask": torch.ones(2, 10),
        "future_values": noise(2, 4, seed=4),
        "future_time_features": noise(2, 4, 1, seed=5),
    }


def pair() -> Inputs:
    return {**text(), **image()}


def regions() -> Inputs:
    """Words, and 3 regions of a picture with their boxes."""
    return {**text(), "visual_feats": noise(2, 3, 8), "visual_pos": noise(2, 3, 4, seed=3)}


def picture_in_text() -> Inputs:
    """4 patches stand at 4 places of the text."""
    ids = token_ids(2, 9)
    ids[:, 1:5] = 3
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), **image()}


def picture_in_grid() -> Inputs:
    """Two pictures of 4 x 4 patches, merged by 2 x 2 into 4 places of the text each."""
    ids = token_ids(2, 9)
    ids[:, 1], ids[:, 2:6], ids[:, 6] = 4, 3, 5
    return {
        "input_ids": ids,
        "attention_mask": torch.ones_like(ids),
        "mm_token_type_ids": (ids == 3).int(),
        "pixel_values": noise(32, 3 * 2 * 8 * 8),
        "image_grid_thw": torch.tensor([[1, 4, 4], [1, 4, 4]]),
    }
