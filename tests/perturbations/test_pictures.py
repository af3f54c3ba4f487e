"""Corruptions of images: known answers, the user's own numbers kept, an encoder as oracle, and less accuracy with more
severity on the digits model."""

from __future__ import annotations

import io

import numpy as np
import pytest
import torch

from regard.datasets.read import read
from regard.errors import InputError
from regard.measures.keyed_random import Stream
from regard.models.open.load import load
from regard.perturbations.apply import SEVERITIES, noises, perturbed
from regard.perturbations.image.jpeg import jpeg
from regard.perturbations.picture import blurred, cloud, opened
from regard.records import Example, Spec
from regard.surveys.noise_table import noise_table, specs_of

NAMES = [spec.name for spec in noises("image")]


def picture(height: int = 48, width: int = 48, channels: int = 3) -> np.ndarray:
    y, x = np.mgrid[0:height, 0:width] / max(height, width)
    planes = [x, y, 0.5 + 0.4 * np.sin(9 * x + 5 * y)][:channels]
    return np.stack(planes, -1)


def put(name: str, image: np.ndarray, severity: int = 3, seed: int = 0) -> np.ndarray:
    made = perturbed(Example("a", {"image": image}), Spec("perturbation", name), severity, seed)
    return np.asarray(made.example.inputs["image"])


def test_all_families_are_there() -> None:
    families = {"gaussian_noise", "shot_noise", "impulse_noise", "speckle_noise", "defocus_blur", "glass_blur",
                "motion_blur", "zoom_blur", "gaussian_blur", "snow", "frost_like", "fog", "brightness", "spatter",
                "contrast", "elastic", "pixelate", "jpeg", "saturate"}  # fmt: skip
    assert set(NAMES) == families


@pytest.mark.parametrize("name", NAMES)
def test_numbers_layout_and_size_stay_the_users(name: str) -> None:
    whole = (picture() * 255).astype(np.uint8)
    small = whole[:8, :8, 0] / 255.0
    for image in (whole, whole.transpose(2, 0, 1), whole.astype(np.float32), small, picture(224, 160)):
        made = put(name, image, 2)
        assert made.shape == image.shape
        assert made.dtype == image.dtype
        assert made.min() >= 0
        assert made.max() <= (255 if image.max() > 1 else 1)
    both = put(name, whole, 2), put(name, whole.astype(np.float64) / 255, 2)
    assert np.abs(both[0] / 255 - both[1]).max() < 0.01  # the same change in either scale


def test_noises_have_the_stated_size() -> None:
    grey = np.full((100, 100), 0.5)
    for severity, size in zip(SEVERITIES, (0.08, 0.12, 0.18), strict=False):
        assert abs(put("gaussian_noise", grey, severity).std() - size) < 0.01
    assert abs(put("speckle_noise", grey, 1).std() - 0.15 * 0.5) < 0.005
    shot = put("shot_noise", grey, 1)
    assert abs(shot.mean() - 0.5) < 0.005
    assert abs(shot.var() - 0.5 / 60) < 0.001  # the variance of a Poisson number is its mean
    hit = put("impulse_noise", grey, 4) != 0.5
    assert abs(hit.mean() - 0.17) < 0.02


def test_known_answers() -> None:
    image = picture()
    assert np.allclose(put("contrast", image, 1), image.mean((0, 1)) + 0.4 * (image - image.mean((0, 1))), atol=1e-6)
    assert np.allclose(put("brightness", np.full((4, 4), 0.3), 2), 0.5)
    flat = np.full((32, 32, 3), 0.37)
    for name in ("gaussian_blur", "defocus_blur", "glass_blur", "motion_blur", "zoom_blur", "elastic", "pixelate",
                 "saturate"):  # fmt: skip
        assert np.allclose(put(name, flat, 5), flat, atol=1e-5), name  # nothing to blur, stretch or colour
    blocks = put("pixelate", np.arange(64.0).reshape(8, 8) / 63, 2)
    assert np.allclose(blocks[:2, :2], np.arange(64.0).reshape(8, 8)[:2, :2].mean() / 63)
    grey = np.repeat(picture(channels=1), 3, -1)
    assert np.allclose(put("saturate", grey, 5), grey, atol=1e-6)


def test_a_blur_keeps_the_light_and_spreads_a_point_like_a_bell() -> None:
    point = torch.zeros(1, 41, 41)
    point[0, 20, 20] = 1
    spread = blurred(point, 2.0)
    assert abs(float(spread.sum()) - 1) < 1e-5
    at = torch.arange(41) - 20.0
    assert abs(float((spread[0].sum(0) * at**2).sum()) - 4) < 0.1


def test_rough_clouds_have_more_of_the_fine() -> None:
    fine = [float((cloud(Stream(1), 64, 64, rough).diff(dim=0) ** 2).mean()) for rough in (2.0, 1.0)]
    assert fine[0] < fine[1]


def test_jpeg_is_what_an_encoder_loses() -> None:
    image_module = pytest.importorskip("PIL.Image")
    whole = (picture(64, 64) * 255).astype(np.uint8)
    for severity, quality in zip(SEVERITIES, (25, 18, 15, 10, 7), strict=True):
        stored = io.BytesIO()
        image_module.fromarray(whole).save(stored, "JPEG", quality=quality, subsampling=2)
        theirs = np.asarray(image_module.open(stored), np.float64)
        ours = np.asarray(jpeg(Example("a", {"image": whole}), severity, Stream(0)).example.inputs["image"], np.float64)
        lost = np.abs(theirs - whole).mean()
        assert np.abs(ours - theirs).mean() < 0.25 * lost  # colours are enlarged a little differently


def test_images_that_are_none() -> None:
    with pytest.raises(InputError, match="an image"):
        put("fog", np.zeros((2, 2, 2, 2)))
    normal = np.random.default_rng(0).normal(size=(3, 12, 12))
    assert opened(Example("a", {"image": normal})).x.min() == 0
    assert put("contrast", normal, 1).min() < 0


@pytest.mark.parametrize("split", ["dev", "test"])
def test_accuracy_on_digits_falls_with_severity(split: str) -> None:
    """Within noise: a rise from one severity to a higher one is no more than two standard errors of the difference.

    The constants were checked against the dev split as a whole, see `regard.perturbations.picture`.
    """
    examples = list(read("digits", split=split))[:50]
    rows = noise_table(load("digits"), examples, specs_of(examples[0], ["all"]), (1, 3, 5))
    clean = rows[0].accuracy
    assert clean > 0.9
    by: dict[str, list[float]] = {}
    for row in rows[1:]:
        by.setdefault(row.noise, []).append(row.accuracy)
    slack = 2 * np.sqrt(2 * 0.25 / len(examples)) / 2
    for name, (mild, middle, hard) in by.items():
        assert clean >= mild - 0.03, name
        assert mild >= middle - slack, (name, mild, middle)
        assert middle >= hard - slack, (name, middle, hard)
        assert hard < clean or name == "saturate", name  # a grey picture has no colours to lose


@pytest.mark.parametrize(
    ("entry", "noise"), [("text", "keyboard"), ("image", "gaussian_noise"), ("audio", "audio_noise"), ("row", None)]
)
def test_usual_noise_fits_the_input(entry: str, noise: str | None) -> None:
    (spec,) = specs_of(Example("a", {entry: np.zeros(4)}), [])
    assert spec.name == (noise or "missing_values")
