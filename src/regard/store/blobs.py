"""Content-addressed files: a blob is named by the sha256 of its bytes and is either whole or absent.

A blob is written to a temporary file, flushed to the disk, renamed, and its directory flushed: a process killed at
any moment leaves at most a temporary file, which the next writer sweeps away.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from regard.errors import EnvironmentProblem, InputError
from regard.records import Json

TEMPORARY = ".part"
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextmanager
def room_on_disk(root: Path) -> Iterator[None]:
    """A full disk becomes an error that says so; what was committed before stays."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise _disk_full(root, str(error)) from error
    except sqlite3.OperationalError as error:
        if not any(words in str(error) for words in ("full", "disk I/O")):  # the second: a limit on the size of files
            raise
        raise _disk_full(root, str(error)) from error


def _disk_full(root: Path, said: str) -> EnvironmentProblem:
    return EnvironmentProblem(
        f"run {root}",
        expected="room on the disk",
        got=said,
        remedy="free some space and give the same command again: everything committed so far is kept",
    )


def write_atomically(path: Path, data: bytes) -> None:
    """`path` holds either its old content or all of `data`, also after a kill or a power cut."""
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}{TEMPORARY}")
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    _flush_directory(path.parent)


def _flush_directory(path: Path) -> None:
    if os.name == "nt":  # directories cannot be opened there, and renames are journalled
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class Blobs:
    """The files of one run, by content.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     blobs = Blobs(Path(folder))
    ...     name = blobs.put(b"hello")
    ...     name == blobs.put(b"hello"), blobs.get(name)
    (True, b'hello')
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, name: str) -> Path:
        return self.root / name[:2] / name

    def put(self, data: bytes) -> str:
        """The name of `data`, which is on the disk when this returns."""
        name = hashlib.sha256(data).hexdigest()
        path = self.path(name)
        if not path.exists():
            with room_on_disk(self.root.parent):
                if not path.parent.exists():
                    path.parent.mkdir(parents=True, exist_ok=True)
                    _flush_directory(self.root)
                write_atomically(path, data)
        return name

    def get(self, name: str) -> bytes:
        try:
            data = self.path(name).read_bytes()
        except OSError as error:
            raise InputError(
                f"run {self.root.parent}",
                expected=f"its file {name[:12]}",
                got=error.strerror or "no such file",
                remedy="restore the run directory from a copy, or audit again into a new one",
            ) from error
        if hashlib.sha256(data).hexdigest() != name:
            raise InputError(
                f"run {self.root.parent}",
                expected=f"file {name[:12]} as it was written",
                got="other bytes",
                remedy="restore the run directory from a copy, or audit again into a new one",
            )
        return data

    def sweep(self, wanted: Collection[str]) -> int:
        """Remove temporary files and blobs that nothing refers to; how many there were."""
        keep, removed = set(wanted), 0
        for path in sorted(self.root.glob("*/*")) if self.root.exists() else []:
            if path.name not in keep:
                path.unlink()
                removed += 1
        return removed


def pack(arrays: Mapping[str, NDArray[Any]], facts: Json) -> bytes:
    """Arrays and JSON facts as one safetensors file; equal contents give equal bytes.

    >>> arrays, facts = unpack(pack({"a": np.arange(3)}, {"n": 3}))
    >>> arrays["a"].tolist(), facts
    ([0, 1, 2], {'n': 3})
    """
    # one metadata entry: the order of several is not defined, and the bytes must be
    ordered = {name: np.ascontiguousarray(arrays[name]) for name in sorted(arrays)}
    return bytes(save_arrays(ordered, metadata={"facts": json.dumps(facts, ensure_ascii=False, sort_keys=True)}))


def unpack(data: bytes) -> tuple[dict[str, NDArray[Any]], Any]:
    """The arrays and facts that were packed."""
    try:
        arrays = load_arrays(data)
        size = int.from_bytes(data[:8], "little")
        facts = json.loads(json.loads(data[8 : 8 + size])["__metadata__"]["facts"])
    except (SafetensorError, ValueError, KeyError) as error:
        raise InputError("packed arrays", expected="a safetensors file of a run", got=str(error)) from error
    return arrays, facts
