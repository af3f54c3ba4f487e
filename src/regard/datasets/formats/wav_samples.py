"""Samples of a .wav file: whole numbers (PCM) and floats, in plain and in extensible headers."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from regard.errors import phrase
from regard.message import Text
from regard.records import Floats

PCM, FLOAT, EXTENSIBLE = 1, 3, 0xFFFE
BITS = {PCM: (8, 16, 24, 32), FLOAT: (32, 64)}
"""Format -> supported bits per sample."""
STREAMED = 0x7FFFF000
"""Sizes from here on, and 0, mean that the writer did not know the length yet."""


class NotWav(Exception):
    """Content that is not a .wav file; `problem` holds the reason."""

    def __init__(self, problem: Text) -> None:
        super().__init__(problem)
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Header:
    """Format, channels, samples per second, bits of a sample."""

    format: int
    channels: int
    rate: int
    bits: int


def wav_samples(content: bytes) -> tuple[Floats, int, float]:
    """Return (samples, channels) in -1..1 (floats as they are), samples per second, and seconds missing at the end.

    An incomplete last sample is dropped. The header's length is not trusted: truncated files and streams end where
    their bytes end; a stream misses nothing.
    """
    if len(content) < 12:
        raise NotWav(phrase("errors.datasets.file_that_ends_too_early"))
    if content[:4] != b"RIFF" or content[8:12] != b"WAVE":
        raise NotWav(phrase("errors.datasets.file_without_riff_header"))
    header: Header | None = None
    place = 12
    while place + 8 <= len(content):
        name, size = struct.unpack_from("<4sI", content, place)
        body = content[place + 8 : place + 8 + size]
        if name == b"fmt ":
            header = _header(body)
        elif name == b"data" and header is not None:
            missing = 0 if size >= STREAMED else max(0, size - len(body))
            return _decoded(body, header), header.rate, missing / (header.bits // 8 * header.channels * header.rate)
        place += 8 + size + size % 2
    raise NotWav(phrase("errors.datasets.file_that_ends_too_early"))


def _header(body: bytes) -> Header:
    if len(body) < 16:
        raise NotWav(phrase("errors.datasets.file_that_ends_too_early"))
    kind, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", body)
    if kind == EXTENSIBLE and len(body) >= 26:
        (kind,) = struct.unpack_from("<H", body, 24)
    if kind not in BITS:
        raise NotWav(phrase("errors.datasets.compressed_samples_format", kind=kind))
    if bits not in BITS[kind] or channels < 1 or rate < 1:
        raise NotWav(phrase("errors.datasets.bits_samples_per_second", width=bits, rate=rate))
    return Header(kind, channels, rate, bits)


def _decoded(raw: bytes, header: Header) -> Floats:
    width = header.bits // 8
    raw = raw[: len(raw) // (width * header.channels) * (width * header.channels)]
    values: Floats
    if header.format == FLOAT:
        values = np.frombuffer(raw, f"<f{width}").astype(np.float64)
        if not np.isfinite(values).all():
            raise NotWav(phrase("errors.common.nan_or_infinity"))
    elif width == 1:
        values = (np.frombuffer(raw, np.uint8).astype(np.float64) - 128) / 128
    elif width == 3:
        parts = np.frombuffer(raw, np.uint8).reshape(-1, 3).astype(np.int32)
        whole = parts[:, 0] | (parts[:, 1] << 8) | (parts[:, 2] << 16)
        values = np.where(whole >= 1 << 23, whole - (1 << 24), whole) / float(1 << 23)
    else:
        values = np.frombuffer(raw, f"<i{width}").astype(np.float64) / float(1 << (8 * width - 1))
    return np.asarray(values, np.float64).reshape(-1, header.channels)
