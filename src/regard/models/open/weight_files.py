"""Weight files of a model: their permitted places and their size. Nothing is loaded here."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from regard.errors import InputError, Text, phrase
from regard.files import check_file, kind_of, parse_json, read_json, shown_size

INDEXES: Final = ("model.safetensors.index.json", "pytorch_model.bin.index.json")
LARGEST_HEADER: Final = 100 << 20
"""Maximum bytes of a header; safetensors itself refuses longer ones."""


@dataclass(frozen=True, slots=True)
class Held:
    """Contents of the weight files of a directory: bytes, and the tensors that their headers list."""

    size: int
    tensors: Mapping[str, tuple[int, ...]]


def weight_files(folder: Path) -> list[Path]:
    """Weight files that a directory names; each must be inside it, or in the blobs of the hub's cache."""
    names: set[str] = set()
    for index in INDEXES:
        if kind_of(folder / index) == "file":
            names |= _listed(folder / index)
    names |= {path.name for path in (*folder.glob("*.safetensors"), *folder.glob("*.bin"))}
    files = [folder / name for name in sorted(names)]
    for file in files:
        _check_place(file, folder)
    return files


def held(folder: Path) -> Held:
    """Sum the contents of the weight files; refuse impossible headers."""
    size, tensors = 0, dict[str, tuple[int, ...]]()
    for file in weight_files(folder):
        if kind_of(file) != "file":
            continue  # named by an index, not there: loading says so
        size += file.stat().st_size
        if file.suffix == ".safetensors":
            tensors |= header(file)
    return Held(size, tensors)


def header(file: Path) -> dict[str, tuple[int, ...]]:
    """Shapes of the tensors of a safetensors file, from its first bytes."""
    subject = phrase("errors.models.weights_source", source=file)
    size = check_file(file, subject, largest=1 << 50)
    with file.open("rb") as stream:
        start = stream.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else 1 << 63
        if length > min(LARGEST_HEADER, size - 8):
            fault = (
                phrase("errors.models.header_in_size", length=shown_size(float(length)), size=shown_size(size))
                if len(start) == 8
                else phrase("errors.models.too_few_bytes")
            )
            raise InputError(subject, expected=phrase("errors.common.safetensors_file"), got=fault)
        text = stream.read(length)
    try:
        entries = parse_json(text)
    except ValueError:
        entries = None
    if not isinstance(entries, dict):
        raise InputError(
            subject,
            expected=phrase("errors.common.safetensors_file"),
            got=phrase("errors.models.header_that_no_json_object"),
        )
    return {name: _shape(entry, subject) for name, entry in entries.items() if name != "__metadata__"}


def _shape(entry: Any, subject: Text) -> tuple[int, ...]:
    shape = entry.get("shape") if isinstance(entry, dict) else None
    if not isinstance(shape, list) or not all(isinstance(n, int) and 0 <= n < 1 << 48 for n in shape):
        raise InputError(
            subject, expected=phrase("errors.common.safetensors_file"), got=phrase("errors.models.tensor_without_shape")
        )
    return tuple(shape)


def _listed(index: Path) -> set[str]:
    """File names of an index; refuse names that lead outside its directory."""
    value = read_json(index)
    table = value.get("weight_map") if isinstance(value, dict) else None
    if not isinstance(table, dict) or not all(isinstance(name, str) for name in table.values()):
        raise InputError(
            phrase("errors.common.file_place", place=index),
            expected=phrase("errors.models.weight_map_tensor_names_and_file"),
            got=phrase("errors.models.another_structure"),
        )
    for name in table.values():
        if Path(name).name != name or name in ("", ".", "..") or "\\" in name or "\0" in name:
            raise InputError(
                phrase("errors.common.file_place", place=index),
                expected=phrase("errors.models.names_files_beside"),
                got=repr(name)[:80],
                remedy=phrase("errors.models.move_file_into_model_directory"),
            )
    return set(table.values())


def _check_place(file: Path, folder: Path) -> None:
    """Refuse links to anything but safetensors files and blobs of the hub's cache."""
    if kind_of(file) == "nothing":
        return
    real, home = file.resolve(), folder.resolve()
    if real.is_relative_to(home) or real.suffix == ".safetensors" or _is_blob(real):
        return
    raise InputError(
        phrase("errors.common.file_place", place=file),
        expected=phrase("errors.models.file_inside_model_directory"),
        got=phrase("errors.models.link_real", real=real),
        remedy=phrase("errors.models.copy_file_into_directory"),
    )


def _is_blob(path: Path) -> bool:
    """Return whether a path lies in the content store of the hub's cache: models--NAME/blobs/HASH."""
    return path.parent.name == "blobs" and path.parent.parent.name.startswith("models--")
