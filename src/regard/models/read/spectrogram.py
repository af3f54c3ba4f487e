"""Spectrograms: the features of Whisper as a differentiable function, and patches of any spectrogram as units."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from regard.errors import InputError, Text, phrase
from regard.models.read.regions import Array, with_class_tokens
from regard.models.read.sound import SoundReader, one_channel
from regard.records import Bools, Ints, Units


def log_mel(sound: Tensor, filters: Tensor, *, window: int, hop: int, most: int) -> Tensor:
    """Compute Whisper's log-mel features: (batch, samples) -> (batch, bands, most / hop).

    Silence up to `most` samples, then log10 of the mel powers, at least the loudest less 8, moved to about -1..1
    (Radford et al. 2023). filters: (frequencies, bands).
    """
    whole = F.pad(sound.float(), (0, most - sound.shape[-1]))
    hann = torch.hann_window(window, device=sound.device)
    spectrum = torch.stft(whole, window, hop, window=hann, return_complex=True)[..., :-1]
    power = spectrum.real**2 + spectrum.imag**2
    loud = torch.log10((filters.T @ power).clamp(min=1e-10))
    return (torch.maximum(loud, loud.amax((1, 2), keepdim=True) - 8.0) + 4.0) / 4.0


def spectrogram_reader(main: str, extract: Callable[[Array], Array], grid: Grid, rate: int) -> SoundReader:
    """A reader whose array is the spectrogram (steps, bands) that `extract` makes of a sound; units are patches.

    Gradient paths start at the quietest spectrogram, since the mean of a band over time reveals the pitch of a sound.
    """

    def prepare(given: Any, subject: Text) -> Array:
        sound = one_channel(given, subject)
        if len(sound) < grid.window:
            raise InputError(
                subject,
                expected=phrase("errors.models.sound_at_least_seconds", window=grid.window / rate),
                got=phrase("errors.models.samples_n", n=len(sound)),
            )
        return np.asarray(extract(sound), np.float32)

    def lay_out(array: Array, given: Any) -> tuple[Units, Ints]:
        return grid.cut(array.shape[0], array.shape[1], rate)

    fills = {"quiet": quietest, "mean": band_means}
    return SoundReader(
        "audio", main, "audio", prepare, lay_out, fills, start="quiet", trial=(max(rate, grid.window),), rate=rate
    )


def quietest(spectrogram: Array, gone: Bools, rng: np.random.Generator) -> Array:
    """The quietest value of each band."""
    return np.broadcast_to(spectrogram.min(axis=0, keepdims=True), spectrogram.shape)


def band_means(spectrogram: Array, gone: Bools, rng: np.random.Generator) -> Array:
    """The mean of each band."""
    return np.broadcast_to(spectrogram.mean(axis=0, keepdims=True), spectrogram.shape)


class Grid:
    """Patches of a spectrogram in the order of the model: all steps of the lowest bands first.

    patch: its edge; strides: (bands, steps) from one patch to the next; hop, window: samples of a step.
    """

    def __init__(self, patch: int, strides: tuple[int, int], *, lead: int, hop: int, window: int) -> None:
        self.patch, self.strides, self.lead = patch, strides, lead
        self.hop, self.window = hop, window

    def cut(self, steps: int, bands: int, rate: int) -> tuple[Units, Ints]:
        """Units and owners of a spectrogram; an entry in two patches belongs to the later one."""
        rows = (bands - self.patch) // self.strides[0] + 1
        columns = (steps - self.patch) // self.strides[1] + 1
        if rows < 1 or columns < 1:
            raise InputError(
                phrase("errors.models.spectrogram"),
                expected=phrase("errors.models.at_least_steps_and_bands", patch=self.patch),
                got=f"{steps}, {bands}",
            )
        r, c = np.divmod(np.arange(rows * columns), columns)
        low, begin = r * self.strides[0], c * self.strides[1]
        # both sides in samples of a step, so that times are those of the sound and patches stay squares
        places = self.hop * np.stack([low, begin, low + self.patch, begin + self.patch], axis=1).astype(np.float64)
        seconds = begin * self.hop / rate if rate else begin
        names = [f"{at:.2f}s b{band}" for at, band in zip(seconds, low, strict=True)]
        units = with_class_tokens(names, places, "patch", place_kind="box", shape=(rows, columns), lead=self.lead)
        row = np.minimum(np.arange(bands) // self.strides[0], rows - 1)
        column = np.minimum(np.arange(steps) // self.strides[1], columns - 1)
        return units, (row[None] * columns + column[:, None] + max(self.lead, 0)).astype(np.int64)
