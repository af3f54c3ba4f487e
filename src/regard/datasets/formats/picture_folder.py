"""Pictures on disk: one file, or a directory of them whose sub-directories are the labels (or splits, then labels)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from regard.datasets.columns import Columns
from regard.datasets.formats.hugging_face import PREFERRED
from regard.datasets.picture_decoder import has_picture_suffix
from regard.datasets.table import Row, Table
from regard.errors import NoExamples, UnknownName, phrase
from regard.files import kind_of
from regard.records import Message, Text

SPLITS: Final = (*PREFERRED, "val")
MARKS: Final = ("dataset_dict.json", "state.json", "dataset_info.json")
"""Files that mark a `datasets` directory."""
LISTS: Final = ("metadata.csv", "metadata.jsonl")
"""Tables that list the pictures of their directory, with their own labels."""
COLUMNS: Final = ("image", "label", "id")


def is_pictures(path: Path) -> bool:
    """Return whether a path is a picture file, or a directory of pictures without a table."""
    kind = kind_of(path)
    if kind == "file":
        return has_picture_suffix(path.name)
    if kind != "directory" or any((path / name).exists() for name in MARKS):
        return False
    return next(_files(path), None) is not None and picture_list(path) is None


def picture_list(path: Path) -> Path | None:
    """Table that lists the pictures of a directory, if any."""
    return next((path / name for name in LISTS if (path / name).is_file()), None)


def open_pictures(path: Path, *, split: str | None) -> tuple[Table, Columns]:
    """Open the files as a table, in the order of their names, without decoding them; also return its columns."""
    files = [path] if path.is_file() else sorted(_files(path))
    root = path.parent if path.is_file() else path
    homes = {file.relative_to(root).parts[0] for file in files if file.parent != root}
    notes: list[Text] = []
    applied: str | None = None
    if homes and homes <= set(SPLITS) and all(file.parent != root for file in files):
        applied = split or next(name for name in SPLITS if name in homes)
        if applied not in (*homes, "all"):
            raise UnknownName(phrase("errors.datasets.split_path", path=path.name), applied, (*sorted(homes), "all"))
        if split is None and len(homes) > 1:
            notes.append(Message.of("data.guessed_split", split=applied, splits=sorted(homes)))
        if applied != "all":
            root = root / applied
            files = [file for file in files if root in file.parents]
    depth = 1 if applied == "all" else 0
    if not files:
        raise NoExamples(
            phrase("errors.common.directory_path", path=path),
            expected=phrase("errors.datasets.at_least_one_picture"),
            got=phrase("errors.common.none"),
        )
    rows = [_row(number, file, root, depth) for number, file in enumerate(files, 1)]
    labelled = any(row.values["label"] for row in rows)

    def walk(columns: Sequence[str] | None) -> Iterator[Row]:
        yield from rows

    # folders named 0, 1, ... are the numbers of classes, as in a csv file
    table = Table(path.name, COLUMNS, walk, counted="picture", typed=False, split=applied, folder=root)
    if not labelled:
        notes.append(Message("data.no_labels"))
    columns = Columns(
        modality="image",
        main=("image",),
        pair=None,
        label="label" if labelled else None,
        rationale=None,
        group=None,
        id="id",
        slices=(),
        notes=tuple(notes),
    )
    return table, columns


def _row(number: int, file: Path, root: Path, depth: int) -> Row:
    parts = file.relative_to(root).parts
    label = parts[depth] if len(parts) > depth + 1 else None
    name = file.relative_to(root).as_posix()
    return Row(number, {"image": name, "label": label, "id": name})


def _files(path: Path) -> Iterator[Path]:
    """Picture files at any depth; skip dotfiles and files that macOS adds to archives."""
    for file in path.rglob("*"):
        parts = file.relative_to(path).parts
        hidden = any(part.startswith(".") or part == "__MACOSX" for part in parts)
        if has_picture_suffix(file.name) and not hidden and file.is_file():
            yield file
