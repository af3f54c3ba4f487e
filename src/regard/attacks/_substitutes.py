"""Word-level transformations: substitutes for a word."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from regard.attacks._characters import Substitutes, misspellings
from regard.desk.questions import vocabulary
from regard.errors import InputError, phrase
from regard.files import exists, read_json
from regard.measures.ranking import order
from regard.models.read.words import word_spans
from regard.protocols import Case, Lexicon


def substitutes(case: Case, source: str, many: int) -> Substitutes:
    """Return a source of substitutes by name or file.

    source: "neighbours" (in the model's own embedding), "misspellings" (by one character), "delete", or a JSON file
    {word: [substitute, ...]}.
    """
    if source == "delete":
        return lambda word: [""]
    if source == "misspellings":
        return misspellings(many, lambda word: case.rng(None, "misspellings", word))
    if source == "neighbours":
        return _neighbours(vocabulary(case), many)
    return _dictionary(source, many)


def whole_words(lexicon: Lexicon) -> tuple[list[str], NDArray[np.float32]]:
    """Return the words that are single tokens, and their embeddings (words, features)."""
    whole = [
        i
        for i, (text, begins) in enumerate(zip(lexicon.texts, lexicon.begins, strict=True))
        if begins and len(text) > 1 and text.isalpha() and len(word_spans(text)) == 1
    ]
    return [lexicon.texts[i] for i in whole], lexicon.vectors[whole]


class _Neighbours:
    """Nearest whole words by cosine similarity of embeddings, without other cases of the word."""

    def __init__(self, lexicon: Lexicon, many: int) -> None:
        self._many = many
        self._words, vectors = whole_words(lexicon)
        self._unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        self._at = {word: i for i, word in reversed(list(enumerate(self._words)))}
        self._known: dict[str, list[str]] = {}

    def __call__(self, word: str) -> list[str]:
        key = word if word in self._at else word.lower()
        if key not in self._at:
            return []  # a word that the vocabulary does not hold whole has no vector of its own
        if key not in self._known:
            cosine = self._unit @ self._unit[self._at[key]]
            few = np.argpartition(-cosine, min(len(cosine) - 1, 2 * self._many + 8))[: 2 * self._many + 8]
            few = np.sort(few)
            ranked = [self._words[few[k]] for k in order(cosine[few].astype(np.float64))]
            different = dict.fromkeys(w for w in ranked if w.casefold() != key.casefold())
            self._known[key] = list(different)[: self._many]
        return [_cased(found, word) for found in self._known[key]]


@lru_cache(maxsize=2)
def _neighbours(lexicon: Lexicon, many: int) -> _Neighbours:
    """Return the neighbours of a model, cached: every shard attacks with the same vocabulary."""
    return _Neighbours(lexicon, many)


def _cased(found: str, like: str) -> str:
    return found.capitalize() if like[:1].isupper() and found.islower() else found


def _dictionary(source: str, many: int) -> Substitutes:
    path = Path(source).resolve()
    table = _read(str(path), path.stat().st_mtime_ns if exists(path) else 0)

    def find(word: str) -> list[str]:
        synonyms = table.get(word) or table.get(word.casefold()) or []
        return [_cased(w, word) for w in synonyms if w.casefold() != word.casefold()][:many]

    return find


@lru_cache(maxsize=8)
def _read(path: str, changed: int) -> Mapping[str, list[str]]:
    """Read the substitutes; `changed` invalidates the cache when the file is rewritten."""
    try:
        table = read_json(Path(path))
    except InputError as problem:
        raise InputError(
            phrase("errors.common.source_path", path=path),
            expected=phrase("errors.attacks.neighbours_misspellings_delete"),
            got=problem.got,
        ) from problem
    if not isinstance(table, dict) or not all(isinstance(v, list) for v in table.values()):
        raise InputError(
            phrase("errors.common.source_path", path=path),
            expected=phrase("errors.attacks.json_object"),
            got=phrase("errors.attacks.another_shape"),
        )
    return {str(k): [str(w) for w in v] for k, v in table.items()}
