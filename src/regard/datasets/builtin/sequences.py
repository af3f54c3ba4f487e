"""`sequences`: copying, reversing or sorting a row of symbols."""

from __future__ import annotations

from typing import Literal

import numpy as np

from regard.datasets.alignments import Piece, aligned
from regard.datasets.examples import Examples
from regard.datasets.generated import Draft, Drawn, generated, note
from regard.errors import InputError, phrase
from regard.registry import method

SYLLABLES = tuple(a + b for b in "aeiou" for a in "bcdfghjklmnprstvwz")
Task = Literal["copy", "reverse", "sort"]


@method("dataset", modality="text", licence="Apache-2.0", package="", real=False)
def sequences(
    *,
    split: str = "test",
    n: int = 2000,
    seed: int = 0,
    task: Task = "reverse",
    symbols: int = 30,
    shortest: int = 3,
    longest: int = 12,
) -> Examples:
    """Generated syllable rows ("ba ko mi") with the copied, reversed or sorted row as label, and the alignment.

    symbols: how many different syllables there are. shortest, longest: syllables in a row. Equal syllables keep their
    order when sorted.

    >>> one = sequences(n=1, longest=4)[0]
    >>> one.inputs["text"], one.label, one.alignment[0]
    ('wa ha ta', 'ta ha wa', (6, 8, 0, 2))
    """
    if task not in ("copy", "reverse", "sort"):
        raise InputError("sequences.task", expected=phrase("errors.datasets.copy_reverse_or_sort"), got=repr(task))
    if not 2 <= symbols <= len(SYLLABLES) or not 1 <= shortest <= longest:
        problem = f"symbols={symbols}, shortest={shortest}, longest={longest}"
        raise InputError(
            "sequences", expected=phrase("errors.datasets.symbols_shortest_longest", n=len(SYLLABLES)), got=problem
        )

    def draw(rng: np.random.Generator, number: int) -> Drawn:
        length = int(rng.integers(shortest, longest + 1))
        words = [SYLLABLES[i] for i in rng.integers(symbols, size=length)]

        def make() -> list[Draft]:
            row = [Piece(word, (at,)) for at, word in enumerate(words)]
            target = {"copy": row, "reverse": row[::-1], "sort": sorted(row, key=lambda piece: piece.text)}[task]
            text, label, links = aligned(_spaced(row), _spaced(target))
            return [Draft({"text": text}, label, slices={"length": str(length)}, alignment=links)]

        return Drawn(" ".join(words), make)

    items = generated("sequences", draw, split=split, n=n, seed=seed, settings=(task, symbols, shortest, longest))
    return Examples("sequences", items, (), (note("rows", n, split=split, seed=seed, known="alignment"),))


def _spaced(row: list[Piece]) -> list[Piece]:
    return [piece for symbol in row for piece in (Piece(" "), symbol)][1:]
