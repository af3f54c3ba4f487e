"""Long recording in a table, one row per step, cut into sliding windows.

Columns: a time (optional), channels of numbers, and a label. Marks (0 and 1, or words) make a window anomalous where
any of its steps is marked, and the marked steps are its rationale; without marks, the values that follow a window are
to be forecast.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from regard.datasets.columns import LABELS
from regard.datasets.examples import Examples
from regard.datasets.splits import FRACTIONS, checked
from regard.datasets.table import Table
from regard.errors import InputError, NoExamples, phrase
from regard.records import Example, Floats, Json, Message, frozen

TIMES: Final = ("time", "timestamp", "date", "datetime", "t", "seconds", "year")
MARKS: Final = ("anomaly", "is_anomaly", "event", *LABELS)
EVEN: Final = 0.01
"""Maximum relative deviation of a step from the median step."""
CALENDAR: Final = ((28 * 86400.0, 31 * 86400.0), (365 * 86400.0, 366 * 86400.0))
"""Seconds of months and years, which count as regular although they vary."""


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows of a recording: steps per window, steps between two, values to forecast.

    stride 0: half a window where steps are marked, one step where values are to be forecast.
    """

    window: int
    stride: int = 0
    horizon: int = 1

    def step(self, *, marked: bool) -> int:
        """Steps between the beginnings of two windows."""
        return self.stride or (max(1, self.window // 2) if marked else 1)


@dataclass(frozen=True, slots=True)
class Recording:
    """Channels (steps, channels), and a mark for each step; marks are None if the file has none."""

    name: str
    channels: tuple[str, ...]
    values: Floats
    marks: tuple[Json, ...] | None
    target: int


def windows_of(table: Table, cut: Windows, *, label: str | None = None, split: str | None = None) -> Examples:
    """Cut the recording of a table into windows; splits are consecutive in time (80/10/10).

    Windows with marks lie inside their split; for a forecast, only the target must, and the window reaches back.
    """
    recording = read_recording(table, label)
    total = len(recording.values)
    ahead = 0 if recording.marks is not None else cut.horizon
    if cut.window < 2 or cut.stride < 0 or cut.horizon < 1 or cut.window + ahead > total:
        raise InputError(
            phrase("errors.datasets.windows_table", table=table.name),
            expected=phrase("errors.datasets.window_steps", total=total - ahead),
            got=phrase("errors.datasets.window_horizon", window=cut.window, ahead=ahead),
            remedy="--window N",
        )
    low, high = _part(split or "all", total)
    step = cut.step(marked=recording.marks is not None)
    items = [
        _window(recording, start, cut, ahead)
        for start in range(0, total - cut.window - ahead + 1, step)
        if low <= (start + cut.window if ahead else start) and start + cut.window + ahead <= high
    ]
    if not items:
        raise NoExamples(
            phrase("errors.datasets.split_split", split=repr(split)),
            expected=phrase("errors.datasets.at_least_one_window"),
            got=phrase("errors.common.none"),
            remedy=phrase("errors.datasets.smaller_window"),
        )
    labels: tuple[str, ...] = ()
    if recording.marks is not None:
        labels = (
            ("normal", "anomaly")
            if set(recording.marks) <= {0, 1}
            else tuple(sorted(map(str, {e.label for e in items})))
        )
    note = Message.of(
        "data.recording_windows",
        name=table.name,
        steps=total,
        channels=len(recording.channels),
        window=cut.window,
        every=step,
        split=repr(split or "all"),
        n=len(items),
    )
    return Examples(
        table.name, tuple(items), labels, (*table.notes, note), columns=recording.channels, modality="series"
    )


def read_recording(table: Table, label: str | None = None) -> Recording:
    """Read every step; refuse a table with unequal steps."""
    rows = [row for row in table.walk(None) if not row.problem]
    if not rows:
        raise InputError(
            phrase("errors.common.file_place", place=table.name),
            expected=phrase("errors.datasets.one_row_per_step"),
            got=phrase("errors.datasets.no_rows"),
        )
    names = {column.strip().lower(): column for column in reversed(table.columns)}
    time = next((names[name] for name in TIMES if name in names), None)
    if label is not None and label not in table.columns:
        raise InputError(
            phrase("errors.datasets.column_name", name=repr(label), table=table.name),
            expected=", ".join(table.columns),
            got=phrase("errors.datasets.no_such_column"),
        )
    mark = label or next((names[name] for name in MARKS if name in names), None)
    if time is not None:
        _refuse_irregular(table, [(row.number, row.values.get(time)) for row in rows])
    numbers = {column: _numbers([row.values.get(column) for row in rows]) for column in table.columns if column != time}
    marks = None if mark is None else _marks([row.values.get(mark) for row in rows], numbers.get(mark))
    channels = tuple(
        c for c, values in numbers.items() if values is not None and (c != mark or marks is None) and c != "split"
    )
    if not channels:
        raise InputError(
            phrase("errors.common.file_place", place=table.name),
            expected=phrase("errors.datasets.columns_numbers_one_per_channel"),
            got=", ".join(table.columns),
        )
    values = np.stack([_whole(table, c, numbers[c], [row.number for row in rows]) for c in channels], axis=1)
    target = channels.index(mark) if mark in channels else 0
    return Recording(table.name, channels, values, marks, target)


def _window(recording: Recording, start: int, cut: Windows, ahead: int) -> Example:
    stop = start + cut.window
    inputs = {"series": frozen(recording.values[start:stop])}
    ident, group = f"step-{start:07d}", f"steps {start // cut.window * cut.window} and on"
    if recording.marks is None:
        following: Json = recording.values[stop : stop + ahead, recording.target].tolist()
        return Example(ident, inputs, following, group=group)
    marks = recording.marks[start:stop]
    if set(recording.marks) <= {0, 1}:
        positions = [i for i, value in enumerate(marks) if value]
        return Example(ident, inputs, int(bool(positions)), _runs(positions) if positions else None, group)
    return Example(ident, inputs, Counter(map(str, marks)).most_common(1)[0][0], group=group)


def _runs(steps: Sequence[int]) -> tuple[tuple[float, ...], ...]:
    """Ranges [first, last + 1) of consecutive steps.

    >>> _runs([2, 3, 7])
    ((2.0, 4.0), (7.0, 8.0))
    """
    starts = [s for i, s in enumerate(steps) if i == 0 or steps[i - 1] != s - 1]
    stops = [s + 1 for i, s in enumerate(steps) if i + 1 == len(steps) or steps[i + 1] != s + 1]
    return tuple((float(a), float(b)) for a, b in zip(starts, stops, strict=True))


def _part(split: str, total: int) -> tuple[int, int]:
    name, ends = checked(split), np.cumsum([0.0, *FRACTIONS.values()])
    if name == "all":
        return 0, total
    place = list(FRACTIONS).index(name)
    return round(float(ends[place]) * total), round(float(ends[place + 1]) * total)


def _numbers(cells: Sequence[Any]) -> list[float | None] | None:
    """Cells as numbers, None for an empty one; None if a cell is not a number."""
    numbers: list[float | None] = []
    for cell in cells:
        if cell is None or (isinstance(cell, str) and not cell.strip()):
            numbers.append(None)
            continue
        try:
            numbers.append(float(cell))
        except (TypeError, ValueError):
            return None
    return numbers


def _whole(table: Table, column: str, numbers: list[float | None] | None, lines: Sequence[int]) -> NDArray[np.float64]:
    values = np.array([np.nan if v is None else v for v in numbers or []], np.float64)
    if not np.isfinite(values).all():
        at = int(np.flatnonzero(~np.isfinite(values))[0])
        raise InputError(
            phrase("errors.datasets.of_noun", noun=table.counted, lines=lines[at], table=table.name),
            expected=phrase("errors.datasets.number_in_channel", column=repr(column)),
            got=phrase("errors.common.none"),
            remedy=phrase("errors.datasets.interpolate_or_drop_missing_steps"),
        )
    return values


def _marks(cells: Sequence[Any], numbers: list[float | None] | None) -> tuple[Json, ...] | None:
    """Return one mark per step; None if the column holds measured numbers, which are then the forecast target."""
    if numbers is None:
        return tuple("" if cell is None else str(cell) for cell in cells)
    if all(v in (0.0, 1.0) for v in numbers):
        return tuple(int(v or 0) for v in numbers)
    return None


def _refuse_irregular(table: Table, cells: Sequence[tuple[int, Any]]) -> None:
    times = np.array([_seconds(cell, table, number) for number, cell in cells])
    steps = np.diff(times)
    if not len(steps) or any(bool(((steps >= low) & (steps <= high)).all()) for low, high in CALENDAR):
        return
    usual = float(np.median(steps))
    uneven = np.flatnonzero((np.abs(steps - usual) > EVEN * abs(usual)) | (steps <= 0))
    if len(uneven):
        at = int(uneven[0])
        subject = phrase("errors.datasets.of_noun", noun=table.counted, lines=cells[at + 1][0], table=table.name)
        if usual < 0:
            raise InputError(
                subject,
                expected=phrase("errors.datasets.times_that_ascend"),
                got=phrase("errors.datasets.step_back", steps=steps[at]),
                remedy=phrase("errors.datasets.sort_rows_by_time"),
            )
        raise InputError(
            subject,
            expected=phrase("errors.datasets.regular_recording_one_step_after", usual=usual),
            got=phrase("errors.datasets.step_steps_irregular", steps=steps[at], n=len(uneven), n_2=len(steps)),
            remedy=phrase("errors.datasets.resample_recording_regular_grid"),
        )


def _seconds(cell: Any, table: Table, number: int) -> float:
    """Return a number as it is, a date in seconds; dates without a time zone are UTC, which no summer time shifts."""
    try:
        return float(cell)
    except (TypeError, ValueError):
        pass
    try:
        moment = datetime.fromisoformat(str(cell).strip())
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except ValueError:
        raise InputError(
            phrase("errors.datasets.of_noun", noun=table.counted, lines=number, table=table.name),
            expected=phrase("errors.datasets.time_number_or_date"),
            got=repr(cell),
        ) from None
