"""An image gives the same prediction in every form: bytes, 0..1, 0..255, PIL; its processor works exactly once."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from PIL import Image
from transformers import ViTImageProcessorPil

from regard import load
from regard.audits.resolve import digest, prepared
from regard.datasets.examples import Examples
from regard.datasets.read import read
from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.desk.questions import attacked, batch_function
from regard.errors import InputError
from regard.models.image_text import look
from regard.models.open.wrap import wrap
from regard.networks.checkpoint import save_checkpoint
from regard.networks.vision import VisionTransformer
from regard.perturbations.picture import opened
from regard.records import Example, Message


@cache
def vit() -> Any:
    torch.manual_seed(0)
    config = transformers.ViTConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, image_size=8, patch_size=4,
        num_labels=3,
    )  # fmt: skip
    module = transformers.ViTForImageClassification(config).eval()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.mul_(6.0 if parameter.dim() > 1 else 1.0)
    return module


def usual(**options: Any) -> Any:
    """A processor as Hugging Face models have it: it resizes, rescales and normalises."""
    return ViTImageProcessorPil(**{"size": {"height": 8, "width": 8}, **options})


def picture(size: int = 8, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(0, 256, (size, size, 3)).astype(np.uint8)


def forms(pixels: Any) -> dict[str, Any]:
    return {
        "uint8": pixels, "0..1": pixels / 255, "0..1 float32": (pixels / 255).astype(np.float32),
        "0..255": pixels.astype(np.float64), "0..255 whole": pixels.astype(np.int64), "PIL": Image.fromarray(pixels),
        "PIL with alpha": Image.fromarray(pixels).convert("RGBA"), "channels first": pixels.transpose(2, 0, 1) / 255,
    }  # fmt: skip


def directly(processor: Any, pixels: Any) -> Any:
    """(classes,) what transformers itself makes of the PIL image."""
    with torch.no_grad():
        return vit()(**processor(images=Image.fromarray(pixels), return_tensors="pt")).logits[0].softmax(-1).numpy()


def said(processor: Any, image: Any) -> Any:
    model = load(vit(), processor=processor, device="cpu")
    case = DeskCase(Desk(model), [Example("a", {"image": image})])
    assert case.base().distribution is not None
    return np.asarray(case.base().distribution)[0]


@pytest.mark.parametrize("form", list(forms(picture())))
@pytest.mark.parametrize("size", [8, 13])
def test_every_form_of_an_image_gives_the_prediction_of_its_processor(form: str, size: int) -> None:
    processor = usual()
    assert processor.do_rescale
    np.testing.assert_allclose(
        said(processor, forms(picture(size))[form]), directly(processor, picture(size)), atol=1e-5
    )


def test_a_dark_uint8_image_is_read_as_0_to_255() -> None:
    pixels = np.ones((8, 8, 3), np.uint8)
    np.testing.assert_allclose(said(usual(), pixels), directly(usual(), pixels), atol=1e-5)
    bright = said(usual(), pixels.astype(np.float64))  # floats of 1 are white
    np.testing.assert_allclose(bright, directly(usual(), 255 * pixels), atol=1e-5)


def test_a_processor_that_does_not_rescale_but_normalises_0_to_1() -> None:
    for image in (picture() / 255, picture()):
        np.testing.assert_allclose(said(usual(do_rescale=False), image), directly(usual(), picture()), atol=1e-5)


def test_a_processor_that_reads_0_to_255_gets_it() -> None:
    processor = usual(do_rescale=False, image_mean=[127.5] * 3, image_std=[127.5] * 3)
    for image in forms(picture()).values():
        np.testing.assert_allclose(said(processor, image), directly(processor, picture()), atol=1e-5)


@pytest.mark.parametrize("wrong", [picture() / 255 - 0.5, picture() * 2.0, np.full((8, 8, 3), np.nan)])
def test_numbers_that_are_no_pixels_are_refused(wrong: Any) -> None:
    model = load(vit(), processor=usual(), device="cpu")
    with pytest.raises(InputError, match=r"0\.\.1 or 0\.\.255"):
        model.encode(Example("a", {"image": wrong}))


def test_grey_pictures_with_and_without_their_channel_give_one_prediction() -> None:
    grey = picture(13)[..., 0]
    colours = np.repeat(grey[..., None], 3, 2)
    for form in (grey, grey[..., None], grey[None], Image.fromarray(grey)):
        np.testing.assert_allclose(said(usual(), form), directly(usual(), colours), atol=1e-5)


@pytest.mark.parametrize("colours", [1, 3])
@pytest.mark.parametrize("kind", ["our own", "wrapped"])
def test_grey_pictures_are_noted_where_the_model_reads_colours(kind: str, colours: int, tmp_path: Path) -> None:
    network = VisionTransformer(height=8, width=8, channels=colours, patch=4, classes=2, size=8, heads=2, layers=1)
    if kind == "our own":
        save_checkpoint(tmp_path, network, labels=["a", "b"], task="classification", modality="image")
        model = load(str(tmp_path), device="cpu")
    else:
        model = wrap(network.eval(), modality="image", channels=colours, patch=4, class_tokens=1, device="cpu")
    for _ in range(2):
        model.encode(Example("a", {"image": picture(8)[..., 0]}))
    keys = [note.key for note in model.notes if isinstance(note, Message)]
    assert keys.count("data.grey_pictures") == (colours == 3), "once, and only where there are colours"


@pytest.mark.parametrize("shape", [(0, 0, 3), (8, 0, 3), (3, 0, 8), (0, 8)])
def test_pictures_without_pixels_are_refused(shape: tuple[int, ...]) -> None:
    model = load(vit(), processor=usual(), device="cpu")
    with pytest.raises(InputError, match="an image of 3"):
        model.encode(Example("a", {"image": np.zeros(shape, np.uint8)}))


@pytest.mark.parametrize("form", ["uint8", "0..1", "0..255", "PIL"])
def test_attack_explain_and_processor_agree_on_the_clean_prediction(form: str) -> None:
    processor = usual()  # do_resize, do_rescale and do_normalize all on
    model = load(vit(), processor=processor, device="cpu")
    case = DeskCase(Desk(model), [Example("a", {"image": forms(picture())[form]})])
    together = batch_function(case, [0])
    clean = together.logits(together.x).detach().softmax(-1)[0].numpy()
    wanted = directly(processor, picture())
    np.testing.assert_allclose(clean, wanted, atol=1e-5)
    np.testing.assert_allclose(np.asarray(case.base().distribution)[0], wanted, atol=1e-5)
    step = torch.zeros_like(together.x)
    step[0, 0, 0, 0] = 51.0 if float(together.x.max()) > 1 else 0.2  # the same step on either scale
    moved = together.x - step.clamp(max=float(together.x[0, 0, 0, 0]))
    changed = together.back(0, moved[0])
    again = model.predict([model.encode(changed)])
    inside = together.logits(moved).detach().softmax(-1)[0]
    np.testing.assert_allclose(inside.numpy(), said(processor, changed.inputs["image"]), atol=1e-5)
    assert again[1] == [int(inside.argmax())]


def test_pgd_reaches_the_model_with_the_same_scale_in_every_form() -> None:
    fooled, changes = {}, {}
    for form in ("uint8", "0..1", "0..255"):
        model = load(vit(), processor=usual(), device="cpu")
        case = DeskCase(Desk(model), [Example("a", {"image": forms(picture())[form]})])
        (one,) = attacked(case, "pgd:eps=0.1,steps=4")
        assert one.example is not None
        top = 1.0 if form == "0..1" else 255.0
        changes[form] = np.abs(np.asarray(one.example.inputs["image"], np.float64) / top - picture() / 255).max()
        fooled[form] = said(usual(), one.example.inputs["image"])
    assert 0.05 < changes["0..1"] <= 0.1 + 1e-6
    for form in ("uint8", "0..255"):
        assert changes[form] == pytest.approx(changes["0..1"], abs=1 / 255), form
        np.testing.assert_allclose(fooled[form], fooled["0..1"], atol=0.02)


def test_an_even_image_can_be_attacked() -> None:
    for image in (np.full((8, 8, 3), 0.9), np.full((8, 8, 3), 255, np.uint8), np.zeros((8, 8, 3))):
        model = load(vit(), processor=usual(), device="cpu")
        case = DeskCase(Desk(model), [Example("a", {"image": image})])
        together = batch_function(case, [0])
        np.testing.assert_allclose(
            together.logits(together.x).detach().softmax(-1)[0].numpy(), said(usual(), image), atol=1e-5
        )


def test_perturbed_images_stay_on_their_scale() -> None:
    made = [opened(Example("a", {"image": forms(picture())[form]})) for form in ("uint8", "0..1", "0..255")]
    darker = [said(usual(), m.with_pixels(m.x * 0.5).example.inputs["image"]) for m in made]
    np.testing.assert_allclose(darker[1], darker[0], atol=0.01)
    np.testing.assert_allclose(darker[2], darker[0], atol=0.01)


def test_a_file_may_hold_0_to_1_or_0_to_255(tmp_path: Any) -> None:
    for name, pixels in (("unit", picture() / 255), ("byte", picture())):
        path = tmp_path / f"{name}.jsonl"
        path.write_text('{"image": ' + str(pixels.tolist()) + ', "label": "cat"}\n', "utf-8")
        (example,) = read(str(path))
        np.testing.assert_allclose(example.inputs["image"], picture() / 255, atol=1e-9)
        np.testing.assert_allclose(said(usual(), example.inputs["image"]), directly(usual(), picture()), atol=1e-5)


def test_text_and_picture_models_read_every_form() -> None:
    images = usual(size={"height": 8, "width": 8})
    seen = []

    class Both:
        """Stands for a processor of texts and pictures."""

        def __call__(self, text: Any, images: Any, return_tensors: str) -> Any:
            seen.append(usual()(images=images[0], return_tensors="np")["pixel_values"])
            raise KeyError

    wanted = images(images=Image.fromarray(picture()), return_tensors="np")["pixel_values"]
    for image in forms(picture()).values():
        with pytest.raises(KeyError):
            look(vit(), Both(), "a cat", image)
        np.testing.assert_allclose(seen[-1], wanted, atol=1e-5)


def test_audited_pil_images_are_stored_as_arrays() -> None:
    given = [Example("a", {"image": Image.fromarray(picture()).convert("RGBA")}), Example("b", {"image": picture()})]
    model = load(vit(), processor=usual(), device="cpu")
    examples, _ = prepared(model, Examples("given", tuple(given)), None)
    assert digest(examples)
    for example in examples:
        np.testing.assert_array_equal(example.inputs["image"], picture())
