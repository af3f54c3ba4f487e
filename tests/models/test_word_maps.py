"""Maps of written words: on a trained model, the word of a quadrant points into it; memory follows the answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regard.cli.picture_support import reads_words_and_pictures, tried_on_picture
from regard.datasets.builtin.quadrants import quadrants
from regard.errors import InputError, Unsupported
from regard.live.image_text import written_words
from regard.measures.intervals import wilson
from regard.models.open.checkpoints import open_pair
from regard.models.open.config_limits import check_model
from regard.models.word_maps import word_maps
from regard.sources.captioner import captioner
from regard.surveys.cite import cite
from regard.surveys.cited_answer import CitedAnswer
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


def cited(pair: tuple[Any, Any], image: Any, first: str, **options: Any) -> CitedAnswer:
    module, processor = pair
    options = {"answer": None, "units": "word", "new_tokens": 7, "passes": 60.0, "sources": "2x2", **options}
    return cite(module, f"<image> : {first}", options.pop("answer"), tokenizer=processor, image=image, **options)


def test_cited_region_of_a_colour_is_its_quadrant(pair: tuple[Any, Any]) -> None:
    first_region, citations, place_words = [], [], 0
    for i, example in enumerate(quadrants(n=10, seed=5)):
        result = cited(pair, example.inputs["image"], PLACES[i % 4])
        places = [PLACES.index(word) for word in (PLACES[i % 4], *result.answer.split()[1::2])]
        first_region += (result.matrix[::2].argmax(1) == places).tolist()
        colours = zip(result.sentences[::2], places, strict=True)
        citations += [sentence.cited == (place,) for sentence, place in colours if sentence.cited]
        place_words += sum(bool(sentence.cited) for sentence in result.sentences[1::2])
    assert sum(first_region) >= 0.85 * len(first_region)  # chance is 0.25
    assert all(citations)
    assert len(citations) >= 16  # a colour that the model reads into grey is not cited
    assert place_words == 0  # no region decides which place comes next


def test_hidden_and_removed_regions_equal_plain_calls(pair: tuple[Any, Any]) -> None:
    import torch

    from regard.models.image_text import picture_inputs

    model, processor = pair
    image, prompt, answer = np.array(quadrants(n=1, seed=6)[0].inputs["image"]), "<image> : below-left", "red"
    result = cited(pair, image, "below-left", answer=answer, units="answer")
    token = processor.tokenizer.convert_tokens_to_ids(answer)

    def log_odds(pixels: Any, columns: Any = None) -> float:
        inputs = picture_inputs(processor, prompt, pixels)
        n = inputs["input_ids"].shape[1]
        mask = torch.triu(torch.full((n, n), torch.finfo(torch.float32).min), 1)
        if columns is not None:
            mask[-1, columns] = torch.finfo(torch.float32).min
        inputs["attention_mask"] = mask[None, None]
        with torch.no_grad():
            p = torch.softmax(model(**inputs).logits[0, -1].double(), 0)[token]
        return float(torch.log(p / (1 - p)))

    base = log_odds(image)
    assert result.sentences[0].log_odds == pytest.approx(base, abs=1e-4)
    # <s>, then 4 x 4 patches: the first quadrant is the upper left two by two
    assert result.matrix[0, 0] == pytest.approx(base - log_odds(image, [1, 2, 5, 6]), abs=1e-4)
    assert result.sentences[0].whole == pytest.approx(base - log_odds(np.full_like(image, 128)), abs=1e-4)


def test_boxes_of_any_picture_size_own_their_patches(pair: tuple[Any, Any], tmp_path: Path) -> None:
    image = np.array(quadrants(n=1, seed=7)[0].inputs["image"]).repeat(3, 0).repeat(2, 1)  # 96 x 64
    boxes = [[0, 0, 48, 32], [48, 32, 96, 64]]
    result = cited(pair, image, "above-left", sources=boxes)
    assert [source.tokens for source in result.sources] == [4, 4]
    assert [source.box for source in result.sources] == [tuple(box) for box in boxes]
    assert result.sources[1].text == "[48:96, 32:64]"
    assert result.picture == (96, 64)
    assert result.redacted().sources == result.sources
    assert result.reliability is None
    page = result.save(tmp_path / "cited.html").read_text("utf-8")
    assert page.count("<rect") == 2


@pytest.mark.parametrize(
    ("sources", "words"),
    [
        ("4", "grid such as 3x3"),
        ("0x2", "grid such as 3x3"),
        ([], "grid such as 3x3"),
        ([[0, 0, 8]], "grid such as 3x3"),
        ([[0, 0, 8, 40]], "inside 32 x 32"),
        ([[8, 8, 8, 16]], "at least one pixel"),
        ([[0, 0, 16, 16], [8, 8, 24, 24]], "do not overlap"),
        ([[0, 0, 16, 16], [16, 16, 17, 17]], "largest part of at least one of 4 x 4 patches"),
    ],
)
def test_bad_regions_are_refused(pair: tuple[Any, Any], sources: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        cited(pair, quadrants(n=1)[0].inputs["image"], "above-left", sources=sources)


def test_a_prompt_without_a_place_for_the_picture_is_refused(pair: tuple[Any, Any]) -> None:
    module, processor = pair
    with pytest.raises(Unsupported, match="place in the prompt"):
        cite(module, ": above-left", "red", tokenizer=processor, image=quadrants(n=1)[0].inputs["image"])


def test_models_without_words_are_refused(pair: tuple[Any, Any]) -> None:
    model, processor = pair
    image = quadrants(n=1)[0].inputs["image"]
    with pytest.raises(Unsupported, match="a model that writes"):
        word_maps(model.model.vision_tower, processor, "<image> :", image)
    with pytest.raises(InputError, match="at least 1"):
        word_maps(model, processor, "<image> :", image, new_tokens=0)


def test_support_tries_maps_of_words_and_citers(pair: tuple[Any, Any], tmp_path: Path) -> None:
    pair[0].config.save_pretrained(tmp_path)
    check_model(tmp_path)  # its vision layer is -1, the last one
    assert reads_words_and_pictures(str(tmp_path))
    rows = {row["name"]: row for row in tried_on_picture(pair, None, None, seed=0)}
    assert all(row["works"] for row in rows.values()), rows
    assert {"written_words", "words_and_patches", "row_knock_out", "leave_source_out"} <= set(rows)
    towers = list(tried_on_picture((pair[0].model.vision_tower, pair[1]), None, None, seed=0))
    assert all(row["why"] and not row["works"] for row in towers)
