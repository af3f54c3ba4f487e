"""Nearest words in a model's own embeddings: a source of replacements without a file."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from regard.models.ask.lexicon import lexicon
from regard.perturbations.sources import Source
from regard.protocols import Lexicon, Model


def neighbours(model: Model, count: int, least: float) -> Source:
    """Return up to `count` whole words with a cosine of at least `least`, the nearest first."""
    return _of(model.fingerprint, _KeyedModel(model), count, least)


class _KeyedModel:
    """Model argument that a cache key ignores; its fingerprint identifies it."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _KeyedModel)

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=4)
def _of(fingerprint: str, keyed: _KeyedModel, count: int, least: float) -> Source:
    words, unit = _words(lexicon(keyed.model))
    place = {word: i for i, word in enumerate(words)}

    @lru_cache(maxsize=65536)
    def near(word: str) -> tuple[str, ...]:
        if word not in place:
            return ()
        cosine = unit @ unit[place[word]]
        cosine[place[word]] = -1
        best = np.argsort(-cosine, kind="stable")[:count]
        return tuple(words[i] for i in best if cosine[i] >= least)

    return near


def _words(lexicon: Lexicon) -> tuple[list[str], np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    """Return distinct whole words of letters, and their directions."""
    first: dict[str, int] = {}
    for i, (text, begins) in enumerate(zip(lexicon.texts, lexicon.begins, strict=True)):
        if begins and text.isalpha() and len(text) > 1 and text.islower():
            first.setdefault(text, i)
    vectors = np.asarray(lexicon.vectors, np.float32)[list(first.values())]
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return list(first), vectors / np.maximum(lengths, 1e-12)
