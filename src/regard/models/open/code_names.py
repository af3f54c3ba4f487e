"""How a model that is code is named: `file.py:factory`."""

from __future__ import annotations

from pathlib import Path


def code_file(source: str) -> tuple[Path, str] | None:
    """(file, factory) of `file.py:factory`; None for every other name. A directory is never code, whatever its name.

    >>> code_file("models/mine.py:make"), code_file("bilstm:epochs=2")
    ((PosixPath('models/mine.py'), 'make'), None)
    """
    path, colon, factory = source.rpartition(":")
    if not colon or not path.endswith(".py") or Path(source).is_dir():
        return None
    return Path(path), factory
