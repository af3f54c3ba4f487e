"""Named arrays in an .npz file: plain numbers and strings only, of bounded size; nothing is unpickled."""

from __future__ import annotations

import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from regard.errors import InputError, phrase
from regard.files import MOST_UNPACKED, UNPACKED_FREELY, check_file, max_bytes, reason, shown_size

_UNREADABLE = (
    OSError,
    EOFError,
    ValueError,
    TypeError,
    KeyError,
    SyntaxError,
    NotImplementedError,
    RuntimeError,
    MemoryError,
    OverflowError,
    zipfile.BadZipFile,
    zlib.error,
    tokenize.TokenError,
)
"""Exceptions that zipfile and numpy raise on damaged archives."""


def read_npz(path: Path) -> dict[str, Any]:
    """Read name -> array; reject an archive that would unpack to too much."""
    size = check_file(path)
    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
        if unpacked > min(max_bytes(), max(UNPACKED_FREELY, MOST_UNPACKED * size)):
            sizes = phrase("errors.datasets.from_unpacked", unpacked=shown_size(unpacked), size=shown_size(size))
            raise InputError(
                phrase("errors.common.file_place", place=path),
                expected=phrase("errors.datasets.at_most_when_unpacked", value=shown_size(max_bytes())),
                got=sizes,
            )
        with np.load(path, allow_pickle=False) as arrays:
            return {name: _checked(arrays[name]) for name in arrays.files}
    except _UNREADABLE as problem:
        raise InputError(
            phrase("errors.common.file_place", place=path),
            expected=phrase("errors.datasets.npz_file_plain_arrays"),
            got=reason(problem),
        ) from problem


def _checked(array: Any) -> Any:
    if not isinstance(array, np.ndarray):  # a member that is no array comes as bytes
        raise ValueError(phrase("errors.datasets.member_no_array"))
    return array
