"""Sound: units are the frames of the encoder that a model of raw samples, or of a spectrogram, begins with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch

from regard.errors import InputError, phrase
from regard.measures.resampling import METHOD, resampled
from regard.models.read.encoded import Item
from regard.models.read.regions import Array, ArrayReader, with_class_tokens
from regard.records import Bools, Example, Ints, Message, Text, Units

QUIET = 1e-4
"""Maximum amplitude of a silent sound: less than 4 steps of 16 bits."""
SEGMENT = 0.1
"""Seconds of the larger unit that a frame belongs to (`Units.groups`)."""


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
    """A reader of sounds that changes another sampling rate to its own and notes it.

    rate: samples per second, 0 where unknown. spell, join: ids -> names of tokens, and their text, for a generating
    model; expected: target text -> its ids, and the characters of each. most: samples that the model reads at once, 0
    for any number; a longer sound is read in pieces. segment: seconds of a unit of several frames; 0: every frame is a
    unit.
    """

    rate: int = 0
    spell: Callable[[Sequence[int]], list[str]] | None = None
    join: Callable[[Sequence[int]], str] = str
    expected: Callable[[str], tuple[list[int], list[tuple[int, int]]]] | None = None
    most: int = 0
    segment: float = 0.0
    changed: dict[int, int] = field(default_factory=dict)

    def encode(self, example: Example) -> Item:
        value, rate = example.inputs.get(self.entry), example.inputs.get("rate")
        item = ArrayReader.encode(self, self._at_own_rate(example))
        if self.modality == "audio" and value is not None and _is_silent(value):
            self._note(Message.of("data.silent_sound", name=example.id))
        if channels := example.inputs.get("channels"):
            self._note(Message.of("data.averaged_channels", channels=int(channels)))
        if missing := example.inputs.get("missing_seconds"):
            lasts = len(np.asarray(value)) / int(rate or 1)
            self._note(Message.of("data.cut_sound", name=example.id, lasts=lasts, missing=float(missing)))
        gathers = self.segment > 0 and self.rate > 0 and item.units.place_kind == "range"
        return segmented(item, self.segment * self.rate) if gathers else item

    def _at_own_rate(self, example: Example) -> Example:
        """The example resampled to the model's rate, its rationale in samples of that rate."""
        value, rate = example.inputs.get(self.entry), example.inputs.get("rate")
        if not self.rate or rate is None or value is None or int(rate) == self.rate:
            return example
        subject = phrase("errors.common.example_example", example=repr(example.id))
        if int(rate) < 1:
            raise InputError(subject, expected=phrase("errors.models.rate_at_least_sample_per"), got=str(rate))
        sound = resampled(one_channel(value, subject), int(rate), self.rate)
        self.changed[int(rate)] = self.changed.get(int(rate), 0) + 1
        marks = example.rationale
        if marks is not None:
            marks = tuple(tuple(edge * self.rate / int(rate) for edge in mark) for mark in marks)
        return replace(example, inputs={**example.inputs, self.entry: sound, "rate": self.rate}, rationale=marks)

    def _note(self, note: Text) -> None:
        if note not in self.observations:
            self.observations.append(note)

    def windows(self, example: Example) -> list[Example]:
        """The sound in pieces that the model reads at once; they belong to one recording, `parent`.

        A sound with a rationale is resampled here, so that marks and units count samples of the same rate.
        """
        if example.rationale is not None:
            example = self._at_own_rate(example)
        value: Any = example.inputs.get(self.entry)
        rate = int(example.inputs.get("rate") or self.rate)
        longest = self.most * rate // self.rate if self.most and self.rate and value is not None else 0
        if not longest or len(np.shape(value)) != 1 or len(np.asarray(value)) <= longest:
            return [example]
        sound = np.asarray(value)
        pieces = [sound[start : start + longest] for start in range(0, len(sound), longest)]
        return [
            replace(
                example,
                id=f"{example.id}@{i * longest / rate:g}s",
                inputs={**example.inputs, self.entry: piece},
                label=None,
                alignment=None,
                rationale=_marks_in_piece(example.rationale, i * longest, len(piece)),
                parent=example.parent or example.id,
            )
            for i, piece in enumerate(pieces)
        ]

    def notes(self) -> list[Text]:
        rates = sorted(self.changed)
        changes = [Message.of("data.resampled", rate=rate, to=self.rate, method=METHOD) for rate in rates]
        return [*self.observations, *changes]


def _marks_in_piece(
    marks: tuple[tuple[float, ...], ...] | None, start: int, length: int
) -> tuple[tuple[float, ...], ...] | None:
    """The marked ranges of a sound in one piece of it, counted from its first sample.

    >>> _marks_in_piece(((5.0, 12.0), (30.0, 31.0)), 10, 10)
    ((0.0, 2.0),)
    """
    if marks is None:
        return None
    ranges = ((max(mark[0] - start, 0.0), min(mark[1] - start, float(length))) for mark in marks)
    return tuple((begin, end) for begin, end in ranges if begin < end)


def _is_silent(sound: Any) -> bool:
    values = np.asarray(sound)
    return values.dtype.kind == "f" and not np.abs(values).max(initial=0.0) > QUIET


def one_channel(given: Any, subject: Text) -> Array:
    """(samples,) in -1..1 of a sound; channels must be averaged before, and whole numbers divided."""
    array = np.asarray(given)
    if array.ndim == 2 and min(array.shape) == 1:
        array = array.reshape(-1)
    if array.ndim != 1:
        remedy = phrase("errors.models.mean_over_channels") if array.ndim == 2 else ""
        raise InputError(
            subject, expected=phrase("errors.models.sound_samples_one_channel"), got=str(array.shape), remedy=remedy
        )
    if np.issubdtype(array.dtype, np.integer):
        raise InputError(
            subject,
            expected=phrase("errors.models.samples_in_range"),
            got=phrase("errors.models.whole_numbers", dtype=array.dtype),
            remedy=phrase("errors.models.divide_by_largest_number_format"),
        )
    return np.ascontiguousarray(array, dtype=np.float32)


def frames_of(samples: int, kernels: Sequence[int], strides: Sequence[int]) -> int:
    """Return the number of frames that the convolutions make of a number of samples.

    >>> frames_of(16000, (10, 3, 3, 3, 3, 2, 2), (5, 2, 2, 2, 2, 2, 2))
    49
    """
    for kernel, stride in zip(kernels, strides, strict=True):
        samples = (samples - kernel) // stride + 1
    return max(0, samples)


def sound_reader(main: str, kernels: Sequence[int], strides: Sequence[int], rate: int) -> SoundReader:
    """Build a reader of (samples,).

    Frame i owns the samples from i times the product of the strides on, the last one the rest: windows of neighbouring
    frames overlap a little, and a sample can have one owner only.
    """
    hop = int(np.prod(strides))

    def prepare(given: Any, subject: Text) -> Array:
        array = one_channel(given, subject)
        if frames_of(len(array), kernels, strides) < 1:
            raise InputError(
                subject,
                expected=phrase("errors.models.sound_at_least_one_frame"),
                got=phrase("errors.models.samples_n", n=len(array)),
            )
        return array

    def lay_out(array: Array, given: Any) -> tuple[Units, Ints]:
        return frames(len(array), frames_of(len(array), kernels, strides), hop, rate)

    return _reader(main, prepare, lay_out, rate)


def bounded_reader(main: str, hop: int, most: int, rate: int) -> SoundReader:
    """Build a reader of sounds of at most `most` samples, which the model pads with silence that belongs to no unit.

    Unit i is frame i of `hop` samples.
    """

    def prepare(given: Any, subject: Text) -> Array:
        array = one_channel(given, subject)
        if not len(array):
            raise InputError(
                subject, expected=phrase("errors.models.sound_with_samples"), got=phrase("errors.common.none")
            )
        if len(array) > most:
            raise InputError(
                subject,
                expected=phrase("errors.models.sound_at_most_seconds_which_model", most=most / rate),
                got=phrase("errors.models.seconds_n", n=len(array) / rate),
                remedy=phrase("errors.models.cut_into_pieces"),
            )
        return array

    def lay_out(array: Array, given: Any) -> tuple[Units, Ints]:
        return frames(len(array), max(1, len(array) // hop), hop, rate)

    reader = _reader(main, prepare, lay_out, rate)
    reader.most = most
    reader.trial = (min(most, *reader.trial),)
    return reader


def frames(samples: int, count: int, hop: int, rate: int) -> tuple[Units, Ints]:
    """Units and owners of a sound of `count` frames, `hop` samples apart; the last frame owns the rest."""
    begin = hop * np.arange(count)
    places = np.stack([begin, np.append(begin[1:], samples)], axis=1).astype(np.float64)
    names = [f"{b / rate:.2f}s" if rate else f"t{b}" for b in begin]
    units = with_class_tokens(names, places, "frame", place_kind="range", shape=(count,), lead=0)
    if rate:
        units = replace(units, groups=(begin / (SEGMENT * rate)).astype(np.int64))
    return units, np.minimum(np.arange(samples) // hop, count - 1)


def segmented(item: Item, samples: float) -> Item:
    """Replace the units by segments of so many samples; a last one of less than half of that joins the one before."""
    units = item.units
    segment = (units.places[:, 0] / samples).astype(np.int64)
    if segment[-1] and units.places[-1, 1] - segment[-1] * samples < samples / 2:
        segment[segment == segment[-1]] -= 1
    _, first, owner, counts = np.unique(segment, return_index=True, return_inverse=True, return_counts=True)
    places = np.stack([units.places[first, 0], units.places[first + counts - 1, 1]], axis=1)
    names = [units.names[i] for i in first]
    gathered = with_class_tokens(names, places, "segment", place_kind="range", shape=(len(first),), lead=0)
    gathered = replace(gathered, keys=units.keys[first], key_counts=counts)
    return replace(item, units=gathered, owner=np.append(owner, -1)[item.owner])


def _reader(main: str, prepare: Any, lay_out: Any, rate: int) -> SoundReader:
    return SoundReader(
        "audio",
        main,
        "audio",
        prepare,
        lay_out,
        {"silence": silence, "resample": resample},
        middle=mean,
        trial=(rate or 16000,),
        rate=rate,
    )


def normalised(sound: torch.Tensor) -> torch.Tensor:
    """(batch, samples) with mean 0 and deviation 1, as feature extractors of raw sound do it, but differentiable."""
    middle = sound.mean(-1, keepdim=True)
    return (sound - middle) / torch.sqrt(sound.var(-1, unbiased=False, keepdim=True) + 1e-7)
