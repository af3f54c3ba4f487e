"""Content-addressed files: the sha256 of its bytes names a blob, which is either whole or absent.

A writer fills a temporary file, flushes it to disk, renames it and flushes the directory. A process killed at any
moment leaves at most a temporary file, which the next writer removes.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import sqlite3
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from regard.errors import EnvironmentProblem, InputError, Text, phrase
from regard.records import Json
from regard.store.shapes import decoded, named
from regard.store.stored_shapes import BLOB_NAME

TEMPORARY = ".part"
PACKED = Path("(packed arrays)")
"""Placeholder path for arrays that did not come from a file."""
_NOT_WRITABLE = {errno.EROFS, errno.EACCES, errno.EPERM}
UNWRITABLE = ("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextmanager
def room_on_disk(root: Path) -> Iterator[None]:
    """Turn a full disk or an unwritable directory into a clear error; committed work stays."""
    try:
        yield
    except OSError as error:
        if error.errno in _NOT_WRITABLE:
            raise _not_writable(root, str(error)) from error
        if error.errno not in _FULL:
            raise
        raise _disk_full(root, str(error)) from error
    except SafetensorError as error:  # wraps the system error in its own text
        if not any(f"os error {number}" in str(error) for number in _FULL):
            raise
        raise _disk_full(root, str(error)) from error
    except sqlite3.OperationalError as error:
        if error.sqlite_errorname.startswith(UNWRITABLE):
            raise _not_writable(root, str(error)) from error
        if not any(words in str(error) for words in ("full", "disk I/O")):  # disk I/O: a file size limit
            raise
        raise _disk_full(root, str(error)) from error


def _not_writable(root: Path, reason: str) -> EnvironmentProblem:
    remedy = phrase("errors.store.choose_another_directory_with_out")
    return EnvironmentProblem(str(root), expected=phrase("errors.store.writable_directory"), got=reason, remedy=remedy)


def _disk_full(root: Path, reason: str) -> EnvironmentProblem:
    remedy = phrase("errors.store.free_some_space_and_run")
    return EnvironmentProblem(
        phrase("errors.store.writing_root", root=root),
        expected=phrase("errors.store.free_disk_space"),
        got=reason,
        remedy=remedy,
    )


def damaged(file: Path, where: Text, expected: Text, got: Text, field: str = "") -> InputError:
    """Error for a damaged file of a run: names the file, the place in it and the field."""
    subject = phrase("errors.common.file_place", place=file)
    for part in (where, phrase("errors.store.field", field=field) if field else ""):
        subject = phrase("errors.common.part_in_whole", whole=subject, part=part) if part else subject
    remedy = phrase("errors.store.restore_run_directory_from_copy")
    return InputError(subject, expected=expected, got=got, remedy=remedy)


def write_atomically(path: Path, data: bytes) -> None:
    """Write `data`; after a kill or a power cut `path` holds either its old content or all of it."""
    with new_file(path) as temporary, open(temporary, "wb") as file:
        file.write(data)


def write_file(path: Path, data: bytes) -> None:
    """Write a file atomically; write straight to a device or a pipe."""
    if path.exists() and not path.is_file() and not path.is_dir():
        path.write_bytes(data)
    else:
        write_atomically(path, data)


def write_output(path: Path, data: bytes) -> None:
    """Write an output file atomically, with a clear error for a full disk."""
    try:
        with room_on_disk(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_file(path, data)
    except OSError as error:
        raise InputError(
            phrase("errors.common.file_place", place=path),
            expected=phrase("errors.common.place_write"),
            got=error.strerror or str(error),
        ) from error


def write_result(path: str | Path, to_json: Callable[[], Any], page: Callable[[], str]) -> Path:
    """Write a result as .json, or its page as .html, by the ending of the file."""
    place = Path(path)
    if place.suffix == ".json":
        content = json.dumps(to_json(), indent=1, ensure_ascii=False) + "\n"
    elif place.suffix in (".html", ".htm"):
        content = page()
    else:
        raise InputError(
            phrase("errors.common.file_place", place=place.name),
            expected=phrase("errors.common.name_that_ends_with_json"),
            got=place.suffix,
        )
    write_output(place, content.encode())
    return place


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Give the block a temporary file to fill, then flush it and rename it to `path`.

    If the block fails, remove the temporary file and leave `path` as it was. If the process is killed, the next writer
    of `path` removes the temporary file.
    """
    temporary, lock = _claim_temporary(path)
    try:
        yield temporary
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        if os.name == "nt":  # Windows does not rename an open file
            lock.close()
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    finally:
        lock.close()
    _flush_directory(path.parent)


def _claim_temporary(path: Path) -> tuple[Path, BinaryIO]:
    """Create and lock the temporary file of `path`: "NAME.part", or a name of its own while another process writes."""
    usual = path.with_name(path.name + TEMPORARY)
    _remove_unlocked(usual)
    for name in (usual, path.with_name(f"{path.name}.{secrets.token_hex(4)}{TEMPORARY}")):
        with suppress(FileExistsError):
            file = open(name, "x+b")  # noqa: SIM115 - held until the file has its name
            if name != usual or _lock(name, file):
                return name, file
            file.close()
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))


def _remove_unlocked(temporary: Path) -> None:
    """Remove a temporary file that a killed process left: one that no process holds the lock of."""
    if temporary.is_symlink() or not temporary.is_file():
        return
    with suppress(OSError), open(temporary, "rb") as file:
        if _lock(temporary, file):
            temporary.unlink()


def _lock(name: Path, file: BinaryIO) -> bool:
    """Lock an open file without waiting; false if another process holds it or the name is another file's by now."""
    if sys.platform == "win32":  # keeps others from removing an open file by itself
        return True
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(file.fileno()), os.stat(name, follow_symlinks=False))
    except OSError:
        return False


def _flush_directory(path: Path) -> None:
    if os.name == "nt":  # Windows cannot open directories, and journals renames
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class Blobs:
    """The files of one run, addressed by content.

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
        """Path of a blob. A name is a sha256, so no name leads out of the run."""
        if not BLOB_NAME.fullmatch(name):
            raise damaged(self.root, "", phrase("errors.store.sha_blob"), named(name))
        return self.root / name[:2] / name

    def put(self, data: bytes) -> str:
        """Store `data` and return its name; it is on disk when this returns."""
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
        path = self.path(name)
        try:
            data = path.read_bytes()
        except OSError as error:
            raise damaged(
                path, "", phrase("errors.store.file_run"), error.strerror or phrase("errors.common.no_such_file")
            ) from error
        if hashlib.sha256(data).hexdigest() != name:
            raise damaged(path, "", phrase("errors.common.file_written"), phrase("errors.common.other_bytes"))
        return data

    def sweep(self, referenced: Collection[str]) -> int:
        """Remove temporary files and unreferenced blobs; return how many."""
        keep, removed = set(referenced), 0
        for path in sorted(self.root.glob("*/*")) if self.root.exists() else []:
            if path.name not in keep:
                path.unlink()
                removed += 1
        return removed


def pack(arrays: Mapping[str, NDArray[Any]], facts: Json) -> bytes:
    """Pack arrays and JSON facts into one safetensors file; equal contents give equal bytes.

    >>> arrays, facts = unpack(pack({"a": np.arange(3)}, {"n": 3}))
    >>> arrays["a"].tolist(), facts
    ([0, 1, 2], {'n': 3})
    """
    # one metadata entry: the order of several is undefined, and the bytes must be reproducible
    ordered = {name: np.ascontiguousarray(arrays[name]) for name in sorted(arrays)}
    return bytes(save_arrays(ordered, metadata={"facts": json.dumps(facts, ensure_ascii=False, sort_keys=True)}))


def unpack(data: bytes, *, file: Path | None = None) -> tuple[dict[str, NDArray[Any]], Any]:
    """Unpack arrays and facts; an error about damage names `file`."""
    try:
        arrays = load_arrays(data)
        size = int.from_bytes(data[:8], "little")
        facts = decoded(decoded(data[8 : 8 + size])["__metadata__"]["facts"])
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise damaged(
            file or PACKED,
            "",
            phrase("errors.store.safetensors_file_run"),
            str(error) or phrase("errors.common.another_file"),
        ) from error
    return arrays, facts
