"""Word vectors from a text file: a word and its numbers on each line, as word2vec, GloVe and fastText write them."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from torch import Tensor

from regard.errors import InputError, Text, phrase
from regard.files import open_binary

LARGEST = 64 << 30
"""Maximum bytes: the file is read line by line, and the usual ones have 1 to 8 GB."""
LONGEST_LINE = 1 << 20
"""Maximum characters of a line: 4,096 numbers of 20 digits have 86,016."""


def word_vectors(path: str | Path, words: Sequence[str], size: int) -> dict[int, Tensor]:
    """Place of a word -> its vector (size,), for those of `words` that the file has.

    A first line with the number of words and of numbers is skipped; of a word that comes twice the first line counts.
    """
    file = Path(path).expanduser()
    places = {word: i for i, word in enumerate(words)}
    vectors: dict[int, Tensor] = {}
    try:
        with io.TextIOWrapper(
            open_binary(file, phrase("errors.training.word_vectors", file=file), LARGEST), encoding="utf-8"
        ) as lines:
            for number, line in enumerate(_lines(lines, file), 1):
                word, *values = line.rstrip().split(" ")
                if number == 1 and len(values) == 1:
                    continue
                place = places.get(word)
                if place is None or place in vectors:
                    continue
                vectors[place] = _vector(values, size, phrase("errors.common.line_path", path=file, number=number))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            phrase("errors.training.word_vectors", file=file),
            expected=phrase("errors.common.text_file"),
            got=str(error),
        ) from error
    if not vectors:
        raise InputError(
            phrase("errors.training.word_vectors", file=file),
            expected=phrase("errors.training.words_training_texts"),
            got=phrase("errors.common.none_them"),
        )
    return vectors


def _lines(lines: io.TextIOWrapper, file: Path) -> Iterator[str]:
    while line := lines.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise InputError(
                phrase("errors.training.word_vectors", file=file),
                expected=phrase("errors.training.word_and_numbers_on_each"),
                got=phrase("errors.training.longer_lines"),
            )
        yield line


def _vector(values: Sequence[str], size: int, where: Text) -> Tensor:
    try:
        vector = torch.tensor([float(v) for v in values])
    except ValueError as error:
        raise InputError(
            phrase("errors.training.word_vectors", file=where),
            expected=phrase("errors.training.word_and_numbers"),
            got=str(error),
        ) from error
    if len(vector) != size or not vector.isfinite().all():
        n = len(vector)
        problem = (
            phrase("errors.common.numbers_n", n=n)
            if vector.isfinite().all()
            else phrase("errors.training.numbers_some_not_finite", n=n)
        )
        remedy = "--set size=..."
        raise InputError(
            phrase("errors.training.word_vectors", file=where),
            expected=phrase("errors.training.finite_numbers", horizon=size),
            got=problem,
            remedy=remedy,
        )
    return vector
