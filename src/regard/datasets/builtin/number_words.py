"""`number_words`: number words, translated to digits."""

from __future__ import annotations

import numpy as np

from regard.datasets.alignments import Piece, aligned
from regard.datasets.builtin._number_names import ONES, TENS
from regard.datasets.examples import Examples
from regard.datasets.generated import Draft, Drawn, generated, note, share
from regard.errors import InputError, phrase
from regard.registry import method

SCALES = ((1_000_000, "million"), (1000, "thousand"))
LARGEST = 999_999_999


@method("dataset", modality="text", licence="Apache-2.0", package="", real=False)
def number_words(
    *, split: str = "test", n: int = 2000, seed: int = 0, largest: int = 999_999, joined: float = 0.5
) -> Examples:
    """Generated number words ("three thousand and forty-two") with the digits ("3042") as label, and the alignment.

    largest: no number is larger; short and long numbers are equally frequent. joined: share of numbers with an "and"
    where British English has one. A number belongs to one split. A figure is linked to the word that names it; zeros
    that end a number, to the word that brings them ("hundred"); a zero inside, which no word names, to nothing.

    >>> one = number_words(n=1)[0]
    >>> one.inputs["text"], one.label, one.alignment
    ('twenty', '20', ((0, 6, 0, 1), (0, 6, 1, 2)))
    """
    share("number_words.joined", joined)
    if not 9 <= largest <= LARGEST:
        raise InputError(
            "number_words.largest", expected=phrase("errors.datasets.to_largest", largest=LARGEST), got=str(largest)
        )

    def draw(rng: np.random.Generator, number: int) -> Drawn:
        figures = int(rng.integers(1, len(str(largest)) + 1))
        low, high = (0 if figures == 1 else 10 ** (figures - 1)), min(largest, 10**figures - 1)
        value = int(rng.integers(low, high + 1))
        british = bool(rng.random() < joined)
        # a quarter of them round: hundreds and thousands with nothing after them would else be rare
        if figures > 2 and rng.random() < 0.25:
            value -= value % 10 ** int(rng.integers(1, figures))

        def make() -> list[Draft]:
            text, label, links = aligned(spelled(value, british=british), figures_of(value))
            return [Draft({"text": text}, label, slices={"figures": str(len(label))}, alignment=links)]

        return Drawn(str(value), make)

    items = generated("number_words", draw, split=split, n=n, seed=seed, settings=(largest, joined))
    return Examples("number_words", items, (), (note("numbers", n, split=split, seed=seed, known="alignment"),))


def figures_of(value: int) -> list[Piece]:
    """Return the digits, each with its place: 0 for ones, 1 for tens, ..."""
    text = str(value)
    return [Piece(figure, (len(text) - 1 - i,)) for i, figure in enumerate(text)]


def spelled(value: int, *, british: bool = True) -> list[Piece]:
    """Return a number in words, each piece with the places it fills.

    >>> "".join(p.text for p in spelled(300_042))
    'three hundred thousand and forty-two'
    """
    if value == 0:
        return [Piece(ONES[0], (0,))]
    words: list[list[Piece]] = []
    rest = value
    for scale, name in SCALES:
        count, rest = divmod(rest, scale)
        if count:
            place = len(str(scale)) - 1
            words += _hundreds(count, place, british=british)
            words.append([Piece(name, () if rest else tuple(range(place)))])
    if rest:
        words += [[Piece("and")]] * (british and rest < 100 and bool(words)) + _hundreds(rest, 0, british=british)
    spaced = [piece for word in words for piece in (Piece(" "), *word)]
    return spaced[1:]


def _hundreds(value: int, place: int, *, british: bool) -> list[list[Piece]]:
    """Return the words of 1..999, `place` places from the right."""
    words: list[list[Piece]] = []
    hundreds, rest = divmod(value, 100)
    if hundreds:
        words.append([Piece(ONES[hundreds], (place + 2,))])
        words.append([Piece("hundred", () if rest else (place, place + 1))])
        words += [[Piece("and")]] * (british and rest > 0)
    tens, ones = divmod(rest, 10)
    if 0 < rest < 10:
        words.append([Piece(ONES[rest], (place,))])
    elif 10 <= rest < 20:
        words.append([Piece(ONES[rest], (place, place + 1))])
    elif rest and not ones:
        words.append([Piece(TENS[tens], (place, place + 1))])
    elif rest:
        words.append([Piece(TENS[tens], (place + 1,)), Piece("-"), Piece(ONES[ones], (place,))])
    return words
