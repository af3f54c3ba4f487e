"""Change of the sampling rate by a windowed sinc, without aliasing."""

from __future__ import annotations

from math import ceil

import numpy as np

from regard.errors import InputError, phrase
from regard.message import Message
from regard.records import Floats

ZEROS = 24
"""Zero crossings of the sinc on either side."""
ROLLOFF = 0.94
"""End of the pass band, as a share of the lower of the two Nyquist frequencies."""
BETA = 12.0
"""Beta of the Kaiser window: about 118 dB below the pass band."""
METHOD = Message.of("data.resampling", beta=BETA, zeros=ZEROS, rolloff=ROLLOFF)
_AT_ONCE = 1 << 15


def resampled(sound: Floats, rate: int, wanted: int) -> Floats:
    """Resample (samples,) of a sound from `rate` to `wanted` samples per second; unchanged if both are equal.

    y(t) = c sum_k x[k] sinc(c (t - k)) w(t - k), t in samples of the sound, c = ROLLOFF min(1, wanted / rate), w the
    Kaiser window of ZEROS / c samples on either side; beyond both ends the sound is silent.

    >>> tone = np.sin(2 * np.pi * 440 * np.arange(8000) / 8000)
    >>> again = resampled(tone, 8000, 16000)
    >>> len(again), bool(np.abs(again[200:-200:2] - tone[100:-100]).max() < 1e-4)
    (16000, True)
    """
    if rate < 1 or wanted < 1:
        raise InputError(
            phrase("errors.measures.sampling_rate"),
            expected=phrase("errors.measures.at_least_sample_per_second"),
            got=f"{rate}, {wanted}",
        )
    sound = np.asarray(sound, np.float64)
    if rate == wanted:
        return sound
    cut = ROLLOFF * min(1.0, wanted / rate)
    reach = ceil(ZEROS / cut)
    wide = np.pad(sound, (reach, reach + 1))
    out = np.empty(max(1, round(len(sound) * wanted / rate)))
    offsets = np.arange(-reach + 1, reach + 1)
    for first in range(0, len(out), _AT_ONCE):
        at = np.arange(first, min(first + _AT_ONCE, len(out)))
        whole, part = np.divmod(at * rate, wanted)
        away = (part / wanted)[:, None] - offsets
        window = np.i0(BETA * np.sqrt(np.maximum(0.0, 1 - (away * cut / ZEROS) ** 2))) / np.i0(BETA)
        window[np.abs(away) * cut > ZEROS] = 0.0
        out[at] = cut * (wide[whole[:, None] + offsets + reach] * np.sinc(cut * away) * window).sum(1)
    return out
