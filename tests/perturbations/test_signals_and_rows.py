"""Noises over sounds, series and rows: the stated size, what they must not touch, and what is measured on data."""

from __future__ import annotations

import numpy as np
import pytest

from regard.errors import InputError
from regard.perturbations.apply import SEVERITIES, noises, perturbed
from regard.perturbations.columns import fitted
from regard.records import Example, Spec

TIME = np.linspace(0, 1, 4000, endpoint=False)
WAVE = 0.6 * np.sin(2 * np.pi * 40 * TIME) + 0.3 * np.sin(2 * np.pi * 900 * TIME)


def put(name: str, values: np.ndarray, severity: int = 3, entry: str = "audio", **params: object) -> np.ndarray:
    spec = Spec("perturbation", name, dict(params))  # type: ignore[arg-type]
    return np.asarray(perturbed(Example("a", {entry: values}), spec, severity).example.inputs[entry])


def test_what_is_there() -> None:
    named = {kind: {s.name for s in noises(kind)} for kind in ("audio", "series", "table")}
    assert named == {
        "audio": {"audio_noise", "gain", "clipping", "audio_dropout", "audio_shift", "band_limit"},
        "series": {"jitter", "scaling", "drift", "time_warp", "series_dropout", "spikes", "quantisation"},
        "table": {"missing_values", "rounding", "column_noise"},
    }


@pytest.mark.parametrize("colour", ["white", "pink"])
def test_the_ratio_of_signal_to_noise_is_the_stated_one(colour: str) -> None:
    for severity, decibels in zip(SEVERITIES, (20, 15, 10, 5, 0), strict=True):
        noise = put("audio_noise", WAVE, severity, colour=colour) - WAVE
        assert abs(10 * np.log10(np.mean(WAVE**2) / np.mean(noise**2)) - decibels) < 1e-6


def test_sounds() -> None:
    assert np.allclose(put("gain", WAVE, 2, louder=True), WAVE * 10 ** (6 / 20))
    clipped = put("clipping", WAVE, 3)
    assert np.isclose(np.abs(clipped).max(), 0.4 * np.abs(WAVE).max())
    silent = put("audio_dropout", WAVE + 2, 4) == 0
    assert abs(silent.mean() - 0.3) < 0.01
    shifted = put("audio_shift", WAVE, 5)
    later = np.array_equal(shifted[320:], WAVE[:-320]) and not shifted[:320].any()
    assert later or (np.array_equal(shifted[:-320], WAVE[320:]) and not shifted[-320:].any())
    waves = np.abs(np.fft.rfft(put("band_limit", WAVE, 3)))
    assert waves[900] < 1e-6 * waves[40]
    assert np.isclose(waves[40], np.abs(np.fft.rfft(WAVE))[40])
    pcm = (WAVE * 2**14).astype(np.int16)
    assert put("audio_noise", pcm, 5).dtype == np.int16
    both = np.stack([WAVE, -WAVE])  # (channels, samples)
    assert put("clipping", both, 3).shape == (2, 4000)
    assert np.allclose(put("clipping", WAVE, 3, entry="series"), clipped)  # a wave that a model reads as a series


def test_series() -> None:
    series = np.stack([50 + np.cumsum(np.sin(np.arange(300) / 9)), 200 + 100 * np.cos(np.arange(300) / 20)], 1)
    moved = put("jitter", series, 4, "series") - series
    assert np.allclose(moved.std(0) / series.std(0), 0.35, atol=0.05)  # each channel by its own spread
    factors = put("scaling", series, 3, "series") / series
    assert np.allclose(factors, np.nanmedian(factors, 0), rtol=1e-6)
    drifted = (put("drift", series, 3, "series") - series) / series.std(0)
    assert np.allclose(drifted[0], 0)
    assert np.allclose(np.abs(drifted).max(0), 0.4)
    warped = put("time_warp", series, 5, "series")
    assert np.allclose(warped[[0, -1]], series[[0, -1]])
    assert warped.min() >= series.min() - 1e-9
    lost = put("series_dropout", series, 4, "series", fill="zero")
    assert abs((lost == 0).all(1).mean() - 0.3) < 0.01
    held = put("series_dropout", series, 5, "series")
    assert all(any(np.array_equal(row, old) for old in series) for row in held[::17])
    thrown = put("spikes", series, 3, "series") != series
    assert thrown.sum() == round(0.02 * series.size)
    for severity, levels in zip(SEVERITIES, (64, 32, 16, 8, 4), strict=True):
        assert len(np.unique(put("quantisation", series, severity, "series")[:, 1].round(9))) <= levels


def test_what_is_normal_for_a_column_is_measured_or_given() -> None:
    rng = np.random.default_rng(0)
    rows = [Example(str(i), {"row": np.array([rng.normal(5, 2), rng.normal(0, 300), i % 3])}) for i in range(400)]
    spec = fitted(Spec("perturbation", "column_noise"), rows)
    spread = spec.params["spread"]
    assert isinstance(spread, list)
    assert spread[2] == 0  # three whole numbers: a code, it stays
    assert np.allclose(spread[:2], [2, 300], rtol=0.1)  # type: ignore[arg-type]
    made = np.stack([np.asarray(perturbed(e, spec, 3).example.inputs["row"]) - e.inputs["row"] for e in rows])
    assert np.allclose(made.std(0)[:2] / [2, 300], 0.2, rtol=0.15)
    assert not made[:, 2].any()
    again = fitted(Spec("perturbation", "column_noise", {"spread": [1.0, 1.0, 1.0]}), rows)
    assert again.params["spread"] == [1.0, 1.0, 1.0]  # what the user says counts
    with pytest.raises(InputError, match="spread of 3 columns"):
        perturbed(rows[0], Spec("perturbation", "column_noise"), 1)
    middle = fitted(Spec("perturbation", "missing_values"), rows)
    filled = np.asarray(perturbed(rows[7], middle, 1).example.inputs["row"])
    changed = np.flatnonzero(filled != rows[7].inputs["row"])
    assert len(changed) <= 1
    assert np.allclose(filled[changed], np.asarray(middle.params["centre"])[changed])


def test_rounding_is_relative_to_the_number() -> None:
    row = np.array([1.23456, -987.654, 0.000777, 0.0, 7.0])
    assert np.allclose(put("rounding", row, 1, "row"), [1.23, -988, 0.000777, 0, 7])
    assert np.allclose(put("rounding", row, 5, "row"), [1, -1000, 0.0008, 0, 7])
    assert row[0] == 1.23456  # the user's own array stays
