"""Sounds: a .wav file, or a directory of them whose sub-directories are the labels. Read by the standard library."""

from __future__ import annotations

import io
import struct
import wave
from pathlib import Path

import numpy as np

from regard.datasets.examples import Examples
from regard.errors import InputError
from regard.files import check_file, kind_of, reason
from regard.records import Example, Floats, frozen
from regard.store.blobs import write_output

WIDTHS = (1, 2, 3, 4)
"""Bytes of a sample."""


def is_sounds(path: Path) -> bool:
    """Whether it is a .wav file or a directory that holds some."""
    kind = kind_of(path)
    if kind == "file":
        return path.suffix.lower() == ".wav"
    return kind == "directory" and any(p.suffix.lower() == ".wav" for p in (*path.glob("*"), *path.glob("*/*")))


def read_sounds(path: Path) -> Examples:
    """Examples {"audio": (samples,) in -1..1, "rate": samples per second}; channels are averaged.

    Files in sub-directories are labelled by the name of theirs; files of the directory itself have no label.
    """
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.suffix.lower() == ".wav")
    examples = []
    for file in files:
        sound, rate = read_wav(file)
        label = file.parent.name if path.is_dir() and file.parent != path else None
        name = file.name if path.is_file() else file.relative_to(path).as_posix()
        examples.append(Example(name, {"audio": sound, "rate": rate}, label))
    labels = tuple(sorted({str(e.label) for e in examples if e.label is not None}))
    rates = sorted({int(str(e.inputs["rate"])) for e in examples})
    notes = (f"{', '.join(map(str, rates))} samples per second",)
    return Examples(path.name, tuple(examples), labels, notes, modality="audio")


def read_wav(file: Path) -> tuple[Floats, int]:
    """(samples,) in -1..1, and samples per second; 8, 16, 24 or 32 bits, channels averaged."""
    check_file(file, f"sound {file}")
    try:
        with wave.open(str(file), "rb") as sound:
            channels, width, rate, count, *_ = sound.getparams()
            raw = sound.readframes(count)
    except (wave.Error, EOFError, OSError, ValueError, RuntimeError, struct.error) as error:
        problem = "a file that ends too early" if isinstance(error, EOFError) else reason(error)
        raise InputError(f"sound {file}", expected="a .wav file of plain samples (PCM)", got=problem) from error
    if width not in WIDTHS or rate < 1:
        problem = f"{8 * width} bits, {rate} samples per second"
        raise InputError(f"sound {file}", expected="8, 16, 24 or 32 bits and a rate of 1 or more", got=problem)
    values = _decoded(raw[: len(raw) // (width * channels) * (width * channels)], width)
    if not len(values):
        raise InputError(f"sound {file}", expected="samples", got="none")
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
