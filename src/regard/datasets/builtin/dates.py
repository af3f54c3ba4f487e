"""`dates`: dates in many formats, translated to ISO format."""

from __future__ import annotations

import re
from datetime import date, timedelta

import numpy as np

from regard.datasets.alignments import Piece, aligned
from regard.datasets.builtin._number_names import ONES, ORDINAL_TENS, ORDINALS, TENS
from regard.datasets.examples import Examples
from regard.datasets.generated import Draft, Drawn, generated, note, share
from regard.errors import InputError, phrase
from regard.registry import method

_MONTHS = "January February March April May June July August September October November December"
MONTHS = tuple(_MONTHS.split())
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
FORMATS = (
    "{d} {month} {year}",
    "{month} {d}, {year}",
    "{nth} {month} {year}",
    "{month} {nth}, {year}",
    "the {nth} of {month} {year}",
    "{d} {mon} {year}",
    "{mon} {d}, {year}",
    "{dd}-{mon}-{year}",
    "{d}/{m}/{year}",
    "{dd}/{mm}/{year}",
    "{d}.{m}.{year}",
    "{dd}.{mm}.{year}",
    "{year}/{mm}/{dd}",
    "{year} {month} {d}",
    "{year}, {nth} of {month}",
    "{weekday}, {d} {month} {year}",
    "{weekday} the {nth} of {month}, {year}",
    "{wkd} {d} {mon} {year}",
    "{wkd}, {month} {d} {year}",
)
"""Formats of figures alone: day before month, or year first."""
SPOKEN = (
    "the {ordinal} of {month}, {spoken}",
    "{month} the {ordinal}, {spoken}",
    "{weekday}, the {ordinal} of {month} {spoken}",
    "the {ordinal} day of {month} in {spoken}",
)
FIRST, LAST = 1600, 2099


@method("dataset", modality="text", licence="Apache-2.0", package="", real=False)
def dates(
    *, split: str = "test", n: int = 2000, seed: int = 0, first: int = 1900, last: int = 2099, spoken: float = 0.15
) -> Examples:
    """Generated dates in 23 formats ("3 May 1979") with the ISO date ("1979-05-03") as label, and the alignment.

    first, last: years. spoken: share of dates in words ("the third of May, nineteen seventy-nine"). A date belongs to
    one split in all its spellings. Linked are the words and figures that a figure of the label comes from; weekdays
    and hyphens come from nothing. Slice "format": the spelling.

    >>> one = dates(n=3, spoken=0)[0]
    >>> one.inputs["text"], one.label
    ('Sat 18 Aug 2029', '2029-08-18')
    >>> [(one.inputs["text"][a:b], one.label[c:d]) for a, b, c, d in one.alignment][4:6]
    [('Aug', '0'), ('Aug', '8')]
    """
    share("dates.spoken", spoken)
    if not FIRST <= first <= last <= LAST:
        raise InputError(
            "dates",
            expected=f"{FIRST} <= first <= last <= {LAST}",
            got=phrase("errors.common.and_model", model=first, model_option=last),
        )
    start = date(first, 1, 1)
    days = (date(last, 12, 31) - start).days + 1

    def draw(rng: np.random.Generator, number: int) -> Drawn:
        day = start + timedelta(days=int(rng.integers(days)))
        spellings = SPOKEN if rng.random() < spoken else FORMATS
        spelling = spellings[int(rng.integers(len(spellings)))]

        def make() -> list[Draft]:
            text, label, links = aligned(spelled(day, spelling), iso(day))
            return [Draft({"text": text}, label, slices={"format": spelling}, alignment=links)]

        return Drawn(day.isoformat(), make)

    items = generated("dates", draw, split=split, n=n, seed=seed, settings=(first, last, spoken))
    return Examples("dates", items, (), (note("dates", n, split=split, seed=seed, known="alignment"),))


def iso(day: date) -> list[Piece]:
    """Return 1979-05-03 as single digits."""
    figures = [Piece(f, (f"{part}{i}",)) for part, text in _figures(day).items() for i, f in enumerate(text)]
    return [*figures[:4], Piece("-"), *figures[4:6], Piece("-"), *figures[6:]]


def spelled(day: date, spelling: str) -> list[Piece]:
    """Return a date in one of the formats, as pieces.

    >>> "".join(p.text for p in spelled(date(1979, 5, 23), SPOKEN[0]))
    'the twenty-third of May, nineteen seventy-nine'
    """
    pieces = []
    for i, part in enumerate(re.split(r"[{}]", spelling)):
        pieces += _field(day, part) if i % 2 else [Piece(part)] * bool(part)
    return pieces


def _figures(day: date) -> dict[str, str]:
    return {"y": f"{day.year:04d}", "m": f"{day.month:02d}", "d": f"{day.day:02d}"}


def _field(day: date, name: str) -> list[Piece]:
    padded = _figures(day)
    if name == "year" or name in ("dd", "mm"):
        return [Piece(figure, (f"{name[0]}{i}",)) for i, figure in enumerate(padded[name[0]])]
    if name in ("d", "m"):
        # a single figure is where the 0 before it comes from too
        if padded[name][0] == "0":
            return [Piece(padded[name][1], (f"{name}0", f"{name}1"))]
        return [Piece(figure, (f"{name}{i}",)) for i, figure in enumerate(padded[name])]
    if name == "nth":
        ending = "th" if day.day in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(day.day % 10, "th")
        return [*_field(day, "d"), Piece(ending)]
    if name in ("weekday", "wkd"):
        return [Piece(WEEKDAYS[day.weekday()][: 3 if name == "wkd" else None])]
    if name in ("month", "mon"):
        return [Piece(MONTHS[day.month - 1][: 3 if name == "mon" else None], ("m0", "m1"))]
    return _ordinal(day.day) if name == "ordinal" else _year(day.year)


def _ordinal(day: int) -> list[Piece]:
    tens, ones = divmod(day, 10)
    if day < 20:
        return [Piece(ORDINALS[day], ("d0", "d1"))]
    if not ones:
        return [Piece(ORDINAL_TENS[tens], ("d0", "d1"))]
    return [Piece(TENS[tens], ("d0",)), Piece("-"), Piece(ORDINALS[ones], ("d1",))]


def _year(year: int) -> list[Piece]:
    century, rest = divmod(year, 100)
    if century == 20 and rest < 10:
        thousand = ("y1", "y2") if rest else ("y1", "y2", "y3")
        after = [Piece(" and "), Piece(ONES[rest], ("y3",))] if rest else []
        return [Piece("two", ("y0",)), Piece(" "), Piece("thousand", thousand), *after]
    head = [Piece(ONES[century] if century < 20 else TENS[2], ("y0", "y1")), Piece(" ")]
    tens, ones = divmod(rest, 10)
    if not rest:
        return [*head, Piece("hundred", ("y2", "y3"))]
    if rest < 10:
        return [*head, Piece("oh", ("y2",)), Piece(" "), Piece(ONES[ones], ("y3",))]
    if rest < 20:
        return [*head, Piece(ONES[rest], ("y2", "y3"))]
    if not ones:
        return [*head, Piece(TENS[tens], ("y2", "y3"))]
    return [*head, Piece(TENS[tens], ("y2",)), Piece("-"), Piece(ONES[ones], ("y3",))]
