"""Word vectors from a text file: a word and its numbers on each line, as word2vec, GloVe and fastText write them."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from torch import Tensor

from regard.errors import InputError
from regard.files import open_binary

LARGEST = 64 << 30
"""Bytes: the file is read line by line, and the usual ones have 1 to 8 GB."""
LONGEST_LINE = 1 << 20
"""Characters: 4,096 numbers of 20 digits have 86,016."""


def word_vectors(path: str | Path, words: Sequence[str], size: int) -> dict[int, Tensor]:
    """Place of a word -> its vector (size,), for those of `words` that the file has.

    A first line with the number of words and of numbers is skipped; of a word that comes twice the first line counts.
    """
    file = Path(path).expanduser()
    places = {word: i for i, word in enumerate(words)}
    vectors: dict[int, Tensor] = {}
    try:
        with io.TextIOWrapper(open_binary(file, f"word vectors {file}", LARGEST), encoding="utf-8") as lines:
            for number, line in enumerate(_lines(lines, file), 1):
                word, *values = line.rstrip().split(" ")
                if number == 1 and len(values) == 1:
                    continue
                place = places.get(word)
                if place is None or place in vectors:
                    continue
                vectors[place] = _vector(values, size, f"{file}, line {number}")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"word vectors {file}", expected="a text file", got=str(error)) from error
    if not vectors:
        raise InputError(f"word vectors {file}", expected="words of the training texts", got="none of them")
    return vectors


def _lines(lines: io.TextIOWrapper, file: Path) -> Iterator[str]:
    while line := lines.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise InputError(f"word vectors {file}", expected="a word and its numbers on each line", got="longer lines")
        yield line


def _vector(values: Sequence[str], size: int, where: str) -> Tensor:
    try:
        vector = torch.tensor([float(v) for v in values])
    except ValueError as error:
        raise InputError(f"word vectors {where}", expected="a word and numbers", got=str(error)) from error
    if len(vector) != size or not vector.isfinite().all():
        problem = f"{len(vector)} numbers" + ("" if vector.isfinite().all() else ", some not finite")
        remedy = "--set size=..."
        raise InputError(f"word vectors {where}", expected=f"{size} finite numbers", got=problem, remedy=remedy)
    return vector
