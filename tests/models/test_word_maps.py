"""Maps of written words: on a trained model, the word of a quadrant points into it; memory follows the answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regard.datasets.builtin.quadrants import quadrants
from regard.errors import InputError, Unsupported
from regard.live.image_text import written_words
from regard.measures.intervals import wilson
from regard.models.open.checkpoints import open_pair
from regard.models.word_maps import word_maps
from regard.sources.captioner import captioner
from regard.training.caption_training import PLACES

PICTURES = 40


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REGARD_CACHE", str(tmp_path_factory.mktemp("cache")))
        return open_pair(captioner())


def test_colour_of_a_place_points_into_it_whatever_the_order(pair: tuple[Any, Any]) -> None:
    hits, spoken, orders = 0, 0, set()
    for i, example in enumerate(quadrants(n=PICTURES, seed=3)):
        colours, first = str(example.slices["caption"]).split(), PLACES[i % 4]
        maps = word_maps(*pair, f"<image> : {first}", example.inputs["image"], new_tokens=7)
        assert np.allclose(maps.values.sum(1), 1)
        assert np.all(maps.raw.sum(1) <= 1 + 1e-6)
        places = [PLACES.index(word) for word in (first, *maps.words[1::2])]
        assert sorted(places) == [0, 1, 2, 3]
        assert list(maps.words[::2]) == [colours[place] for place in places]
        orders.add(tuple(places))
        hits += int((maps.quadrants()[::2] == places).sum())
        spoken += len(places)
    assert spoken == 4 * PICTURES
    assert len(orders) >= 4  # the number of a word does not tell its place
    assert wilson(hits, spoken)[0] >= 0.95  # chance is 0.25


def test_rows_equal_the_dense_attention(pair: tuple[Any, Any]) -> None:
    import torch

    from regard.models.image_text import picture_inputs

    model, processor = pair
    (example,) = quadrants(n=1, seed=4)
    maps = word_maps(model, processor, "<image> : below-left", example.inputs["image"], new_tokens=5)
    inputs = picture_inputs(processor, f"<image> : below-left {' '.join(maps.words)}", example.inputs["image"])
    before = model.config._attn_implementation
    model.set_attn_implementation("eager")
    try:
        with torch.no_grad():
            dense = torch.stack(model(**inputs, output_attentions=True).attentions)
    finally:
        model.set_attn_implementation(before)
    places = (inputs["input_ids"][0] == model.config.image_token_id).nonzero()[:, 0]
    rows = dense[:, 0].mean((0, 1))[-6:-1][:, places]
    assert np.abs(rows.numpy() - maps.raw).max() < 1e-5


def test_memory_grows_with_the_answer_and_not_with_the_square_of_the_prompt(pair: tuple[Any, Any]) -> None:
    image = quadrants(n=1)[0].inputs["image"]
    short, long = (word_maps(*pair, "<image> :" + " :" * n, image, new_tokens=2) for n in (4, 28))
    assert long.held_bytes <= short.held_bytes * 1.5


def test_view_shows_words_over_patches_and_sinks(pair: tuple[Any, Any], tmp_path: Path) -> None:
    image = quadrants(n=1)[0].inputs["image"]
    view = written_words(*pair, "<image> : above-left", image, new_tokens=4)
    (example,) = view.session.pack().manifest.examples
    assert [site.heads for site in example.sites] == [1, 1]
    assert len(example.axes[0].names) == 4
    assert len(example.axes[1].boxes) == 16


def test_models_without_words_are_refused(pair: tuple[Any, Any]) -> None:
    model, processor = pair
    image = quadrants(n=1)[0].inputs["image"]
    with pytest.raises(Unsupported, match="a model that writes"):
        word_maps(model.model.vision_tower, processor, "<image> :", image)
    with pytest.raises(InputError, match="at least 1"):
        word_maps(model, processor, "<image> :", image, new_tokens=0)
