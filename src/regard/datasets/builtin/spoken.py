"""`spoken`: short sentences, spoken word by word by a speech synthesiser, with the time of every word."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable

import numpy as np

from regard.datasets.examples import Examples
from regard.datasets.formats.sounds import sound_of
from regard.datasets.generated import Draft, Drawn, generated, note, share
from regard.errors import EnvironmentProblem, InputError, phrase
from regard.measures.resampling import resampled
from regard.records import Floats, frozen
from regard.registry import method

RATE = 16000
WHO = ("the teacher", "my brother", "the doctor", "her mother", "the farmer", "a soldier", "the old captain")
DOES = ("found", "bought", "carried", "painted", "lost", "wanted", "remembered")
WHAT = ("seven apples", "the red boat", "three letters", "a small garden", "the yellow house", "nine horses")
WHEN = ("yesterday", "in the morning", "last summer", "on Monday", "after dinner", "before winter")

Speak = Callable[[str], Floats]
"""Word -> its samples at RATE."""


@method("dataset", modality="audio", licence="Apache-2.0", package="", real=False)
def spoken(*, split: str = "test", n: int = 100, seed: int = 0, pause: float = 0.05, voice: str = "en-us") -> Examples:
    """Generated sentences spoken by espeak-ng (which must be installed), with the text as label and the alignment.

    Every word is spoken by itself and followed by a pause of so many seconds, so that the samples of every word are
    known exactly: links (first sample, last sample, first letter, last letter). The voice is a synthesiser's: a model
    that understands it understands speech, but people speak differently.
    """
    share("spoken.pause", pause)
    speaker = _espeak(voice)
    return spoken_by(speaker, split=split, n=n, seed=seed, pause=pause)


def spoken_by(speak: Speak, *, split: str = "test", n: int = 100, seed: int = 0, pause: float = 0.05) -> Examples:
    """Generate the same sentences with any speaker."""
    words: dict[str, Floats] = {}

    def said(word: str) -> Floats:
        if word not in words:
            words[word] = trimmed(speak(word))
        return words[word]

    def draw(rng: np.random.Generator, number: int) -> Drawn:
        text = " ".join(str(rng.choice(part)) for part in (WHO, DOES, WHAT, WHEN))

        def make() -> list[Draft]:
            sound, links = joined([said(word) for word in text.split()], text, int(pause * RATE))
            return [Draft({"audio": frozen(sound), "rate": RATE}, text, alignment=links)]

        return Drawn(text, make)

    items = generated("spoken", draw, split=split, n=n, seed=seed, settings=(pause,))
    return Examples(
        "spoken",
        items,
        (),
        (note("sentences", n, split=split, seed=seed, known="word_times"),),
        modality="audio",
    )


def joined(words: list[Floats], text: str, pause: int) -> tuple[Floats, tuple[tuple[int, int, int, int], ...]]:
    """Concatenate the words with `pause` samples of silence around them; also return their positions.

    >>> sound, links = joined([np.ones(5), np.ones(3)], "ab c", 2)
    >>> len(sound), links
    (14, ((2, 7, 0, 2), (9, 12, 3, 4)))
    """
    parts, links, at, letter = [np.zeros(pause)], [], pause, 0
    for word, samples in zip(text.split(), words, strict=True):
        letter = text.index(word, letter)
        links.append((at, at + len(samples), letter, letter + len(word)))
        parts += [samples, np.zeros(pause)]
        at += len(samples) + pause
        letter += len(word)
    return np.concatenate(parts), tuple(links)


def trimmed(sound: Floats) -> Floats:
    """Trim the silence at both ends: less than a hundredth of the peak."""
    loud = np.flatnonzero(np.abs(sound) > 0.01 * np.abs(sound).max(initial=0.0))
    return sound[loud[0] : loud[-1] + 1] if len(loud) else sound


def _espeak(voice: str) -> Speak:
    program = shutil.which("espeak-ng")
    if program is None:
        raise EnvironmentProblem(
            phrase("errors.datasets.data_poken"),
            expected=phrase("errors.datasets.program_espeak_ng"),
            got=phrase("errors.common.none"),
            remedy=phrase("errors.datasets.apt_get_install_espeak_ng"),
        )

    def speak(word: str) -> Floats:
        process = subprocess.run([program, "-v", voice, "--stdout", word], capture_output=True, check=False)
        if process.returncode or not process.stdout:
            raise InputError("spoken.voice", expected=phrase("errors.datasets.voice_espeak_ng_espeak_ng"), got=voice)
        sound = sound_of(process.stdout, None, None)
        return resampled(sound["audio"], sound["rate"], RATE)

    return speak
