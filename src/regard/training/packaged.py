"""Weights inside pinned packages, located without an import and verified by hash."""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path

from regard.datasets.packages import check_digest
from regard.errors import EnvironmentProblem, phrase


def packaged_file(package: str, inside: str, *, sha256: str, remedy: str) -> Path:
    """Return the path of a file of an installed package after verifying its hash.

    package: its import name. remedy: the command that installs it.
    """
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        subject = phrase("errors.common.package_needs", needs=package)
        raise EnvironmentProblem(
            subject,
            expected=phrase("errors.common.installed"),
            got=phrase("errors.common.not_installed"),
            remedy=remedy,
        )
    path = Path(next(iter(spec.submodule_search_locations)), *inside.split("/"))
    if not path.is_file():
        raise EnvironmentProblem(
            phrase("errors.common.package_needs", needs=package),
            expected=phrase("errors.common.file_inside", inside=inside),
            got=phrase("errors.common.no_such_file"),
            remedy=remedy,
        )
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    check_digest(path, digest, sha256, remedy)
    return path
