"""Labels, long texts, arrays of odd shapes, and the sharing of prefixes."""

from __future__ import annotations

from typing import Any

import adapter_zoo as zoo
import numpy as np
import pytest
import torch

from regard.errors import InputError
from regard.models.ask.prefix_sharing import PrefixCache
from regard.models.open.labels import match_labels, parse_labels
from regard.models.open.load import load
from regard.models.read.images import FILLS as IMAGE_FILLS
from regard.models.read.images import as_channels_first, patches
from regard.models.read.series import FILLS as SERIES_FILLS
from regard.models.read.series import steps
from regard.records import Example

# ---------------------------------------------------------------------- labels


@pytest.mark.parametrize(
    ("model", "seen", "override", "expected"),
    [
        (["NEGATIVE", "POSITIVE"], ["pos", "neg"], None, [1, 0]),
        (["negative", "positive"], ["Positive", "NEGATIVE"], None, [1, 0]),
        (["negative", "positive"], [0, 1, 1], None, [0, 1]),
        (["negative", "positive"], [True, False], None, [1, 0]),
        (["negative", "positive"], [1.0, 0.0], None, [1, 0]),
        (["LABEL_0", "LABEL_1"], ["pos", "neg"], None, [1, 0]),
        (["LABEL_0", "LABEL_1"], ["LABEL_1"], None, [1]),
        (["sport", "politics"], ["label_1", "0"], None, [1, 0]),
        (["3", "5"], ["5", 3], None, [1, 0]),
        (["LABEL_0", "LABEL_1", "LABEL_2"], ["cat", "dog"], "cat=2,dog=0", [2, 0]),
        (["negative", "positive"], ["pos", "neg"], "pos=0,neg=1", [0, 1]),
    ],
)
def test_labels_are_matched(model: list[str], seen: list[Any], override: str | None, expected: list[int]) -> None:
    table = match_labels(model, seen, override)
    assert [row[1] for row in table.rows()] == expected
    assert all(table.of(label) in expected for label in seen)


def test_labels_that_do_not_match() -> None:
    with pytest.raises(InputError, match="positive"):
        match_labels(["negative", "positive"], ["positiv"])
    with pytest.raises(InputError):
        match_labels(["3", "5"], ["1"])  # not a class index: the model's labels are numbers themselves
    with pytest.raises(InputError):
        match_labels(["negative", "positive"], [2])
    with pytest.raises(InputError, match="--labels"):
        match_labels(["negative", "positive"], ["pos"]).of("elsewhere")
    with pytest.raises(InputError, match="from 0 to 1"):
        match_labels(["a", "b"], [], "c=2")
    with pytest.raises(InputError, match="name=index"):
        parse_labels("pos")


# ---------------------------------------------------------------------- long texts


def reader(overflow: Any = "windows", **more: Any) -> Any:
    return load(zoo.bert("ForSequenceClassification", num_labels=3), processor=zoo.bert_tokenizer(),
                overflow=overflow, **more)  # fmt: skip


STORY = " ".join(np.random.default_rng(0).choice(zoo.WORDS, 300)) + " boringly"


def test_windows_cover_the_text_overlap_by_a_quarter_and_have_one_parent() -> None:
    model = reader()
    place = STORY.index("spain")
    example = Example("doc", {"text": STORY}, label=1, rationale=((float(place), float(place + 5)),), group="g")
    windows = model.windows(example)
    seen = np.zeros(len(STORY), int)
    at = 0
    for window in windows:
        text = window.inputs["text"]
        at = STORY.index(text, at)
        seen[at : at + len(text)] += 1
        assert model.encode(window).length <= 64
        assert (window.parent, window.label, window.group) == ("doc", 1, "g")
        for start, stop in window.rationale:
            assert text[int(start) : int(stop)] == "spain"
    assert all(seen[i] or STORY[i].isspace() for i in range(len(STORY)))
    assert seen.max() == 2
    assert 0.1 < (seen == 2).mean() < 0.45
    assert len({w.id for w in windows}) == len(windows)
    assert any(w.rationale for w in windows)
    assert any("data.read_in_windows" in repr(note) for note in model.notes)
    assert model.windows(Example("short", {"text": "great fun"})) == [Example("short", {"text": "great fun"})]


def test_a_long_text_is_cut_only_when_asked_and_never_silently() -> None:
    example = Example("doc", {"text": STORY})
    cut = reader("cut")
    assert cut.windows(example) == [example]
    item = cut.encode(example)
    assert item.length == 64
    assert item.units.names[-1] == "[SEP]", "special tokens stay"
    assert list(map(str, cut.notes)) == ["doc: cut from 304 to 64 tokens"]
    for model, call in ((reader(), "encode"), (reader("error"), "windows"), (reader("error"), "encode")):
        with pytest.raises(InputError, match="304 tokens"):
            getattr(model, call)(example)


def test_a_question_stays_whole_in_every_window_of_its_passage() -> None:
    model = load(zoo.bert("ForQuestionAnswering"), processor=zoo.bert_tokenizer())
    windows = model.windows(Example("q", {"text": "who wrote it?", "text_pair": STORY}))
    assert len(windows) > 3
    assert {w.inputs["text"] for w in windows} == {"who wrote it?"}
    encoded = [model.encode(w) for w in windows]
    assert max(e.length for e in encoded) <= 64
    model.predict(encoded)
    with pytest.raises(InputError, match="room for a window"):
        model.windows(Example("q", {"text": "who " * 60, "text_pair": STORY}))


def test_a_shorter_window_than_the_model_allows() -> None:
    model = reader(max_length=16)
    assert max(model.encode(w).length for w in model.windows(Example("d", {"text": STORY}))) <= 16
    with pytest.raises(InputError, match="at most 64"):
        reader(max_length=65)


def test_a_hundred_thousand_tokens_do_not_hang() -> None:
    """Quadratic work would take hours and end at pytest's own limit."""
    model = reader()
    windows = model.windows(Example("d", {"text": "story " * 100_000}))
    assert len(windows) > 2000
    model.encode(windows[1000])


# ---------------------------------------------------------------------- arrays


def test_patches_own_their_pixels() -> None:
    image = np.arange(2 * 6 * 8, dtype=float).reshape(2, 6, 8)
    units, owner = patches(image, (3, 2), 1, (0.0, 0.0, 12.0, 16.0))
    assert units.names[:3] == ("[CLS]", "r0c0", "r0c1")
    assert units.shape == (2, 4)
    assert units.places[1].tolist() == [0, 0, 6, 4], "in pixels of the user's own image"
    assert (np.bincount(owner.ravel())[1:] == 2 * 3 * 2).all()
    assert owner[0, 4, 7] == 8
    for given in (image[0], np.moveaxis(image, 0, 2)):
        assert as_channels_first(given, 1 if given.ndim == 2 else 2, "x").shape[1:] == (6, 8)
    with pytest.raises(InputError, match="channel"):
        as_channels_first(np.zeros((5, 5, 5)), 3, "x")


def test_fills_change_what_goes_and_keep_the_mean() -> None:
    rng = np.random.default_rng(0)
    image = rng.random((1, 16, 16))
    gone = np.zeros_like(image, bool)
    gone[:, :4, :4] = True
    for name, fill in IMAGE_FILLS.items():
        out = fill(image, gone, np.random.default_rng(1))
        assert out.shape == image.shape
        assert not np.allclose(out[gone], image[gone]), name
    assert IMAGE_FILLS["blur"](np.full((1, 9, 9), 3.0), gone, rng) == pytest.approx(3.0)
    assert np.ptp(IMAGE_FILLS["blur"](image, gone, rng)) < np.ptp(image)
    line = np.arange(10.0)[:, None]
    missing = np.zeros_like(line, bool)
    missing[3:6] = True
    np.testing.assert_allclose(SERIES_FILLS["interpolate"](line, missing, rng), line)
    np.testing.assert_allclose(SERIES_FILLS["interpolate"](line, np.ones_like(missing), rng), 4.5)
    np.testing.assert_allclose(SERIES_FILLS["mean"](line, missing, rng), 4.5)
    assert set(SERIES_FILLS["resample"](line, missing, rng).ravel()) <= set(range(10))


def test_patches_of_a_series_begin_where_the_model_begins() -> None:
    units, owner = steps(np.zeros((10, 2)), 4, 1, 2)
    assert units.names == ("[CLS]", "t2-5", "t6-9")
    assert owner[:, 0].tolist() == [-1, -1, 1, 1, 1, 1, 2, 2, 2, 2]


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"image": np.full((8, 8), np.nan)}, "finite"),
        ({"image": np.zeros((9, 9))}, "8 x 8"),
        ({"text": "no image"}, "entry 'image'"),
        ({"image": np.zeros((8, 8, 3))}, "1 channel"),
    ],
)
def test_bad_images(inputs: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        load(zoo.vit()).encode(Example("e", inputs))


def test_bad_series_and_text() -> None:
    with pytest.raises(InputError, match="24 steps"):
        load(zoo.patchtst()).encode(Example("e", {"series": np.zeros((23, 2))}))
    with pytest.raises(InputError, match="a text"):
        reader().encode(Example("e", {"text": None}))


# ---------------------------------------------------------------------- prefixes


@pytest.mark.parametrize("make", [zoo.gpt2, zoo.llama])
@pytest.mark.parametrize("operator", ["mask", "delete", "attention_mask", "resample"])
def test_shared_prefixes_say_what_the_loop_says(make: Any, operator: str) -> None:
    model: Any = load(make(), processor=zoo.plain_tokenizer())
    item = model.encode(Example("e", {"text": " ".join(zoo.WORDS * 2)}))
    _, (target,) = model.predict([item])
    n = item.length
    variants = [model.remove(item, np.arange(n) == i, operator, np.random.default_rng(i)) for i in range(n)]
    model._prefix = None
    loop = [float(model.forward([v], [target]).value[0]) for v in variants]
    model._prefix = cache = PrefixCache()
    calls: list[int] = []
    handle = model.module.register_forward_pre_hook(
        lambda module, args, kwargs: calls.append(kwargs["input_ids"].numel()), with_kwargs=True
    )
    shared = [
        v for i in range(0, n, 8) for v in model.forward(variants[i : i + 8], [target] * len(variants[i : i + 8])).value
    ]
    proof = sum(calls)
    again = [
        v for i in range(0, n, 8) for v in model.forward(variants[i : i + 8], [target] * len(variants[i : i + 8])).value
    ]
    handle.remove()
    np.testing.assert_allclose(shared, loop, atol=1e-5)
    np.testing.assert_allclose(again, loop, atol=1e-5)
    assert cache.works
    assert sum(calls) - proof < 0.75 * n * n, "about half of the positions are never computed"


def test_a_prefix_is_forgotten_when_the_weights_change() -> None:
    model: Any = load(zoo.gpt2(), processor=zoo.plain_tokenizer())
    item = model.encode(Example("e", {"text": " ".join(zoo.WORDS)}))
    batch = [model.remove(item, np.arange(item.length) == i, "mask", np.random.default_rng(0)) for i in (18, 19, 20)]
    before = model.forward(batch, [3, 3, 3]).value
    weight = model.module.transformer.h[0].attn.c_attn.weight
    with torch.no_grad():
        weight.mul_(1.5)
    after = model.forward(batch, [3, 3, 3]).value
    model._prefix = None
    plain = model.forward(batch, [3, 3, 3]).value
    with torch.no_grad():
        weight.div_(1.5)
    np.testing.assert_allclose(after, plain, atol=1e-5)
    assert not np.allclose(before, after, atol=1e-3)


def test_a_model_whose_cache_does_not_hold_what_it_should_retires_the_sharing() -> None:
    class Odd(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = zoo.gpt2()

        def forward(
            self, input_ids: Any, attention_mask: Any, past_key_values: Any = None, use_cache: Any = None
        ) -> Any:
            out = self.inner(
                input_ids, attention_mask=attention_mask, past_key_values=past_key_values, use_cache=use_cache
            )
            if past_key_values is not None and len(input_ids) > 1:
                out.logits = out.logits + 1.0 + torch.arange(out.logits.shape[-1])
            return out

    cache, odd = PrefixCache(), Odd().eval()
    ids = torch.randint(2, 20, (1, 20)).repeat(3, 1)
    ids[:, -1] = torch.tensor([3, 4, 5])
    with torch.inference_mode():
        found = cache.logits(odd, {"input_ids": ids, "attention_mask": torch.ones_like(ids)}, [20, 20, 20])
    assert found is None
    assert not cache.works
