"""Sound: units are the frames of the encoder that a model of raw samples begins with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from regard.errors import InputError
from regard.models.read.encoded import Item
from regard.models.read.regions import Array, ArrayReader, with_class_tokens
from regard.records import Bools, Example, Ints, Units


def silence(sound: Array, gone: Bools, rng: np.random.Generator) -> Array:
    """Silence: all samples zero."""
    return np.zeros_like(sound)


def resample(sound: Array, gone: Bools, rng: np.random.Generator) -> Array:
    """Samples drawn from anywhere in the sound: as loud, but without pitch."""
    return sound[rng.integers(len(sound), size=len(sound))]


def mean(sound: Array, gone: Bools, rng: np.random.Generator) -> Array:
    """The mean of the samples."""
    return np.full_like(sound, sound.mean())


@dataclass(slots=True)
class SoundReader(ArrayReader):
    """A reader of sounds that refuses one of another sampling rate. rate: samples per second, 0 where unknown."""

    rate: int = 0

    def encode(self, example: Example) -> Item:
        rate = example.inputs.get("rate")
        if self.rate and rate is not None and int(rate) != self.rate:
            raise InputError(
                f"example {example.id!r}",
                expected=f"{self.rate} samples per second",
                got=str(rate),
                remedy=f"resample the sound to {self.rate} Hz (sox in.wav -r {self.rate} out.wav)",
            )
        return ArrayReader.encode(self, example)


def frames_of(samples: int, kernels: Sequence[int], strides: Sequence[int]) -> int:
    """How many frames the convolutions make of so many samples.

    >>> frames_of(16000, (10, 3, 3, 3, 3, 2, 2), (5, 2, 2, 2, 2, 2, 2))
    49
    """
    for kernel, stride in zip(kernels, strides, strict=True):
        samples = (samples - kernel) // stride + 1
    return max(0, samples)


def sound_reader(main: str, kernels: Sequence[int], strides: Sequence[int], rate: int) -> SoundReader:
    """A reader of (samples,); frame i owns the samples from i times the product of the strides on, the last one the
    rest: windows of neighbouring frames overlap a little, and a sample can have one owner only."""
    hop = int(np.prod(strides))

    def prepare(given: Any, subject: str) -> Array:
        array = np.asarray(given)
        if array.ndim == 2 and min(array.shape) == 1:
            array = array.reshape(-1)
        if array.ndim != 1:
            raise InputError(subject, expected="a sound (samples,) of one channel", got=str(array.shape))
        if np.issubdtype(array.dtype, np.integer):
            raise InputError(
                subject,
                expected="samples between -1 and 1",
                got=f"whole numbers ({array.dtype})",
                remedy="divide by the largest number of the format (32768 for 16 bits)",
            )
        if frames_of(len(array), kernels, strides) < 1:
            raise InputError(subject, expected="a sound of at least one frame", got=f"{len(array)} samples")
        return np.ascontiguousarray(array, dtype=np.float32)

    def lay_out(array: Array, given: Any) -> tuple[Units, Ints]:
        count = frames_of(len(array), kernels, strides)
        begin = hop * np.arange(count)
        places = np.stack([begin, np.append(begin[1:], len(array))], axis=1).astype(np.float64)
        names = [f"{b / rate:.2f}s" if rate else f"t{b}" for b in begin]
        units = with_class_tokens(names, places, "frame", place_kind="range", shape=(count,), lead=0)
        return units, np.minimum(np.arange(len(array)) // hop, count - 1)

    return SoundReader(
        "audio", main, "audio", prepare, lay_out, {"silence": silence, "resample": resample}, middle=mean, rate=rate
    )


def normalised(sound: torch.Tensor) -> torch.Tensor:
    """(batch, samples) with mean 0 and deviation 1, as feature extractors of raw sound do it, but differentiable."""
    middle = sound.mean(-1, keepdim=True)
    return (sound - middle) / torch.sqrt(sound.var(-1, unbiased=False, keepdim=True) + 1e-7)
