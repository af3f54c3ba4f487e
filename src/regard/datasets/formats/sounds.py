"""Sounds: a .wav file, or a directory of them whose sub-directories are the labels. Read by the standard library."""

from __future__ import annotations

import io
import struct
import wave
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from regard.datasets.examples import Examples
from regard.datasets.table import RowError
from regard.errors import InputError, NoExamples, phrase
from regard.files import check_file, kind_of, reason
from regard.records import Example, Floats, Message, Text, frozen
from regard.store.blobs import write_output

WIDTHS = (1, 2, 3, 4)
"""Bytes of a sample."""


METADATA = ("metadata.csv", "metadata.jsonl", "metadata.parquet")
"""A table of file names and transcripts beside the sounds."""


def is_sounds(path: Path) -> bool:
    """Return whether a path is a .wav file or a directory that holds some, without a table about them."""
    kind = kind_of(path)
    if kind == "file":
        return path.suffix.lower() == ".wav"
    if kind != "directory" or metadata_of(path) is not None:
        return False
    return any(p.suffix.lower() == ".wav" for p in (*path.glob("*"), *path.glob("*/*")))


def metadata_of(path: Path) -> Path | None:
    """The table of a directory of sounds; None where there is none."""
    if kind_of(path) != "directory" or not any(p.suffix.lower() == ".wav" for p in path.rglob("*")):
        return None
    return next((path / name for name in METADATA if (path / name).is_file()), None)


def read_sounds(path: Path, *, skip_bad: bool = False) -> Examples:
    """Examples {"audio": (samples,) in -1..1, "rate": samples per second}; channels are averaged.

    Files in sub-directories are labelled by the name of theirs; files of the directory itself have no label.
    skip_bad: leave out files that cannot be read, and note them.
    """
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.suffix.lower() == ".wav")
    examples = []
    bad: list[str] = []
    for file in files:
        name = file.name if path.is_file() else file.relative_to(path).as_posix()
        try:
            sound, rate = read_wav(file)
        except InputError:
            if not skip_bad:
                raise
            bad.append(name)
            continue
        label = file.parent.name if path.is_dir() and file.parent != path else None
        examples.append(Example(name, {"audio": sound, "rate": rate}, label))
    if not examples:
        raise NoExamples(
            phrase("errors.datasets.sounds_path", path=path),
            expected=phrase("errors.datasets.at_least_one_readable_wav"),
            got=phrase("errors.datasets.unreadable_n", n=len(bad)),
        )
    labels = tuple(sorted({str(e.label) for e in examples if e.label is not None}))
    rates = sorted({int(str(e.inputs["rate"])) for e in examples})
    notes: list[Text] = [f"{', '.join(map(str, rates))} samples per second"]
    if bad:
        first = [*bad[:3], *(["..."] if len(bad) > 3 else [])]
        notes.append(Message.of("data.bad_rows", n=len(bad), counted="file", rows=first))
    return Examples(path.name, tuple(examples), labels, tuple(notes), modality="audio")


def sound_of(value: Any, folder: Path | None, rate: float | None) -> dict[str, Any]:
    """{"audio", "rate"} of a cell: the name of a .wav file, its bytes, samples, or a record of `datasets`."""
    if isinstance(value, Mapping):
        if value.get("array") is not None:
            return sound_of(value["array"], folder, value.get("sampling_rate") or rate)
        return sound_of(value.get("bytes") or value.get("path"), folder, rate)
    try:
        if isinstance(value, str) and value.strip():
            sound, own = read_wav((folder or Path()) / value.strip())
            return {"audio": sound, "rate": own}
        if isinstance(value, bytes):
            sound, own = _read(io.BytesIO(value), phrase("errors.datasets.sound_in_cell"))
            return {"audio": sound, "rate": own}
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


def read_wav(file: Path) -> tuple[Floats, int]:
    """(samples,) in -1..1, and samples per second; 8, 16, 24 or 32 bits, channels averaged."""
    check_file(file, phrase("errors.datasets.sound_file", file=file))
    return _read(str(file), phrase("errors.datasets.sound_file", file=file))


def _read(content: str | io.BytesIO, subject: Text) -> tuple[Floats, int]:
    try:
        with wave.open(content, "rb") as sound:
            channels, width, rate, count, *_ = sound.getparams()
            raw = sound.readframes(count)
    except (wave.Error, EOFError, OSError, ValueError, RuntimeError, struct.error) as error:
        problem = phrase("errors.datasets.file_that_ends_too_early") if isinstance(error, EOFError) else reason(error)
        raise InputError(subject, expected=phrase("errors.datasets.wav_file_plain_samples_pcm"), got=problem) from error
    if width not in WIDTHS or rate < 1:
        problem = phrase("errors.datasets.bits_samples_per_second", width=8 * width, rate=rate)
        raise InputError(subject, expected=phrase("errors.datasets.or_bits_and_rate_or"), got=problem)
    values = _decoded(raw[: len(raw) // (width * channels) * (width * channels)], width)
    if not len(values):
        raise InputError(subject, expected=phrase("errors.datasets.samples"), got=phrase("errors.common.none"))
    return frozen(values.reshape(-1, channels).mean(1)), int(rate)


def _decoded(raw: bytes, width: int) -> Floats:
    """Samples of `width` bytes each, in -1..1."""
    if width == 1:
        return (np.frombuffer(raw, np.uint8).astype(np.float64) - 128) / 128
    if width == 3:
        parts = np.frombuffer(raw, np.uint8).reshape(-1, 3).astype(np.int32)
        whole = parts[:, 0] | (parts[:, 1] << 8) | (parts[:, 2] << 16)
        return np.asarray(np.where(whole >= 1 << 23, whole - (1 << 24), whole) / float(1 << 23), np.float64)
    return np.frombuffer(raw, f"<i{width}").astype(np.float64) / float(1 << (8 * width - 1))


def write_wav(file: Path, sound: Floats, rate: int) -> None:
    """Write one channel of 16 bits, clipped to -1..1."""
    content = io.BytesIO()
    with wave.open(content, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(rate)
        out.writeframes(np.rint(np.clip(sound, -1, 32767 / 32768) * 32768).astype("<i2").tobytes())
    write_output(file, content.getvalue())
