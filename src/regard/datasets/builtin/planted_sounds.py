"""`planted_sounds`: noise with or without a beep at an exactly known time."""

from __future__ import annotations

import numpy as np

from regard.datasets.examples import Examples
from regard.datasets.generated import note
from regard.datasets.splits import checked
from regard.errors import InputError, phrase
from regard.measures.keyed_random import keyed_rng
from regard.records import Example, Floats, frozen
from regard.registry import method

RATE = 16000
PITCHES: dict[str, float | None] = {"low": 500.0, "high": 1500.0, "none": None}
"""Label -> hertz of its beep."""
NOISE = 0.05


def beep(pitch: float, samples: int) -> Floats:
    """(samples,): a tone that swells and fades, at most 0.5."""
    t = np.arange(samples)
    return np.asarray(0.5 * np.hanning(samples) * np.sin(2 * np.pi * pitch * t / RATE), np.float64)


@method("dataset", modality="audio", licence="Apache-2.0", package="", real=False)
def planted_sounds(
    *, split: str = "test", n: int = 200, seed: int = 0, seconds: float = 1.0, length: float = 0.16
) -> Examples:
    """Generated sounds of 16 kHz: noise with a low beep, a high beep of `length` seconds, or none.

    The rationale is the beep's samples. A sound without one has no evidence that could be removed, and no rationale.

    >>> one = planted_sounds(n=1)[0]
    >>> start, end = one.rationale[0]
    >>> one.inputs["audio"].shape, one.label, end - start
    ((16000,), 'low', 2560.0)
    """
    split = checked(split)
    if n < 1 or not 0.02 <= length < seconds <= 30:
        problem = f"n={n}, seconds={seconds:g}, length={length:g}"
        raise InputError(
            "planted_sounds", expected=phrase("errors.datasets.sounds_longer_than_their_beep"), got=problem
        )
    rng = keyed_rng(seed, "planted_sounds", split, seconds, length)
    samples, width = int(seconds * RATE), int(length * RATE)
    names = tuple(PITCHES)
    items = []
    for i in range(n):
        sound = rng.normal(0, NOISE, samples)
        start = int(rng.integers(samples - width + 1))
        pitch = PITCHES[names[i % len(names)]]
        places = ((float(start), float(start + width)),)
        if pitch is not None:
            sound[start : start + width] += beep(pitch, width)
        inputs = {"audio": frozen(np.clip(sound, -1, 1)), "rate": RATE}
        items.append(Example(f"{split}-{i:05d}", inputs, names[i % len(names)], places if pitch is not None else None))
    notes = (note("sounds", n, split=split, seed=seed, known="samples"),)
    return Examples("planted_sounds", tuple(items), names, notes, modality="audio")
