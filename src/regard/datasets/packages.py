"""Data files inside pinned packages: found without importing the package, verified by hash before use."""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
from pathlib import Path

from regard.errors import EnvironmentProblem, phrase


def package_bytes(package: str, inside: str, *, sha256: str, needs: str, remedy: str) -> bytes:
    """Read a file of an installed package (unpacking .gz) after verifying its hash.

    package: its import name. needs: the pinned requirement, for people. remedy: the command that installs it.
    """
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise EnvironmentProblem(
            phrase("errors.common.package_needs", needs=needs),
            expected=phrase("errors.common.installed"),
            got=phrase("errors.common.not_installed"),
            remedy=remedy,
        )
    path = Path(next(iter(spec.submodule_search_locations)), *inside.split("/"))
    try:
        content = path.read_bytes()
    except OSError as error:
        raise EnvironmentProblem(
            phrase("errors.common.package_needs", needs=needs),
            expected=phrase("errors.common.file_inside", inside=inside),
            got=error.strerror or phrase("errors.common.nothing"),
            remedy=remedy,
        ) from None
    content = gzip.decompress(content) if path.suffix == ".gz" else content
    check_digest(path, hashlib.sha256(content).hexdigest(), sha256, remedy)
    return content


def check_digest(path: Path, digest: str, sha256: str, remedy: str) -> None:
    """Refuse a file whose content differs from the pinned one."""
    if digest != sha256:
        expected = f"sha256 {sha256[:12]}..."
        raise EnvironmentProblem(
            phrase("errors.common.file_place", place=path), expected=expected, got=f"{digest[:12]}...", remedy=remedy
        )
