"""Sounds: a .wav file, or a directory of them whose sub-directories are the labels."""

from __future__ import annotations

import io
import wave
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from regard.datasets.examples import Examples
from regard.datasets.formats.wav_samples import NotWav, wav_samples
from regard.datasets.table import RowError
from regard.errors import InputError, NoExamples, phrase
from regard.files import check_file, kind_of, reason
from regard.records import Example, Floats, Message, Text, frozen
from regard.store.blobs import write_output

METADATA = ("metadata.csv", "metadata.jsonl", "metadata.parquet")
"""Names of the table of file names and transcripts beside the sounds."""


def is_sounds(path: Path) -> bool:
    """Return whether a path is a .wav file, or a directory of .wav files without a table."""
    kind = kind_of(path)
    if kind == "file":
        return path.suffix.lower() == ".wav"
    if kind != "directory" or metadata_of(path) is not None:
        return False
    return any(p.suffix.lower() == ".wav" for p in (*path.glob("*"), *path.glob("*/*")))


def metadata_of(path: Path) -> Path | None:
    """Table of a directory of sounds; None if there is none."""
    if kind_of(path) != "directory" or not any(p.suffix.lower() == ".wav" for p in path.rglob("*")):
        return None
    return next((path / name for name in METADATA if (path / name).is_file()), None)


def read_sounds(path: Path, *, skip_bad: bool = False) -> Examples:
    """Read examples {"audio": (samples,) in -1..1, "rate": samples per second}; channels are averaged.

    Sub-directories name the labels of their files; files of the directory itself have no label. skip_bad: skip
    unreadable files and list them in a note.
    """
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.suffix.lower() == ".wav")
    examples = []
    bad: list[str] = []
    for file in files:
        name = file.name if path.is_file() else file.relative_to(path).as_posix()
        try:
            inputs = wav_inputs(file)
        except InputError as error:
            if not skip_bad:
                remedy = error.remedy if path.is_file() else phrase("errors.datasets.fix_file_or_skip_bad")
                raise InputError(error.subject, expected=error.expected, got=error.got, remedy=remedy) from error
            bad.append(name)
            continue
        label = file.parent.name if path.is_dir() and file.parent != path else None
        examples.append(Example(name, inputs, label))
    if not examples:
        raise NoExamples(
            phrase("errors.datasets.sounds_path", path=path),
            expected=phrase("errors.datasets.at_least_one_readable_wav"),
            got=phrase("errors.datasets.unreadable_n", n=len(bad)),
        )
    labels = tuple(sorted({str(e.label) for e in examples if e.label is not None}))
    rates = sorted({int(str(e.inputs["rate"])) for e in examples})
    notes: list[Text] = [Message.of("data.sampling_rates", rates=rates)]
    if bad:
        first = [*bad[:3], *(["..."] if len(bad) > 3 else [])]
        notes.append(Message.of("data.bad_rows", n=len(bad), counted="file", rows=first))
    return Examples(path.name, tuple(examples), labels, tuple(notes), modality="audio")


def sound_of(value: Any, folder: Path | None, rate: float | None) -> dict[str, Any]:
    """Return {"audio", "rate"} of a cell: the name of a .wav file, its bytes, samples, or a record of `datasets`."""
    if isinstance(value, Mapping):
        if value.get("array") is not None:
            return sound_of(value["array"], folder, value.get("sampling_rate") or rate)
        return sound_of(value.get("bytes") or value.get("path"), folder, rate)
    try:
        if isinstance(value, str) and value.strip():
            return wav_inputs((folder or Path()) / value.strip())
        if isinstance(value, bytes):
            return _inputs(value, phrase("errors.datasets.sound_in_cell"))
        samples = frozen(np.array(value, dtype=np.float64))
    except InputError as error:
        problem = phrase("errors.common.with_place", problem=error.got, place=error.subject)
        raise RowError(error.expected, problem) from None
    except (TypeError, ValueError):
        raise RowError(phrase("errors.datasets.wav_file_or_samples_between"), repr(value)[:60]) from None
    if samples.ndim != 1 or not samples.size or not np.isfinite(samples).all():
        raise RowError(
            phrase("errors.datasets.samples_one_channel_all_them"),
            phrase("errors.common.shape_shape", shape=samples.shape),
        )
    return {"audio": samples} if rate is None else {"audio": samples, "rate": int(rate)}


def wav_inputs(file: Path) -> dict[str, Any]:
    """Return {"audio": (samples,) in -1..1, channels averaged; "rate": samples per second} (see `wav_samples`).

    A file of several channels also has "channels", and one that ends before the length in its header
    "missing_seconds": readers of sounds note both.
    """
    subject = phrase("errors.datasets.sound_file", file=file)
    check_file(file, subject)
    try:
        content = file.read_bytes()
    except OSError as error:
        raise InputError(
            subject, expected=phrase("errors.datasets.wav_file_plain_samples_pcm"), got=reason(error)
        ) from error
    return _inputs(content, subject)


def _inputs(content: bytes, subject: Text) -> dict[str, Any]:
    try:
        samples, rate, missing = wav_samples(content)
    except NotWav as error:
        raise InputError(
            subject,
            expected=phrase("errors.datasets.wav_file_plain_samples_pcm"),
            got=error.problem,
            remedy=phrase("errors.datasets.convert_to_wav"),
        ) from error
    if not len(samples):
        raise InputError(subject, expected=phrase("errors.datasets.samples"), got=phrase("errors.common.none"))
    inputs: dict[str, Any] = {"audio": frozen(samples.mean(1)), "rate": rate}
    if samples.shape[1] > 1:
        inputs["channels"] = samples.shape[1]
    return inputs if missing == 0 else {**inputs, "missing_seconds": missing}


def write_wav(file: Path, sound: Floats, rate: int) -> None:
    """Write one channel of 16 bits, clipped to -1..1."""
    write_output(file, wav_bytes(sound, rate))


def wav_bytes(sound: Floats, rate: int) -> bytes:
    """Encode one channel of 16 bits, clipped to -1..1."""
    content = io.BytesIO()
    with wave.open(content, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(rate)
        out.writeframes(np.rint(np.clip(sound, -1, 32767 / 32768) * 32768).astype("<i2").tobytes())
    return content.getvalue()
