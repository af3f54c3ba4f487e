"""Word vectors from a text file: a word and its numbers on each line, as word2vec, GloVe and fastText write them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from regard.errors import InputError


def word_vectors(path: str | Path, words: Sequence[str], size: int) -> dict[int, Tensor]:
    """Place of a word -> its vector (size,), for those of `words` that the file has.

    A first line with the number of words and of numbers is skipped; of a word that comes twice the first line counts.
    """
    file = Path(path).expanduser()
    places = {word: i for i, word in enumerate(words)}
    found: dict[int, Tensor] = {}
    try:
        with file.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                word, *values = line.rstrip().split(" ")
                if number == 1 and len(values) == 1:
                    continue
                place = places.get(word)
                if place is None or place in found:
                    continue
                found[place] = _vector(values, size, f"{file}, line {number}")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"word vectors {file}", expected="a text file", got=str(error)) from error
    if not found:
        raise InputError(f"word vectors {file}", expected="words of the training texts", got="none of them")
    return found


def _vector(values: Sequence[str], size: int, where: str) -> Tensor:
    try:
        vector = torch.tensor([float(v) for v in values])
    except ValueError as error:
        raise InputError(f"word vectors {where}", expected="a word and numbers", got=str(error)) from error
    if len(vector) != size or not vector.isfinite().all():
        got = f"{len(vector)} numbers" + ("" if vector.isfinite().all() else ", some not finite")
        raise InputError(f"word vectors {where}", expected=f"{size} finite numbers", got=got, remedy="--set size=...")
    return vector
