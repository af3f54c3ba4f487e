"""An evidence archive: files, their checksums and an optional signature in one zip, verifiable without regard.

SHA256SUMS is the format of `sha256sum -c`; SHA256SUMS.sig is a signature by `ssh-keygen -Y sign -n regard-evidence`.
"""

from __future__ import annotations

import hashlib
import io
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from regard.errors import EnvironmentProblem, InputError, Text, phrase
from regard.files import max_bytes, read_bytes
from regard.store.blobs import write_output

SUMS, SIGNATURE, NAMESPACE = "SHA256SUMS", "SHA256SUMS.sig", "regard-evidence"
DATE = (1980, 1, 1, 0, 0, 0)
"""Time stamp of every member, so that equal contents give equal archives."""
MOST_FILES = 1000
SECONDS = 60
Signed = Literal["no", "valid", "not checked", "invalid"]


@dataclass(frozen=True, slots=True)
class Verified:
    """State of an archive. changed, missing, unlisted: names of files. signer: identity of the signer, if known."""

    files: Mapping[str, bytes]
    changed: tuple[str, ...]
    missing: tuple[str, ...]
    unlisted: tuple[str, ...]
    signed: Signed
    signer: str = ""

    @property
    def intact(self) -> bool:
        return not (self.changed or self.missing or self.unlisted or self.signed == "invalid")


def write_archive(path: Path, files: Mapping[str, bytes], *, key: Path | None = None) -> None:
    """Write the files, their checksums and, with the private key of an SSH key pair, a signature of these."""
    sums = "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in sorted(files.items()))
    members = {**files, SUMS: sums.encode()}
    if key is not None:
        members[SIGNATURE] = _signature(sums.encode(), key)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(members.items()):
            member = zipfile.ZipInfo(name, DATE)
            member.compress_type, member.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(member, content)
    write_output(path, buffer.getvalue())


def verify_archive(path: Path, *, signers: Path | None = None) -> Verified:
    """Compare every file with its checksum, and check the signature.

    signers: an allowed-signers file of ssh-keygen; without one the signature is checked for its form alone.
    """
    files = _members(path)
    if SUMS not in files:
        raise InputError(
            phrase("errors.common.file_place", place=path),
            expected=phrase("errors.store.evidence_archive_with_sums", sums=SUMS),
            got=phrase("errors.common.none"),
        )
    listed = _listed(path, files[SUMS])
    content = {name: data for name, data in files.items() if name not in (SUMS, SIGNATURE)}
    altered = [n for n, digest in listed.items() if n in content and hashlib.sha256(content[n]).hexdigest() != digest]
    signed: Signed = "no"
    signer = ""
    if SIGNATURE in files:
        signed, signer = _checked(files[SUMS], files[SIGNATURE], signers)
    elif signers is not None:
        signed = "invalid"  # a signature was expected
    return Verified(
        files=files,
        changed=tuple(sorted(altered)),
        missing=tuple(sorted(set(listed) - set(content))),
        unlisted=tuple(sorted(set(content) - set(listed))),
        signed=signed,
        signer=signer,
    )


def _members(path: Path) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(io.BytesIO(read_bytes(path))) as archive:
            members = archive.infolist()
            names = [member.filename for member in members]
            plain = all(not PurePosixPath(n).is_absolute() and ".." not in PurePosixPath(n).parts for n in names)
            if len(set(names)) != len(names) or len(names) > MOST_FILES or not plain:
                raise InputError(
                    phrase("errors.common.file_place", place=path),
                    expected=phrase("errors.store.different_plain_names"),
                    got=phrase("errors.common.others"),
                )
            if sum(member.file_size for member in members) > max_bytes():
                raise InputError(
                    phrase("errors.common.file_place", place=path),
                    expected=phrase("errors.store.archive_within_max_bytes"),
                    got=phrase("errors.store.larger_one"),
                )
            return {member.filename: archive.read(member) for member in members if not member.is_dir()}
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError, ValueError) as error:
        raise InputError(
            phrase("errors.common.file_place", place=path),
            expected=phrase("errors.store.zip_archive"),
            got=phrase("errors.store.damaged_one", error=error),
        ) from error


def _listed(path: Path, sums: bytes) -> dict[str, str]:
    rows: dict[str, str] = {}
    for line in sums.decode("utf-8", "replace").splitlines():
        digest, two, name = line.partition("  ")
        if len(digest) != 64 or not two or not name:
            raise InputError(
                phrase("errors.common.file_place", place=path),
                expected=phrase("errors.store.lines_shasum"),
                got=repr(line[:60]),
            )
        rows[name] = digest
    return rows


def _signature(sums: bytes, key: Path) -> bytes:
    if not key.is_file():
        raise InputError(
            phrase("errors.store.key_key", key=key),
            expected=phrase("errors.store.private_ssh_key"),
            got=phrase("errors.common.no_such_file"),
        )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / SUMS
        file.write_bytes(sums)
        _ssh_keygen(
            ["-Y", "sign", "-f", str(key), "-n", NAMESPACE, str(file)], b"", phrase("errors.store.key_key", key=key)
        )
        return (Path(folder) / SIGNATURE).read_bytes()


def _checked(sums: bytes, signature: bytes, signers: Path | None) -> tuple[Signed, str]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / SIGNATURE
        file.write_bytes(signature)
        base = ["-n", NAMESPACE, "-s", str(file)]
        if signers is None:
            valid = _run(["-Y", "check-novalidate", *base], sums).returncode == 0
            return ("not checked", "") if valid else ("invalid", "")
        listed = _run(["-Y", "find-principals", "-s", str(file), "-f", str(signers)], b"")
        for name in listed.stdout.decode("utf-8", "replace").split():
            if _run(["-Y", "verify", "-f", str(signers), "-I", name, *base], sums).returncode == 0:
                return "valid", name
        return "invalid", ""


def _ssh_keygen(words: list[str], content: bytes, subject: Text) -> None:
    process = _run(words, content)
    if process.returncode:
        lines = process.stderr.decode("utf-8", "replace").strip().splitlines()
        got = lines[-1] if lines else phrase("errors.common.none")
        raise InputError(subject, expected=phrase("errors.store.key_that_ssh_keygen_can"), got=got)


def _run(words: list[str], content: bytes) -> subprocess.CompletedProcess[bytes]:
    program = shutil.which("ssh-keygen")
    if program is None:
        raise EnvironmentProblem(
            phrase("errors.store.signature"),
            expected="ssh-keygen",
            got=phrase("errors.common.none"),
            remedy=phrase("errors.store.install_openssh"),
        )
    try:
        return subprocess.run([program, *words], input=content, capture_output=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EnvironmentProblem(
            phrase("errors.store.signature"), expected=phrase("errors.store.ssh_keygen_answer"), got=str(error)
        ) from error
