"""Roles of columns: set by the user, or guessed from names and the first rows and then noted."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from regard.datasets.examples import Modality
from regard.datasets.picture_decoder import is_encoded
from regard.datasets.table import Table, listed
from regard.errors import InputError, phrase
from regard.records import Message, Text

PAIRS = (
    ("text", "text_pair"),
    ("sentence1", "sentence2"),
    ("premise", "hypothesis"),
    ("question", "context"),
    ("question1", "question2"),
    ("question", "sentence"),
    ("text_a", "text_b"),
    ("query", "passage"),
)
TEXTS = (
    "text",
    "sentence",
    "review",
    "content",
    "document",
    "comment",
    "tweet",
    "message",
    "body",
    "utterance",
    "question",
    "sms",
    "article",
    "title",
    "tokens",
    "words",
    "note",
    "input",
    "source",
    "src",
)
WEAK = ("title", "tokens", "words", "note", "input")
"""Names in TEXTS that often accompany the actual text column."""
LONGER = 4
"""Length ratio at which another column takes precedence over a weakly named one."""
LABELS = (
    "label",
    "labels",
    "class",
    "target",
    "sentiment",
    "category",
    "gold",
    "y",
    "polarity",
    "rating",
    "stars",
    "score",
    "ner_tags",
    "tags",
    "answers",
    "transcript",
    "transcription",
    "translation",
    "summary",
)
PICTURES = ("image", "img", "picture", "photo")
PICTURE_FILES = (
    "image_path",
    "img_path",
    "image_file",
    "file_name",
    "filename",
    "filepath",
    "file_path",
    "file",
    "path",
)
"""Names of path columns; one of them is the picture if its cells are picture files."""
RATIONALES = ("rationale", "rationales", "spans", "token_spans", "evidences")
GROUPS = ("group", "group_id", "patient", "patient_id", "author", "author_id")
ALIGNMENTS = ("alignment", "alignments", "word_alignment", "links")
SOUNDS = ("audio", "sound", "wav", "file_name", "path", "file")
"""Names of sound columns; all but the first must hold names of .wav files."""
IDS = ("id", "uid", "example_id", "guid", "idx")
PEEKED = 50
FEW_WORDS = 20
"""Different words in the first rows of a category column."""


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    """Columns set by the user; None means guess, "" means none."""

    text: str | None = None
    pair: str | None = None
    label: str | None = None
    rationale: str | None = None
    group: str | None = None
    id: str | None = None
    slices: tuple[str, ...] = ()
    alignment: str | None = None
    table: bool = False
    """Read a table row even where a column looks like text."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns by role. main: the input column (text, image or series), or the numeric columns of a table row.

    categories: columns of a table row that hold one of a few words.
    """

    modality: Modality
    main: tuple[str, ...]
    pair: str | None
    label: str | None
    rationale: str | None
    group: str | None
    id: str | None
    slices: tuple[str, ...]
    notes: tuple[Text, ...]
    alignment: str | None = None
    rate: str | None = None
    folder: Path | None = None
    categories: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        """All columns in use."""
        single = (self.pair, self.label, self.rationale, self.group, self.id, self.alignment, self.rate)
        return tuple(dict.fromkeys((*self.main, *self.categories, *(c for c in single if c), *self.slices)))


def choose(table: Table, choice: ColumnChoice) -> Columns:
    """Find the column of every role; an error about a missing column lists similar names."""
    for option, name in (
        ("text", choice.text),
        ("pair", choice.pair),
        ("label", choice.label),
        ("rationale", choice.rationale),
        ("group", choice.group),
        ("id", choice.id),
        ("alignment", choice.alignment),
        *(("slice", name) for name in choice.slices),
    ):
        if name and name not in table.columns:
            raise missing(table, option, name)
    by_name = {re.sub(r"[\s-]+", "_", name.strip().lower()): name for name in reversed(table.columns)}
    taken_columns = {name for name in (choice.text, choice.pair, choice.label, choice.group, choice.id) if name} | set(
        choice.slices
    )
    notes: list[Text] = []

    def find(option: str, name: str | None, candidates: Sequence[str]) -> str | None:
        if name is not None:
            return name or None
        free = (by_name[c] for c in candidates if c in by_name and by_name[c] not in taken_columns)
        column = next(free, None)
        if column is not None:
            taken_columns.add(column)
            notes.append(Message.of("data.guessed_column", option=option, column=column))
        return column

    label = find("label", choice.label, LABELS)
    ident = find("id", choice.id, IDS)
    group = find("group", choice.group, GROUPS)
    rationale = find("rationale", choice.rationale, RATIONALES)
    alignment = find("alignment", choice.alignment, ALIGNMENTS) if label is not None else None
    modality: Modality = "tabular"
    main: tuple[str, ...]
    pair: str | None = None
    if choice.table:
        main = _table_row(table, taken_columns, notes)
    else:
        modality, main, pair = _inputs(table, choice, by_name, taken_columns, notes)
    if label is None:
        notes.append(Message("data.no_labels"))
    roles = {"pair": pair, "label": label, "rationale": rationale, "group": group, "id": ident}
    rates = (by_name[name] for name in ("rate", "sampling_rate", "sample_rate") if name in by_name)
    return Columns(
        modality,
        main,
        **roles,
        slices=choice.slices,
        notes=tuple(notes),
        alignment=alignment if modality == "text" else None,
        rate=next(rates, None) if modality == "audio" else None,
        folder=table.folder,
        categories=_categories(table, taken_columns, main) if modality == "tabular" else (),
    )


def _inputs(
    table: Table, choice: ColumnChoice, by_name: Mapping[str, str], taken_columns: set[str], notes: list[Text]
) -> tuple[Modality, tuple[str, ...], str | None]:
    if choice.text:
        modality: Modality = "image" if _holds_pictures(table, choice.text) else "text"
        return modality, (choice.text,), choice.pair or None
    pictures = next((by_name[c] for c in PICTURES if c in by_name and by_name[c] not in taken_columns), None)
    files = [by_name[c] for c in PICTURE_FILES if c in by_name and by_name[c] not in taken_columns]
    picture = pictures or next((column for column in files if _holds_pictures(table, column)), None)
    if picture is not None and choice.pair is None:
        notes.append(Message.of("data.guessed_array", modality="image", column=picture))
        return "image", (picture,), None
    if choice.pair is None:
        for first, second in PAIRS:
            if {first, second} <= set(by_name) and not {by_name[first], by_name[second]} & taken_columns:
                text, pair = by_name[first], by_name[second]
                notes.append(Message.of("data.guessed_pair", text=text, pair=pair))
                return "text", (text,), pair
    sounds = _sounds(table, by_name, taken_columns)
    if sounds is not None:
        notes.append(Message.of("data.guessed_array", modality="audio", column=sounds))
        return "audio", (sounds,), None
    if "series" in by_name and by_name["series"] not in taken_columns:
        notes.append(Message.of("data.guessed_array", modality="series", column=by_name["series"]))
        return "series", (by_name["series"],), None
    by_title = next((by_name[c] for c in TEXTS if c in by_name and by_name[c] not in taken_columns), None)
    rows, free = _peeked(table, taken_columns)
    lengths = _lengths(rows, free)
    longest = max(lengths, key=lambda column: lengths[column]) if lengths else None
    numbers = [c for c in free if rows and all(_is_number(row.get(c)) for row in rows)]
    if by_title is None and numbers and longest in _categories(table, taken_columns, numbers):
        longest = None  # "skilled worker", "no job": words that repeat beside numbers are a category
    text_column = by_title or longest
    if by_title is not None and longest is not None and by_title.lower() in WEAK:
        own = [len(v) for v in (row.get(by_title) for row in rows) if isinstance(v, str)]
        text_column = longest if own and lengths[longest] > LONGER * sum(own) / len(own) else by_title
    if text_column is not None:
        notes.append(Message.of("data.guessed_column", option="text", column=text_column))
        return "text", (text_column,), choice.pair or None
    if numbers:
        return "tabular", _table_row(table, taken_columns, notes), None
    remedy = "--text-column NAME" if rows else phrase("errors.datasets.file_with_rows")
    columns = listed(table.columns)
    problem = (
        phrase("errors.datasets.columns_columns", columns=columns)
        if rows
        else phrase("errors.datasets.columns_and_no_rows", columns=columns)
    )
    expected = phrase("errors.datasets.column_texts_or_columns_numbers")
    raise InputError(
        phrase("errors.common.file_place", place=table.name), expected=expected, got=problem, remedy=remedy
    )


def _peeked(table: Table, taken_columns: set[str]) -> tuple[list[Mapping[str, Any]], list[str]]:
    """Return the first rows, and the columns without a role."""
    rows = [row.values for row in islice(table.walk(None), PEEKED) if not row.problem]
    return rows, [c for c in table.columns if c not in taken_columns and c.lower() not in ("split", "row")]


def _table_row(table: Table, taken_columns: set[str], notes: list[Text]) -> tuple[str, ...]:
    """Return the columns of numbers; the note names them, the category columns and what is skipped."""
    rows, free = _peeked(table, taken_columns)
    numbers = tuple(c for c in free if rows and all(_is_number(row.get(c)) for row in rows))
    categories = _categories(table, taken_columns, numbers)
    left = sorted(set(free) - set(numbers) - set(categories))
    if not numbers and not categories:
        raise InputError(
            phrase("errors.common.file_place", place=table.name),
            expected=phrase("errors.datasets.columns_of_numbers_or_categories"),
            got=phrase("errors.datasets.columns_columns", columns=listed(table.columns)),
        )
    rest = Message.of("data.left_out", columns=listed(left)) if left else ""
    if categories:
        names = listed(categories)
        notes.append(Message.of("data.mixed_row", n=len(numbers), categories=names, rest=rest))
    else:
        notes.append(Message.of("data.table_row", n=len(numbers), rest=rest))
    return numbers


def _categories(table: Table, taken_columns: set[str], numbers: Sequence[str]) -> tuple[str, ...]:
    """Find the columns of words that repeat: at most half as many different ones as rows, and at most FEW_WORDS."""
    rows, free = _peeked(table, taken_columns)
    categories = []
    for column in (c for c in free if c not in numbers):
        words = [category_word(row.get(column)) for row in rows]
        known = {word for word in words if word}
        if None not in words and 1 < len(known) <= min(FEW_WORDS, max(2, len(rows) // 2)):
            categories.append(column)
    return tuple(categories)


def category_word(value: Any) -> str | None:
    """Return a cell as a category, "" for an empty one; None for a list or another value that is no word."""
    if value is None or value != value:
        return ""
    return str(value).strip() if isinstance(value, str | bool | int) else None


def _holds_pictures(table: Table, column: str) -> bool:
    """Return whether the first cells of a column are picture files."""
    cells = [row.values.get(column) for row in islice(table.walk((column,)), PEEKED) if not row.problem]
    present = [cell for cell in cells if cell is not None]
    return bool(present) and all(is_encoded(cell) or hasattr(cell, "convert") for cell in present)


def _sounds(table: Table, by_name: Mapping[str, str], taken_columns: set[str]) -> str | None:
    """Find the column of sounds: one called audio, or one with names of .wav files."""
    for name in SOUNDS:
        column = by_name.get(name)
        if column is None or column in taken_columns:
            continue
        values = [row.values.get(column) for row in islice(table.walk((column,)), PEEKED) if not row.problem]
        files = [isinstance(value, str) and value.lower().endswith(".wav") for value in values]
        if values and (all(files) or name == "audio"):
            return column
    return None


def _lengths(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> dict[str, float]:
    """Mean length of every text column: most cells have several words, or there is no other column."""
    lengths: dict[str, float] = {}
    for column in columns:
        values = [row.get(column) for row in rows]
        texts = [v for v in values if isinstance(v, str) and v.strip() and not _is_number(v)]
        if texts and len(texts) >= len(values) / 2:
            spaced = sum(" " in text.strip() for text in texts) >= len(texts) / 2
            if spaced or len(columns) == 1:
                lengths[column] = sum(map(len, texts)) / len(texts)
    return lengths


def _is_number(value: Any) -> bool:
    if isinstance(value, str):
        try:
            float(value)
        except ValueError:
            return False
        return True
    return isinstance(value, int | float) and not isinstance(value, bool)


def missing(table: Table, option: str, name: str) -> InputError:
    """Error for a missing column, with similar names."""
    near = difflib.get_close_matches(name, table.columns, n=3, cutoff=0.5)
    near = near or [c for c in table.columns if c.lower() == name.lower()]
    remedy = " or ".join(f"--{option}-column {shlex.quote(n)}" for n in near)
    subject = phrase("errors.datasets.column_name", name=repr(name), table=table.name)
    return InputError(
        subject,
        expected=phrase("errors.common.one_allowed", allowed=listed(table.columns)),
        got=phrase("errors.datasets.no_such_column"),
        remedy=remedy,
    )
