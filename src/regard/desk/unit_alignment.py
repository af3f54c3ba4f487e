"""Align the units of a changed example with the original: sub-words -> words -> original words -> original units.

The pieces of a changed word are mapped onto the pieces of its original word, in order: piece r of k maps to piece
floor(r m / k) of m. An unchanged word has the same pieces, so they correspond one to one; a misspelt word with more
pieces maps all of them to the pieces of its original. So relevance never leaves its word: sums over words
(`Units.groups` of the original) are exact, sums over pieces are a convention. Inserted words have no origin.
"""

from __future__ import annotations

import numpy as np

from regard.errors import InputError, phrase
from regard.models.read.words import word_spans
from regard.records import Example, Ints, Perturbed, Units

_FIELDS = ("text", "text_pair")


def unit_origins(before: Units, after: Units, original: Example, made: Perturbed) -> Ints:
    """(n,): original unit of each unit of the changed example; -1 for none."""
    if made.origin is None or after.place_kind != "span":
        if len(before) != len(after):
            raise InputError(
                phrase("errors.desk.example_under_noise", original=repr(original.id)),
                expected=phrase("errors.desk.units_in_same_places", n=len(before)),
                got=phrase("errors.desk.units_n", n=len(after)),
                remedy=phrase("errors.desk.return_origin_from_noise"),
            )
        return np.arange(len(after))
    words, original_words = words_of_units(after, made.example), words_of_units(before, original)
    origin = np.append(made.origin, -1)[words]  # word -1 (a special unit) reads the appended -1
    origins = np.full(len(after), -1)
    for word in np.unique(origin[origin >= 0]):
        pieces, places = np.flatnonzero(origin == word), np.flatnonzero(original_words == word)
        if len(places):
            origins[pieces] = places[np.arange(len(pieces)) * len(places) // len(pieces)]
    special_after, special_before = np.flatnonzero(after.special), np.flatnonzero(before.special)
    if [after.names[i] for i in special_after] == [before.names[i] for i in special_before]:
        origins[special_after] = special_before
    return origins


def words_of_units(units: Units, example: Example) -> Ints:
    """(n,) the word that each unit belongs to, counted over both texts; -1 for special units.

    A unit over several words belongs to the one it shares most characters with; the first wins a tie.
    """
    word_indices = np.full(len(units), -1)
    first = 0
    for part, name in enumerate(_FIELDS):
        text = example.inputs.get(name)
        spans = np.array(word_spans(text) if isinstance(text, str) else [], np.float64).reshape(-1, 2)
        positions = np.flatnonzero((units.part == part) & units.free)
        if len(spans) and len(positions):
            starts, stops = units.places[positions, :1], units.places[positions, 1:]
            shared = np.minimum(stops, spans[:, 1]) - np.maximum(starts, spans[:, 0])
            best = shared.argmax(1)
            word_indices[positions] = np.where(shared.max(1) > 0, best + first, -1)
        first += len(spans)
    return word_indices
