"""Single-token flips ranked by gradient, written as texts."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from regard.attacks._lockstep import GradientReply
from regard.attacks._text import Text, Words, with_word
from regard.desk.questions import token_ids, vocabulary
from regard.measures.ranking import order
from regard.models.read.words import word_spans
from regard.protocols import Case
from regard.records import Floats

SHARE = 6
OVERSAMPLING = 4
"""Ratio of tried to requested exchanges, since some tokenize differently."""


class Flips:
    """The vocabulary of a model as candidates for token flips."""

    def __init__(self, case: Case) -> None:
        self._case, lexicon = case, vocabulary(case)
        # of tokens that are written alike (other cases) the first one is enough; a token that is several words is none
        self._kept = [k for k, text in enumerate(lexicon.texts) if text.isalpha()]
        self._texts = [lexicon.texts[k] for k in self._kept]
        self._ids = lexicon.ids[self._kept]
        self._begins = lexicon.begins[self._kept]
        self._vectors = lexicon.vectors[self._kept]
        self._at = {int(v): k for k, v in enumerate(self._ids)}
        self._every = dict(zip(lexicon.ids.tolist(), range(len(lexicon.ids)), strict=True))
        self._all_vectors, self._all_begins = lexicon.vectors, lexicon.begins

    def promises(self, slope: GradientReply, at: int) -> Floats:
        """Return (vocabulary,) gradient . (E_v - e_i) for the token at one position; -inf for impossible tokens."""
        gain = self._vectors @ slope.gradient[at]
        token = int(slope.tokens[at])
        current = self._every.get(token)
        gain = gain - (self._all_vectors[current] @ slope.gradient[at] if current is not None else 0.0)
        begins = True if current is None else bool(self._all_begins[current])
        fits = (self._begins == begins) & (self._ids != token)
        return np.where(fits, gain, -np.inf).astype(np.float64)

    def best(
        self, text: Text, words: Words, slope: GradientReply, many: int, tried: Collection[Words] = ()
    ) -> tuple[list[Words], int]:
        """Return the texts to query, and how many were dropped because they tokenize differently.

        No place gets more than a sixth of them: the first-order score favours a few long vectors everywhere alike.
        """
        surface = text.written(words)
        spans, owners = word_spans(surface), list(text.origin(words))
        if len(spans) != len(owners):  # an exchange joined words: nothing can be said about places any more
            return [], 0
        candidates: list[tuple[float, int, int, int]] = []
        room = len(text.changed(words)) < text.most
        for at in np.flatnonzero(slope.units.free & (slope.units.part == 0)):
            start, stop = map(int, slope.units.places[at])
            k = next((k for k, (a, b) in enumerate(spans) if a <= start and stop <= b and stop > start), None)
            if k is None or owners[k] not in text.open or not (room or words[owners[k]] != text.words[owners[k]]):
                continue
            gain = self.promises(slope, int(at))
            each = min(len(gain) - 1, max(2, many // SHARE) + len(tried))
            few = np.sort(np.argpartition(-gain, each)[:each])
            candidates += [(float(gain[v]), int(at), k, int(v)) for v in few if np.isfinite(gain[v])]
        if not candidates:
            return [], 0
        ranked = [candidates[j] for j in order(np.array([f[0] for f in candidates]))][: OVERSAMPLING * many]
        flips: dict[Words, tuple[int, int]] = {}
        for _, at, k, v in ranked:
            (a, b), (start, stop) = spans[k], map(int, slope.units.places[at])
            piece = self._texts[v].capitalize() if surface[start : start + 1].isupper() else self._texts[v]
            new = with_word(words, owners[k], surface[a:start] + piece + surface[stop:b])
            if new != words and new not in flips and new not in tried and text.allows(new):
                flips[new] = (at, int(self._ids[v]))
        return self._read_as_meant(text, slope, flips, many)

    def _read_as_meant(
        self, text: Text, slope: GradientReply, made: dict[Words, tuple[int, int]], many: int
    ) -> tuple[list[Words], int]:
        unambiguous: list[Words] = []
        dropped = 0
        for new, (at, v) in made.items():
            if len(unambiguous) == many:
                break
            meant = slope.tokens.copy()
            meant[at] = v
            # nothing is asked of the model here: the text is only read
            read = token_ids(self._case, text.made(new))
            if np.array_equal(read, meant):
                unambiguous.append(new)
            else:
                dropped += 1
        return unambiguous, dropped
