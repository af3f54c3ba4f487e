"""Exchanged red and blue are noted where labels show it, and only there."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

import regard
from regard.audits.channel_order import channel_order_note
from regard.protocols import Model
from regard.records import Example


class Redness(nn.Module):
    """Two classes: more blue, more red."""

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        means = pixels.mean((2, 3))
        return torch.stack([means[:, 2], means[:, 0]], 1)


@pytest.fixture
def model() -> Model:
    return regard.wrap(Redness(), modality="image", labels=["blue", "red"], channels=3, patch=4, class_tokens=-1)


def _pictures(n: int, *, exchanged: bool) -> list[Example]:
    rng = np.random.default_rng(0)
    rows = []
    for i in range(n):
        image = rng.integers(0, 100, (8, 8, 3)).astype(np.uint8)
        image[..., 0 if i % 2 else 2] += 90
        pixels = image[..., ::-1] if exchanged else image
        rows.append(Example(str(i), {"image": np.ascontiguousarray(pixels)}, ("blue", "red")[i % 2]))
    return rows


def test_exchanged_channels_are_noted(model: Model) -> None:
    note = channel_order_note(model, _pictures(20, exchanged=True))
    assert note is not None
    assert note.key == "data.channels_exchanged"
    assert (note.params["right"], note.params["turned"], note.params["fewer"]) == (0, 20, 0)


@pytest.mark.parametrize("n", [0, 20])
def test_right_order_is_not_noted(model: Model, n: int) -> None:
    assert channel_order_note(model, _pictures(n, exchanged=False)) is None


def test_few_pictures_and_grey_ones_show_nothing(model: Model) -> None:
    assert channel_order_note(model, _pictures(3, exchanged=True)) is None
    grey = [Example(str(i), {"image": np.full((8, 8, 3), 9, np.uint8)}, "red") for i in range(20)]
    assert channel_order_note(model, grey) is None
