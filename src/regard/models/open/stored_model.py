"""Reopen the model of a stored run: without code, without network, and only from unchanged files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from regard.errors import InputError, RegardError, Text, phrase
from regard.models.open.checkpoints import adapter_base
from regard.models.open.config_limits import read_config
from regard.models.open.hub import snapshot_of
from regard.networks.family import is_family, read_family
from regard.records import Spec
from regard.registry import named_model
from regard.trust import code_refused

_PARAMETERS = (
    "device",
    "device_map",
    "download",
    "dtype",
    "labels",
    "max_length",
    "name",
    "overflow",
    "processor",
    "quantize",
    "rebuild",
    "task",
    "trust_remote_code",
    "words",
)
_FILES = (
    "*.safetensors",
    "*.bin",
    "*.onnx",
    "*.gguf",
    "*.index.json",
    "config.json",
    "regard.json",
    "adapter_config.json",
)
"""Files that determine the numbers of a model in a directory."""


def stored_spec(spec: Spec, subject: Text, *, allow_code: bool = False) -> Spec:
    """Return the Spec of a stored model for opening; refuse code unless allowed, and never download."""
    if spec.kind not in ("model", "function"):
        raise InputError(
            subject,
            expected=phrase("errors.models.spec_model"),
            got=phrase("errors.models.kind_kind", kind=repr(spec.kind)),
        )
    code = _code_of(spec)
    if code and not allow_code:
        raise code_refused(subject, code)
    if spec.kind == "function":
        return spec
    unknown = sorted(set(spec.params) - set(_PARAMETERS))
    if unknown:
        raise InputError(
            subject,
            expected=phrase("errors.models.parameters_among", parameters=", ".join(_PARAMETERS)),
            got=unknown[0],
        )
    return Spec(spec.kind, spec.name, {k: v for k, v in spec.params.items() if k != "download"})


def code_file(source: str) -> tuple[Path, str] | None:
    """(file, factory) of `file.py:factory`; None for every other name. A directory is never code, whatever its name.

    >>> code_file("models/mine.py:make"), code_file("bilstm:epochs=2")
    ((PosixPath('models/mine.py'), 'make'), None)
    """
    path, colon, factory = source.rpartition(":")
    if not colon or not path.endswith(".py") or Path(source).is_dir():
        return None
    return Path(path), factory


def _code_of(spec: Spec) -> Text:
    """Code that opening this model would run; "" for none."""
    if spec.kind == "function" or code_file(spec.name) is not None:
        return spec.name
    return phrase("errors.models.code_inside", name=spec.name) if spec.params.get("trust_remote_code") else ""


def refuse_changed_files(spec: Spec, digest: object, subject: Text) -> None:
    """Raise, before anything of the model is built, if its files differ from those of the run.

    digest: result of `file_digest` at the time of the run; None for runs that did not record it.
    """
    if digest is None:
        return
    now = file_digest(spec)
    if now is not None and now != digest:
        raise InputError(
            subject,
            expected=phrase("errors.models.files_that_run_about"),
            got=phrase("errors.models.other_weights_another_config"),
            remedy=phrase("errors.models.restore_files_or_audit_this_model"),
        )


def file_digest(spec: Spec) -> str | None:
    """sha256 over the files behind a model; None if it is not made of files (a name, a live module)."""
    if spec.kind != "model":
        return None
    try:
        files = sorted(_files(spec.name))
    except (RegardError, OSError, ValueError):  # opening it says what is wrong
        return None
    if not files:
        return None
    whole = hashlib.sha256()
    for name, path in files:
        with path.open("rb") as file:
            whole.update(f"{name}\0{hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return whole.hexdigest()


def _files(source: str) -> Iterator[tuple[str, Path]]:
    """(name, path) of the files that decide the numbers of a model."""
    folder = Path(source).expanduser()
    if not folder.exists() and named_model(source) is not None:
        return
    code = code_file(source)
    if code is not None:
        yield code[0].name, code[0]
        return
    if folder.suffix == ".onnx" and folder.is_file():
        yield folder.name, folder
        return
    if not folder.is_dir():
        snapshot = snapshot_of(source)
        if snapshot is None:
            return
        folder = snapshot
    if is_family(folder):
        folder = folder / read_family(folder).best
    yield from _inside(folder)
    adapter = folder / "adapter_config.json"
    if adapter.is_file():
        base = adapter_base(folder, read_config(adapter))
        beside = Path(base) if Path(base).is_dir() else snapshot_of(base)
        for name, path in () if beside is None else _inside(beside):
            yield f"base/{name}", path


def _inside(folder: Path) -> Iterator[tuple[str, Path]]:
    for pattern in _FILES:
        for path in folder.glob(pattern):
            if path.is_file():
                yield path.name, path
