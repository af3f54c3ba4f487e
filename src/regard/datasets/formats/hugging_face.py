"""Directories saved by Hugging Face `datasets`: read with pyarrow alone; nothing in them is executed.

Three layouts: `DatasetDict.save_to_disk` (a directory per split), `Dataset.save_to_disk` (arrow files and state.json),
and a directory of Parquet or arrow files whose names begin with the split (a clone, or the download cache).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from regard.datasets.formats.features import label_names, label_names_in
from regard.datasets.formats.parquet import UNREADABLE, column_names, open_parquet
from regard.datasets.table import Row, Table
from regard.errors import InputError, UnknownName, phrase
from regard.files import check_file, kind_of, read_json, reason
from regard.records import Message, Text

PREFERRED = ("test", "validation", "dev", "valid", "train")
"""Splits in order of preference: those that the model did not learn from come first."""
OTHER_NAMES = {"dev": "validation", "validation": "dev"}
UNDIVIDED = "all of it"
OTHER_SOUNDS = {".mp3", ".flac", ".ogg", ".opus", ".m4a", ".aac", ".aiff", ".wma"}
"""Suffixes of unsupported sound files."""


def open_hugging_face(path: Path, *, split: str | None) -> Table:
    """Open the table of one split, by default the one furthest from training, with a note."""
    splits = _splits(path)
    if not splits:
        sounds = sorted({file.suffix.lower() for file in path.rglob("*")} & OTHER_SOUNDS)
        remedy: Text = "datasets.load_dataset(...).save_to_disk(DIR)"
        raise InputError(
            phrase("errors.common.directory_path", path=path),
            expected=phrase("errors.datasets.pictures_png_jpg_sounds_wav"),
            got=phrase("errors.datasets.sounds_that_are_not_wav", kinds=", ".join(sounds))
            if sounds
            else phrase("errors.datasets.none_these"),
            remedy=phrase("errors.datasets.convert_each_to_wav") if sounds else remedy,
        )
    notes: tuple[Text, ...] = ()
    split_name = split or next((s for s in PREFERRED if s in splits), min(splits))
    if list(splits) == [UNDIVIDED]:
        split_name = UNDIVIDED  # a split of it is then made by hash, as for a file
    if split_name == "all":
        files = [file for name in sorted(splits) for file in splits[name]]
    else:
        split_name = split_name if split_name in splits else OTHER_NAMES.get(split_name, split_name)
        if split_name not in splits:
            raise UnknownName(phrase("errors.datasets.split_path", path=path.name), split_name, (*splits, "all"))
        files = splits[split_name]
    if split is None and len(splits) > 1:
        notes = (Message.of("data.guessed_split", split=split_name, splits=sorted(splits)),)
    parquet = files[0].suffix == ".parquet"
    table = open_parquet(files, name=path.name) if parquet else _open_arrow(files, path.name)
    labels = label_names(_json(files[0].parent / "dataset_info.json").get("features")) or table.labels
    applied = None if split_name == UNDIVIDED else split_name
    return replace(table, labels=labels, notes=notes, split=applied)


def _splits(path: Path) -> dict[str, list[Path]]:
    listed = _json(path / "dataset_dict.json")
    if listed:
        return {name: _arrow_files(path / name) for name in _plain_names(listed.get("splits", []), path)}
    if (path / "state.json").exists():
        return {UNDIVIDED: _arrow_files(path)}
    files: dict[str, list[Path]] = {}
    for suffix in (".parquet", ".arrow"):
        for file in sorted(path.rglob(f"*{suffix}")):
            if not file.name.startswith("cache-"):
                files.setdefault(_split_in(file.stem), []).append(file)
        if files:
            break
    return files


def _split_in(stem: str) -> str:
    """
    >>> _split_in("train-00000-of-00002"), _split_in("rotten_tomatoes-test"), _split_in("rows")
    ('train', 'test', 'all of it')
    """
    words = re.split(r"[-_.]", stem)
    return next((w for w in words if w in (*PREFERRED, "val")), UNDIVIDED)


def _arrow_files(path: Path) -> list[Path]:
    entries = _json(path / "state.json").get("_data_files", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        expected = phrase("errors.datasets.data_files_list_objects")
        raise InputError(
            phrase("errors.common.file_place", place=path / "state.json"), expected=expected, got=repr(entries)[:60]
        )
    # the names come from the directory's own JSON: nothing outside the directory is ever opened
    names = _plain_names([entry.get("filename") for entry in entries], path)
    files = [path / name for name in names] or sorted(path.glob("*.arrow"))
    if not files:
        raise InputError(
            phrase("errors.common.directory_path", path=path),
            expected=phrase("errors.datasets.arrow_files"),
            got=phrase("errors.common.none"),
        )
    return files


def _plain_names(names: Any, path: Path) -> list[str]:
    """Last path components of names; reject names without one, such as ".."."""
    if not isinstance(names, list):
        raise InputError(
            phrase("errors.common.directory_path", path=path),
            expected=phrase("errors.common.list_names"),
            got=repr(names)[:60],
        )
    plain = [Path(name).name if isinstance(name, str) else "" for name in names]
    wrong = next((name for name, last in zip(names, plain, strict=True) if last in ("", ".", "..")), None)
    if wrong is not None or "" in plain:
        raise InputError(
            phrase("errors.common.directory_path", path=path),
            expected=phrase("errors.datasets.names_files"),
            got=repr(wrong)[:60],
        )
    return plain


def _json(path: Path) -> Mapping[str, Any]:
    if kind_of(path) == "nothing":
        return {}
    value = read_json(path)
    return value if isinstance(value, dict) else {}


def _open_arrow(files: Sequence[Path], name: str) -> Table:
    with _reader(files[0]) as reader:
        columns, labels = column_names(reader.schema, files[0]), label_names_in(reader.schema)

    def walk(columns: Sequence[str] | None) -> Iterator[Row]:
        number = 0
        for file in files:
            with _reader(file) as reader:
                try:
                    for batch in reader:
                        batch.validate(full=True)  # offsets in the file may point outside its buffers
                        part = batch if columns is None else batch.select(list(columns))
                        for values in part.to_pylist():
                            number += 1
                            yield Row(number, values)
                except UNREADABLE as error:
                    subject = phrase("errors.datasets.after_row", file=file.name, number=number)
                    raise InputError(
                        subject, expected=phrase("errors.datasets.arrow_file_datasets"), got=reason(error)
                    ) from None

    return Table(name, columns, walk, labels=labels)


def _reader(path: Path) -> Any:
    import pyarrow

    check_file(path)
    try:
        return pyarrow.ipc.open_stream(pyarrow.memory_map(str(path)))
    except UNREADABLE as error:
        raise InputError(
            phrase("errors.common.file_place", place=path),
            expected=phrase("errors.datasets.arrow_file_datasets"),
            got=reason(error),
        ) from None
