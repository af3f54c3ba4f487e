"""Open untrusted files: regular files only, of bounded size, gzip unpacked within the same bounds."""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
import re
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, cast

from regard.errors import InputError, Text, phrase, words_of

DEFAULT_MAX_BYTES: Final = 2 << 30
"""Maximum size of a file to read, in bytes, and of the content of a .gz; `--max-bytes` changes it."""
ENVIRONMENT: Final = "REGARD_MAX_BYTES"
UNPACKED_FREELY: Final = 64 << 20
"""Bytes that a .gz may always unpack to, whatever its size."""
MOST_UNPACKED: Final = 200
"""Beyond that, the maximum ratio of content to file size; texts rarely reach 20."""

_UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_KINDS: Final = (
    (stat.S_ISFIFO, phrase("errors.files.pipe")),
    (stat.S_ISSOCK, phrase("errors.files.socket")),
    (stat.S_ISCHR, phrase("errors.files.device")),
    (stat.S_ISBLK, phrase("errors.files.device")),
)
_override: ContextVar[int | None] = ContextVar("max_bytes", default=None)


def parse_size(text: str) -> int:
    """Parse "500000", "500MB" or "2G" into bytes; raise ValueError for anything else.

    >>> parse_size("2GB"), parse_size("1.5k"), parse_size("10")
    (2147483648, 1536, 10)
    """
    match = re.fullmatch(r"(\d{1,15}(?:\.\d{1,6})?)\s*([KMGT]?)(?:I?B)?", text.strip().upper())
    if match is None or float(match[1]) <= 0:
        raise ValueError(phrase("errors.files.no_size", text=repr(text)))
    return max(1, int(float(match[1]) * _UNITS[match[2]]))


def max_bytes() -> int:
    """Return the size limit for files: set by `limited`, else by $REGARD_MAX_BYTES, else 2 GiB."""
    override = _override.get()
    if override is not None:
        return override
    text = os.environ.get(ENVIRONMENT, "")
    try:
        return parse_size(text) if text.strip() else DEFAULT_MAX_BYTES
    except ValueError:
        raise InputError(ENVIRONMENT, expected=phrase("errors.files.size_such_mb_or_gb"), got=repr(text)) from None


@contextmanager
def limited(size: int | None) -> Iterator[None]:
    """Limit file reads to `size` bytes inside the block; None changes nothing."""
    token = _override.set(size if size is not None else _override.get())
    try:
        yield
    finally:
        _override.reset(token)


def shown_size(size: float) -> str:
    """
    >>> shown_size(2 << 30), shown_size(900), shown_size(1.5e6)
    ('2.0 GB', '900 B', '1.4 MB')
    """
    for unit, factor in (("TB", 1 << 40), ("GB", 1 << 30), ("MB", 1 << 20), ("kB", 1 << 10)):
        if size >= factor:
            return f"{size / factor:,.1f} {unit}"
    return f"{size:.0f} B"


def kind_of(path: Path, subject: Text = "") -> Literal["file", "directory", "nothing"]:
    """Return the type of the file at a path; refuse pipes, sockets, devices and paths that cannot be followed."""
    subject = subject or phrase("errors.common.file_place", place=path)
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return "nothing"
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(subject, expected=phrase("errors.common.readable_file"), got=reason(error)) from None
    if stat.S_ISDIR(status.st_mode):
        return "directory"
    _refuse_special(status, subject)
    return "file"


def check_file(path: Path, subject: Text = "", largest: int | None = None) -> int:
    """Return the size of a regular file of at most `largest` bytes (`max_bytes()`); raise InputError otherwise."""
    subject = subject or phrase("errors.common.file_place", place=path)
    kind = kind_of(path, subject)
    if kind != "file":
        got = phrase("errors.common.directory") if kind == "directory" else phrase("errors.common.no_such_file")
        raise InputError(subject, expected=phrase("errors.common.file"), got=got)
    size = path.stat().st_size
    if size > max(largest or 0, max_bytes()):
        raise _too_large(subject, shown_size(size), phrase("errors.files.smaller_file"))
    return size


def open_binary(path: Path, subject: Text = "", largest: int | None = None) -> BinaryIO:
    """Open a regular file of bounded size for reading; unpack it if it ends in .gz."""
    subject = subject or phrase("errors.common.file_place", place=path)
    size = check_file(path, subject, largest)
    try:
        # a pipe that took the file's place since then must not make the opening wait
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        file = os.fdopen(handle, "rb", 1 << 16)
    except (OSError, ValueError) as error:
        raise InputError(subject, expected=phrase("errors.common.readable_file"), got=reason(error)) from None
    try:
        _refuse_special(os.fstat(handle), subject)
    except InputError:
        file.close()
        raise
    if path.suffix != ".gz":
        return file
    return cast(BinaryIO, io.BufferedReader(_Unpacked(file, size, subject), 1 << 18))


def read_bytes(path: Path, subject: Text = "") -> bytes:
    """Read a regular file of bounded size."""
    subject = subject or phrase("errors.common.file_place", place=path)
    try:
        with open_binary(path, subject) as file:
            return file.read()
    except OSError as error:
        raise InputError(subject, expected=phrase("errors.common.readable_file"), got=reason(error)) from None


def read_text(path: Path, subject: Text = "") -> str:
    """Read a regular file of bounded size as text; refuse other encodings than UTF-8."""
    subject = subject or phrase("errors.common.file_place", place=path)
    content = read_bytes(path, subject)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        got = phrase("errors.files.byte_at_place", content=content[error.start], start=error.start + 1)
        raise InputError(subject, expected=phrase("errors.common.utf_text"), got=got) from None


def read_json(path: Path, subject: Text = "") -> Any:
    """Parse a JSON file."""
    subject = subject or phrase("errors.common.file_place", place=path)
    try:
        return parse_json(read_text(path, subject))
    except ValueError as error:
        raise InputError(subject, expected="JSON", got=reason(error)) from None


def parse_json(text: str | bytes) -> Any:
    """Parse JSON; every failure is a ValueError, including deep nesting and long numbers.

    >>> parse_json("[" * 100_000)
    Traceback (most recent call last):
    ...
    ValueError: nested too deeply
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError(phrase("errors.files.nested_too_deeply")) from None
    except json.JSONDecodeError:
        raise
    except ValueError as error:
        if "digits" in str(error):  # how Python refuses to convert a very long integer
            raise ValueError(phrase("errors.files.too_many_digits")) from None
        raise


def read_toml(path: Path, subject: Text = "") -> dict[str, Any]:
    """Parse a TOML file."""
    return parse_toml(read_text(path, subject), subject or phrase("errors.common.file_place", place=path))


def parse_toml(text: str, subject: Text) -> dict[str, Any]:
    """Parse TOML text; every failure is an InputError about `subject`."""
    import tomllib

    try:
        return tomllib.loads(text)
    except RecursionError:
        raise InputError(subject, expected="TOML", got=phrase("errors.files.tables_nested_too_deeply")) from None
    except ValueError as error:
        got = phrase("errors.common.whole_number_more_than_digits") if "4300" in str(error) else reason(error)
        raise InputError(subject, expected="TOML", got=got) from None


def exists(path: str | Path) -> bool:
    """Return whether a path exists; False for texts that cannot be a path."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def reason(error: BaseException) -> Text:
    """Return the reason of a failure in one short line.

    >>> reason(FileNotFoundError(2, "No such file or directory")), reason(EOFError())
    ('No such file or directory', 'EOFError')
    """
    if isinstance(error, OSError) and error.errno == errno.ELOOP:
        return phrase("errors.files.symbolic_link_that_leads_itself")
    text = error.strerror if isinstance(error, OSError) and error.strerror else words_of(error)
    if not isinstance(text, str):
        return text
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return first[:200] or type(error).__name__


def _refuse_special(status: os.stat_result, subject: Text) -> None:
    for check, noun in _KINDS:
        if check(status.st_mode):
            raise InputError(
                subject,
                expected=phrase("errors.files.regular_file"),
                got=noun,
                remedy=phrase("errors.files.write_content_file_first_cat"),
            )


def _too_large(subject: Text, got: Text, other: Text) -> InputError:
    limit = shown_size(max_bytes())
    return InputError(
        subject,
        expected=phrase("errors.common.at_most", n=limit),
        got=got,
        remedy=phrase("errors.files.or_higher_limit_max_bytes", other=other),
    )


class _Unpacked(io.RawIOBase):
    """Content of a gzip file, counted while unpacking; refuses files that grow beyond the limit."""

    def __init__(self, file: BinaryIO, size: int, subject: Text) -> None:
        super().__init__()
        self._file, self._size, self._subject = file, size, subject
        self._inner = gzip.GzipFile(fileobj=file, mode="rb")
        self._count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            part = self._inner.read1(len(buffer))
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(self._subject, expected=phrase("errors.common.readable_file"), got=reason(error)) from None
        self._count += len(part)
        if self._count > max_bytes():
            raise _too_large(
                self._subject,
                phrase("errors.files.gz_that_unpacks_more_than_value", value=shown_size(max_bytes())),
                phrase("errors.files.cut_off_part"),
            )
        if self._count > max(UNPACKED_FREELY, MOST_UNPACKED * self._size):
            raise InputError(
                self._subject,
                expected=phrase("errors.files.gz_that_unpacks_at_most", most_unpacked=MOST_UNPACKED),
                got=phrase("errors.files.more_than_size", count=shown_size(self._count), size=shown_size(self._size)),
                remedy=phrase("errors.files.gunzip_if_content_what_you"),
            )
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        if not self.closed:
            self._inner.close()
            self._file.close()
        super().close()


def cache_directory() -> Path:
    """$REGARD_CACHE, else `regard` in $XDG_CACHE_HOME, else ~/.cache/regard."""
    if setting := os.environ.get("REGARD_CACHE"):
        return Path(setting).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "regard"


def slug(source: str) -> str:
    """Shorten a path or name so that it can name a directory.

    >>> slug("/data/My Reviews.csv"), slug("bilstm")
    ('My-Reviews', 'bilstm')
    """
    name = Path(source.partition(":")[0]).name or source
    return re.sub(r"[^\w-]+", "-", Path(name).stem).strip("-") or "run"
