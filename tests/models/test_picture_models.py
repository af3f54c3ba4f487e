"""Image classifiers of transformers: the processor's work is done exactly once, and attacks go through it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from transformers import (
    AutoImageProcessor,
    AutoModelForImageClassification,
    BitImageProcessor,
    ViTConfig,
    ViTForImageClassification,
    ViTImageProcessor,
)

from regard.errors import InputError
from regard.models.adapter import TorchModel
from regard.models.ask.batch_function import batch_function
from regard.models.open.load import load
from regard.records import Example, Message

RNG = np.random.default_rng(0)
PIXELS = RNG.integers(0, 256, (48, 40, 3), np.uint8)
PROCESSORS = {
    "resizes": ViTImageProcessor(size={"height": 32, "width": 32}),
    "resizes and crops": BitImageProcessor(size={"shortest_edge": 40}, crop_size={"height": 32, "width": 32}),
}


@pytest.fixture(scope="module")
def vit() -> ViTForImageClassification:
    torch.manual_seed(0)
    config = ViTConfig(
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=24,
        image_size=32,
        patch_size=8,
        num_labels=3,
        initializer_range=0.4,
    )
    return ViTForImageClassification(config).eval()


def _live(module: Any, processor: Any) -> TorchModel:
    live = load(module, processor=processor)
    assert isinstance(live, TorchModel)
    return live


def _distribution(model: TorchModel, image: object) -> Any:
    return model.predict([model.encode(Example("x", {"image": image}))])[0].distribution


@pytest.mark.parametrize("name", PROCESSORS)
def test_every_form_of_a_picture_gives_the_prediction_of_transformers(vit: Any, name: str, tmp_path: Path) -> None:
    vit.save_pretrained(tmp_path)
    PROCESSORS[name].save_pretrained(tmp_path)
    picture = Image.fromarray(PIXELS)
    processor: Any = AutoImageProcessor.from_pretrained(tmp_path)
    model: Any = AutoModelForImageClassification.from_pretrained(tmp_path).eval()
    with torch.no_grad():
        expected = model(**processor(images=picture, return_tensors="pt")).logits.softmax(-1).numpy()
    live = _live(vit, PROCESSORS[name])
    forms = (picture, PIXELS, PIXELS / 255, PIXELS.astype(float), PIXELS.transpose(2, 0, 1), PIXELS.astype(np.int64))
    for image in forms:
        assert np.allclose(_distribution(live, image), expected, atol=1e-6)


def test_double_rescale_is_named(vit: Any) -> None:
    live = _live(vit, PROCESSORS["resizes"])
    with pytest.raises(InputError, match="double rescale"):
        _distribution(live, PIXELS / 255**2)
    assert not live.notes
    black = np.zeros((8, 8, 3))
    black[0, 0] = 1 / 255  # the darkest picture that is not black has two shades, and is no double rescale
    _distribution(live, black)
    for wrong in ({"rescale_factor": 1 / 255**2}, {"image_mean": [124.0] * 3, "image_std": [58.0] * 3}):
        notes = _live(vit, ViTImageProcessor(size={"height": 32, "width": 32}, **wrong)).notes
        assert [note.key for note in notes if isinstance(note, Message)] == ["data.double_rescale"]


def test_grey_transparent_and_wrongly_ordered_pictures(vit: Any) -> None:
    live = _live(vit, PROCESSORS["resizes"])
    grey = PIXELS[..., 0]
    assert np.allclose(_distribution(live, grey), _distribution(live, np.dstack([grey] * 3)), atol=1e-7)
    assert [note.key for note in live.notes if isinstance(note, Message)] == ["data.grey_pictures"]
    see_through = np.dstack([PIXELS, grey])
    assert np.allclose(_distribution(live, see_through), _distribution(live, PIXELS), atol=1e-7)
    with pytest.raises(InputError, match=r"np.moveaxis\(image, 1, -1\)"):
        _distribution(live, PIXELS.transpose(0, 2, 1))
    with pytest.raises(InputError, match="before normalization"):
        _distribution(live, (PIXELS / 255 - 0.5) / 0.5)


def test_patches_lie_where_the_crop_shows_them(vit: Any) -> None:
    live = _live(vit, PROCESSORS["resizes and crops"])
    places = live.encode(Example("x", {"image": PIXELS})).units.places[1:]
    # 48 x 40 becomes 48 x 40 (shortest edge 40), of which the middle 32 x 32 is read
    assert places[0].tolist() == [8.0, 4.0, 16.0, 12.0]
    assert places[-1].tolist() == [32.0, 28.0, 40.0, 36.0]


@pytest.mark.parametrize("name", PROCESSORS)
@pytest.mark.parametrize("form", ["bytes", "grey floats", "channels first"])
def test_function_of_the_users_pixels_follows_the_model(vit: Any, name: str, form: str) -> None:
    live = _live(vit, PROCESSORS[name])
    image = {"bytes": PIXELS, "grey floats": PIXELS[..., 0] / 255, "channels first": PIXELS.transpose(2, 0, 1)}[form]
    example = Example("x", {"image": image})
    function = batch_function(live, [example])
    assert not function.exact or name != "resizes"
    back = function.back(0, function.x[0])
    assert np.allclose(back.inputs["image"], image, atol=1e-6)
    mine = torch.softmax(function.logits(function.x), -1).detach().numpy()
    assert np.abs(mine - _distribution(live, image)).max() < 0.02
    x = function.x.clone().requires_grad_()
    (slope,) = torch.autograd.grad(function.logits(x)[0, 0], x)
    hidden = ~function.free
    assert bool((slope != 0).any())
    assert not bool(slope[hidden].any())
    assert set(np.unique(function.owner.numpy())) <= {-1, *range(1, 17)}
    if name == "resizes and crops":
        assert bool(hidden[0, 0, 0, 0])
