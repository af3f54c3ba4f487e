"""Cache directory of trained and unpacked models.

A lock keeps two processes from building the same thing at once; a finished thing appears by one rename.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from regard.errors import EnvironmentProblem, InputError, phrase
from regard.files import cache_directory
from regard.records import Json
from regard.store.blobs import room_on_disk

Build = Callable[[Path, Path], Mapping[str, Json]]
"""build(out, state) fills the directory `out` and returns facts; `state` survives a kill, for a resumable build."""


def built_once(name: str, recipe: Mapping[str, Json], packages: Sequence[str], build: Build) -> Path:
    """Return the directory of `name` for this recipe and these package versions, building it if needed.

    Its `source.json` records the recipe.
    """
    versions = {package: _version(package) for package in ("regard", *packages)}
    about = {"name": name, "recipe": dict(recipe), "versions": versions}
    key = hashlib.blake2b(json.dumps(about, sort_keys=True).encode(), digest_size=8).hexdigest()
    root = cache_directory()
    home = root / f"{name}-{key}"
    if home.is_dir():
        return home
    try:
        with room_on_disk(root):
            root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _not_writable(root, error) from error
    try:
        with room_on_disk(root), locked(root / f"{name}-{key}.lock"):
            if not home.is_dir():  # somebody else may have built it while we waited
                out, state = root / f"{name}-{key}.new", root / f"{name}-{key}.state"
                shutil.rmtree(out, ignore_errors=True)
                out.mkdir()
                facts = build(out, state)
                text = json.dumps({**about, "facts": dict(facts)}, indent=1, ensure_ascii=False)
                (out / "source.json").write_text(text + "\n", "utf-8")
                os.rename(out, home)
                shutil.rmtree(state, ignore_errors=True)
    except (PermissionError, NotADirectoryError, FileExistsError) as error:
        raise _not_writable(root, error) from error
    return home


def _not_writable(root: Path, error: OSError) -> EnvironmentProblem:
    remedy = phrase("errors.training.set_regard_cache")
    return EnvironmentProblem(
        phrase("errors.training.cache_directory", root=root),
        expected=phrase("errors.common.place_write"),
        got=str(error),
        remedy=remedy,
    )


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "none"


@contextmanager
def locked(path: Path, *, wait: bool = True, subject: str = "") -> Iterator[None]:
    """Hold the lock, waiting for it or raising an error; the system releases it however the process ends."""
    with path.open("a+b") as file:
        try:
            if sys.platform == "win32":
                import msvcrt

                msvcrt.locking(file.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
            else:
                import fcntl

                fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            remedy = phrase("errors.training.wait_for_or_another_out")
            problem = phrase("errors.training.another_process_that_holds_lock")
            expected = phrase("errors.training.nobody_else_at_work_there")
            raise InputError(subject or str(path), expected=expected, got=problem, remedy=remedy) from error
        yield
