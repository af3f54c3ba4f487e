"""Rows of a table -> Examples: checked, split, and sampled as they stream by."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from typing import Any

from regard.datasets import sampling
from regard.datasets.cells import (
    alignment_of,
    content_of,
    file_name,
    inputs_of,
    label_of,
    number_kind,
    rationale_of,
    word,
)
from regard.datasets.columns import Columns
from regard.datasets.examples import Examples
from regard.datasets.mark_set import MarkSet
from regard.datasets.picture_decoder import MOST_PIXELS, PictureDecoder
from regard.datasets.splits import ALIASES, checked, normalised, split_of
from regard.datasets.table import Row, RowError, Table
from regard.errors import InputError, NoExamples, phrase
from regard.records import Example, Json, Message, Text

_DIFFERENT_IDS = phrase("errors.datasets.ids_that_differ")


@dataclass(frozen=True, slots=True)
class Selection:
    """Row selection: one split, at most `limit`, whole groups or stratified by label, bad rows skipped or refused."""

    split: str | None = None
    limit: int | None = 200
    seed: int = 0
    whole_groups: bool = False
    skip_bad: bool = False


def examples_of(table: Table, columns: Columns, selection: Selection, names: tuple[str, ...]) -> Examples:
    """Read the selected rows as examples, with notes on everything guessed or skipped."""
    stream = TableStream(table, columns, selection)
    stream.run()
    sample = stream.chosen()
    notes: list[Text] = [*table.notes, *columns.notes, *stream.notes(len(sample))]
    examples, unlabelled = [], 0
    unusable: list[str] = []
    for row, ident, label in sample:
        try:
            example = stream.example(row, ident, label)
        except RowError as bad:
            if not selection.skip_bad:
                raise stream.refusal(row, bad) from None
            unusable.append(ident)
            continue
        examples.append(example)
        unlabelled += example.label is None
    notes += _late_notes(stream, unusable)
    if not examples:
        raise NoExamples(
            phrase("errors.common.file_place", place=table.name),
            expected=phrase("errors.datasets.at_least_one_usable_row"),
            got=stream.nothing(),
        )
    if columns.label and unlabelled:
        notes.append(Message.of("data.unlabelled", n=unlabelled, of=len(examples)))
    names = names or table.labels.get(columns.label or "", ()) or stream.label_names()
    features = (*columns.main, *columns.categories) if columns.modality == "tabular" else ()
    return Examples(table.name, tuple(examples), names, tuple(notes), columns=features, modality=columns.modality)


def _late_notes(stream: TableStream, unusable: list[str]) -> list[Text]:
    """Notes on sampled rows that were skipped, and on pictures that were averaged down."""
    notes: list[Text] = []
    if unusable and stream.columns.modality == "image":
        first = [*unusable[:3], *(["..."] if len(unusable) > 3 else [])]
        notes.append(Message.of("data.unusable_pictures", n=len(unusable), files=first))
    elif unusable:
        notes.append(Message.of("data.unusable_rationale", n=len(unusable)))
    if stream.decoder.reduced:
        notes.append(Message.of("data.reduced_pictures", n=len(stream.decoder.reduced), most=MOST_PIXELS))
    return notes


class TableStream:
    """Pass over a table."""

    def __init__(self, table: Table, columns: Columns, selection: Selection) -> None:
        self.table, self.columns, self.selection = table, columns, selection
        self.split_column = next((c for c in table.columns if c.lower() == "split"), None)
        self.split = selection.split
        if self.split is not None and self.split_column is None:
            self.split = checked(self.split)
        self.sample: sampling.StratifiedSample[tuple[Row, str, Json]]
        self.sample = sampling.StratifiedSample(selection.limit, seed=selection.seed)
        self.groups: sampling.GroupSample[tuple[Row, str, Json]]
        self.groups = sampling.GroupSample(selection.limit, seed=selection.seed)
        self.seen = MarkSet()
        self.again: Counter[int] = Counter()
        self.names: Counter[str] = Counter()
        self.bad: list[int] = []
        self.splits_seen: Counter[str] = Counter()
        self.kind = 0 if table.typed else 2
        self.any_label = False
        self.all_words, self.words = True, set[str]()
        self.rows = 0
        self.decoder = PictureDecoder(table.folder)

    def run(self) -> None:
        names = (*self.columns.all, *([self.split_column] if self.split_column else ()))
        for row in self.table.walk(tuple(dict.fromkeys(names))):
            self.rows += 1
            try:
                self._take(row)
            except RowError as bad:
                if not self.selection.skip_bad:
                    raise self.refusal(row, bad) from None
                self.bad.append(row.number)

    def _take(self, row: Row) -> None:
        if row.problem:
            raise RowError(phrase("errors.datasets.row_table", table=self.table.name), row.problem)
        inputs = inputs_of(row, self.columns)
        group = word(row.values.get(self.columns.group)) if self.columns.group else ""
        label = self.label_in(row)
        if not self._in_split(row, inputs, group):
            return
        ident = self._ident(row, inputs)
        if self.selection.whole_groups:
            self.groups.add(group or ident, (row, ident, label))
        else:
            self.sample.add(sampling.stratum_of(label), ident, (row, ident, label))

    def label_in(self, row: Row) -> Json:
        """Parse the label; every row counts towards the label type, so that all splits agree."""
        label = label_of(row.values.get(self.columns.label), typed=self.table.typed) if self.columns.label else None
        if label == -1 and self.columns.label in self.table.labels:
            label = None  # how Hugging Face marks a withheld label
        if label is not None:
            self.any_label = True
            self.kind = min(self.kind, number_kind(label))
            self.all_words = self.all_words and isinstance(label, str)
            if isinstance(label, str) and len(self.words) <= sampling.MOST_STRATA:
                self.words.add(label)
        return label

    def holds(self, row: Row) -> bool:
        """Return whether a row belongs to the selected split; raise if it is unusable."""
        inputs = inputs_of(row, self.columns)
        group = word(row.values.get(self.columns.group)) if self.columns.group else ""
        return self._in_split(row, inputs, group)

    def _in_split(self, row: Row, inputs: dict[str, Any], group: str) -> bool:
        if self.split is None or self.split == "all":
            return True
        if self.split_column is not None:
            here = word(row.values.get(self.split_column))
            self.splits_seen[here] += 1
            return ALIASES.get(here.lower(), here.lower()) == ALIASES.get(self.split.lower(), self.split.lower())
        home = f"group {group}" if group else normalised(content_of(inputs))
        return split_of(home) == self.split

    def _ident(self, row: Row, inputs: dict[str, Any]) -> str:
        if self.columns.id is None:
            if name := file_name(row, self.columns):
                self.names[name] += 1
                return name if self.names[name] == 1 else f"{name}-{self.names[name]}"
            digest = hashlib.blake2b(content_of(inputs).encode(), digest_size=8)
            mark = int.from_bytes(digest.digest(), "big")
            if self.seen.add(mark):
                return digest.hexdigest()[:12]
            self.again[mark] += 1
            return f"{digest.hexdigest()[:12]}-{self.again[mark] + 1}"
        ident = word(row.values.get(self.columns.id))
        if not ident:
            raise RowError(
                phrase("errors.datasets.id"),
                phrase("errors.datasets.empty_cell_in_column", column=repr(self.columns.id)),
            )
        mark = sampling.key(0, ident)
        if not self.seen.add(mark):
            raise RowError(
                _DIFFERENT_IDS,
                phrase("errors.datasets.second_time_in_column", ident=repr(ident), columns=repr(self.columns.id)),
            )
        return ident

    def refusal(self, row: Row, bad: RowError) -> InputError:
        remedy = phrase("errors.datasets.fix_row_or_skip_unreadable")
        if bad.expected == _DIFFERENT_IDS:
            remedy = phrase("errors.datasets.another_id_column_or_id")
        subject = phrase(
            "errors.datasets.counted_place", table=self.table.name, noun=self.table.counted, number=row.number
        )
        return InputError(subject, expected=bad.expected, got=bad.got, remedy=remedy)

    def chosen(self) -> list[tuple[Row, str, Json]]:
        return self.groups.chosen() if self.selection.whole_groups else self.sample.chosen()

    def example(self, row: Row, ident: str, label: Json) -> Example:
        inputs = inputs_of(row, self.columns, self.decoder)
        group = word(row.values.get(self.columns.group)) if self.columns.group else ""
        if isinstance(label, str) and self.kind:
            label = int(label) if self.kind == 2 else float(label)
        slices = {column: word(row.values.get(column)) for column in self.columns.slices}
        rationale = rationale_of(row, self.columns, inputs)
        links = alignment_of(row, self.columns, inputs, label)
        return Example(ident, inputs, label, rationale, group or None, slices=slices, alignment=links)

    def label_names(self) -> tuple[str, ...]:
        """Names of labels; words name themselves."""
        few = len(self.words) <= sampling.MOST_STRATA
        return tuple(sorted(self.words)) if few and self.all_words and not self.kind else ()

    def notes(self, taken: int) -> list[Text]:
        total = self.groups.total if self.selection.whole_groups else self.sample.total
        notes: list[Text] = []
        home = Message("data.group" if self.columns.group else "data.content")
        if self.split is not None and self.split != "all" and self.split_column is None:
            rows = self.rows - len(self.bad)
            notes.append(Message.of("data.split_rows", split=self.split, n=total, rows=rows, home=home))
        elif self.split_column is not None:
            which = self.split or Message("data.all_rows")
            notes.append(Message.of("data.split_column", column=self.split_column, which=which))
        if self.bad:
            first = [*map(str, self.bad[:3]), *(["..."] if len(self.bad) > 3 else [])]
            notes.append(Message.of("data.bad_rows", n=len(self.bad), counted=self.table.counted, rows=first))
        if self.again and self.columns.id is None:
            notes.append(Message.of("data.repeated_rows", n=sum(self.again.values())))
        if taken < total:
            labelled = [0] if self.any_label else []
            how = sampling.how(labelled, strata=self.sample.stratified)
            how = Message("data.whole_groups") if self.selection.whole_groups else how
            notes.append(sampling.note(taken, total, seed=self.selection.seed, how=how))
        return notes

    def nothing(self) -> Text:
        if self.splits_seen:
            splits = ", ".join(sorted(self.splits_seen))
            return phrase("errors.datasets.no_row_with_split", split=repr(self.split), splits=splits)
        if self.bad:
            return phrase("errors.datasets.only_bad_rows", n=len(self.bad))
        return phrase("errors.datasets.no_rows")
