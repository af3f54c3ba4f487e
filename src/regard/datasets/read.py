"""Entry point: read a built-in name, a file or a directory as Examples."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from regard.datasets import sampling
from regard.datasets.cells import named_labels
from regard.datasets.columns import ColumnChoice, choose
from regard.datasets.examples import IN_MEMORY, Examples
from regard.datasets.formats.in_memory import memory_table
from regard.datasets.formats.picture_folder import is_pictures, open_pictures, picture_list
from regard.datasets.formats.sounds import is_sounds, metadata_of, read_sounds
from regard.datasets.recordings import Windows, windows_of
from regard.datasets.rows import Selection, examples_of
from regard.datasets.table import Table
from regard.errors import InputError, phrase
from regard.files import kind_of, limited
from regard.records import Example, Message, Spec
from regard.registry import build
from regard.registry import names as known_names

SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet")


def read(
    source: str | Path | Iterable[Any],
    *,
    text_column: str | None = None,
    pair_column: str | None = None,
    label_column: str | None = None,
    rationale_column: str | None = None,
    group_column: str | None = None,
    id_column: str | None = None,
    alignment_column: str | None = None,
    slice_columns: Sequence[str] = (),
    split: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    labels: Sequence[str] | Mapping[str, int] | None = None,
    skip_bad: bool = False,
    whole_groups: bool = False,
    max_bytes: int | None = None,
    window: int | None = None,
    stride: int = 0,
    horizon: int = 1,
    table: bool = False,
) -> Examples:
    """Read a built-in data set, a file, a `datasets` directory, or data in memory; all of it, or at most `limit`.

    source: a pandas or Polars DataFrame, a `datasets.Dataset`, a list or generator of texts, dicts, (text, label) pairs
    or Examples; a name such as `reviews`, `planted:negation=0.3`, ... (`regard list dataset`); a .csv, .tsv, .jsonl,
    .json or .parquet file (.gz too for the text formats); a directory saved by Hugging Face `datasets`; a .wav file or
    a directory of them, one sub-directory for each label, or with a metadata.csv (file_name, transcription); a picture
    (PNG, JPEG, ...) or a directory of pictures in the same way. A column `image` holds paths, bytes, arrays or records
    of the Image feature of `datasets`, a column `audio` the same for sounds, and a column `alignment` links of words
    (`0-0 1-2`). A column that is not named is guessed, and `notes` says so; "" means none. A bigger source is sampled:
    stratified by label, or whole groups; seeded; the same whatever the order of the rows. labels: names of the codes 0,
    1, ... max_bytes: largest file that is read (2 GB); a .gz may not unpack to more. Pipes and devices are refused.
    window: the rows are the steps of one recording, cut into windows of so many steps, `stride` steps apart (default:
    half a window); a mark per step makes a window anomalous, else the next `horizon` values are to be forecast (default
    stride: 1). table: read rows of numbers and categories, even where a column looks like text.

    >>> sample = read("planted:n=300", limit=20)
    >>> len(sample), sample.labels, sample.notes[-1].key
    (20, ('negative', 'positive'), 'data.sample')
    """
    if limit is not None and limit < 1:
        raise InputError("limit", expected=phrase("errors.datasets.at_least_example"), got=str(limit))
    columns = ColumnChoice(
        text=text_column,
        pair=pair_column,
        label=label_column,
        rationale=rationale_column,
        group=group_column,
        id=id_column,
        alignment=alignment_column,
        slices=tuple(slice_columns),
        table=table,
    )
    selection = Selection(split, limit, seed, whole_groups, skip_bad)
    names = named_labels(dict(labels) if isinstance(labels, Mapping) else labels or ())
    if window is not None:
        with limited(max_bytes):
            recording = (
                open_table(Path(str(source)).expanduser()) if isinstance(source, str | Path) else memory_table(source)
            )
            data = windows_of(recording, Windows(window, stride, horizon), label=label_column, split=split)
        return _limited(data, dataclasses.replace(selection, split=None), names)
    if not isinstance(source, str | Path):
        return _from_memory(source, columns, selection, names)
    if str(source).partition(":")[0] in known_names("dataset"):
        return _builtin(str(source), columns, selection, names)
    with limited(max_bytes):
        return _from_disk(source, columns, selection, names)


def _from_memory(source: object, choice: ColumnChoice, selection: Selection, names: tuple[str, ...]) -> Examples:
    if isinstance(source, Examples):
        return _limited(source, selection, names)
    if isinstance(source, Iterator):
        source = list(source)  # walked once: a run stores what it gave
    if isinstance(source, list | tuple) and source and all(isinstance(item, Example) for item in source):
        return _limited(Examples(IN_MEMORY, tuple(source)), selection, names)
    table = memory_table(source)
    return examples_of(table, choose(table, choice), selection, names)


def _from_disk(source: str | Path, choice: ColumnChoice, selection: Selection, names: tuple[str, ...]) -> Examples:
    try:
        path = Path(source).expanduser()
    except RuntimeError as error:  # ~name of a user that does not exist
        raise InputError(
            phrase("errors.common.data_path", path=source), expected=phrase("errors.datasets.path"), got=str(error)
        ) from None
    if is_sounds(path):
        if selection.split is not None or choice != ColumnChoice():
            raise InputError(
                phrase("errors.datasets.sounds_path", path=path),
                expected=phrase("errors.datasets.no_split_and_no_columns"),
                got=selection.split or str(choice),
            )
        return _limited(read_sounds(path, skip_bad=selection.skip_bad), selection, names)
    if is_pictures(path):
        if choice != ColumnChoice():
            raise InputError(
                phrase("errors.datasets.pictures_path", path=path),
                expected=phrase("errors.datasets.no_columns_folders_labels"),
                got=str(choice),
            )
        table, columns = open_pictures(path, split=selection.split)
        if table.split is not None:
            selection = dataclasses.replace(selection, split=None)
        return examples_of(table, columns, selection, names)
    path = picture_list(path) or metadata_of(path) or path
    table = open_table(path, split=selection.split)
    table = dataclasses.replace(table, folder=path if path.is_dir() else path.parent)
    if table.split is not None:
        selection = dataclasses.replace(selection, split=None)
    return examples_of(table, choose(table, choice), selection, names)


def open_table(path: Path, *, split: str | None = None) -> Table:
    """Open a file or directory as a table by its suffix, importing only the reader of that format."""
    kind_on_disk = kind_of(path)
    if kind_on_disk == "directory" and not any(path.iterdir()):
        expected = phrase("errors.datasets.pictures_sounds_or_saved_data")
        raise InputError(
            phrase("errors.common.directory_path", path=path),
            expected=expected,
            got=phrase("errors.datasets.empty_directory"),
        )
    if kind_on_disk == "directory":
        from regard.datasets.formats.hugging_face import open_hugging_face

        return open_hugging_face(path, split=split)
    if kind_on_disk == "nothing":
        raise _nobody(str(path))
    kind = path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix
    if kind in (".csv", ".tsv"):
        from regard.datasets.formats.delimited import open_delimited

        return open_delimited(path)
    if kind in (".jsonl", ".ndjson", ".json"):
        from regard.datasets.formats.json_lines import open_json

        return open_json(path)
    if kind == ".parquet":
        from regard.datasets.formats.parquet import open_parquet

        return open_parquet([path], name=path.name)
    remedy = phrase("errors.datasets.rename_after_format")
    expected = phrase("errors.datasets.name_that_ends_in_suffixes", suffixes=", ".join(SUFFIXES))
    raise InputError(
        phrase("errors.common.file_place", place=path),
        expected=expected,
        got=kind or phrase("errors.common.no_ending"),
        remedy=remedy,
    )


def _builtin(source: str, choice: ColumnChoice, selection: Selection, names: tuple[str, ...]) -> Examples:
    if choice != ColumnChoice():
        remedy = phrase("errors.datasets.path_if_file_meant", source=repr(source), source_2=source)
        expected = phrase("errors.datasets.no_column_options_columns_known")
        raise InputError(
            phrase("errors.common.data_path", path=repr(source)), expected=expected, got=str(choice), remedy=remedy
        )
    spec = Spec.parse("dataset", source)
    if selection.split is not None:
        spec = Spec(spec.kind, spec.name, {**spec.params, "split": selection.split})
    data = build(spec)()
    if not isinstance(data, Examples):
        raise InputError(
            phrase("errors.datasets.dataset_spec", spec=repr(spec.name)),
            expected=phrase("errors.datasets.examples"),
            got=type(data).__name__,
        )
    return _limited(data, selection, names)


def _limited(data: Examples, selection: Selection, names: tuple[str, ...]) -> Examples:
    """Draw at most `selection.limit` examples and note how."""
    if names:
        data = dataclasses.replace(data, labels=names)
    if selection.limit is None or len(data) <= selection.limit:
        return data
    if selection.whole_groups:
        sample, how = sampling.whole_groups(data, selection.limit, seed=selection.seed), Message("data.whole_groups")
    else:
        sample = sampling.stratified(data, selection.limit, seed=selection.seed)
        distinct = {sampling.stratum_of(e.label) for e in data}
        how = sampling.how([e.label for e in data], strata=len(distinct) <= sampling.MOST_STRATA)
    return data.keep(sample, sampling.note(len(sample), len(data), seed=selection.seed, how=how))


def _nobody(source: str) -> InputError:
    builtin_names = known_names("dataset")
    near = difflib.get_close_matches(source, builtin_names, n=3, cutoff=0.6)
    folder = Path(source).parent
    near += difflib.get_close_matches(
        Path(source).name, [p.name for p in folder.iterdir()] if folder.is_dir() else [], n=2, cutoff=0.7
    )
    if Path(source).suffix or folder != Path("."):
        remedy = " or ".join(near)
        expected = phrase("errors.datasets.csv_jsonl_or_parquet_file")
        return InputError(
            phrase("errors.common.data_path", path=repr(source)),
            expected=expected,
            got=phrase("errors.common.no_such_file"),
            remedy=remedy,
        )
    remedy = " or ".join(near)
    expected = phrase("errors.datasets.built_in_csv_jsonl", builtin_names=", ".join(builtin_names))
    return InputError(
        phrase("errors.common.data_path", path=repr(source)),
        expected=expected,
        got=phrase("errors.datasets.no_such_name_or_file"),
        remedy=remedy,
    )
