"""Input and result of a head score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regard.measures.maps import mass_on
from regard.records import Bools, Floats, Ints, Site


@dataclass(frozen=True, slots=True)
class View:
    """Attention rows of one site for one example, with facts about its queries and keys.

    weights (head, query, key). rows: positions of the queries on the query axis. allowed (query, key): visibility under
    the mask. same_axis: queries and keys are positions of one sequence. Tokens are ids, -1 for none. special (key,):
    not written by the user. count (key,): occurrences of the token in the corpus.
    """

    site: Site
    weights: Floats
    rows: Ints
    allowed: Bools
    same_axis: bool
    query_tokens: Ints
    key_tokens: Ints
    special: Bools
    count: Ints

    @property
    def offset(self) -> Ints:
        """(query, key) position of the key relative to the query."""
        away: Ints = np.arange(self.weights.shape[2]) - self.rows[:, None]
        return away

    @property
    def same(self) -> Bools:
        """(query, key) mask of equal, non-special tokens."""
        equal: Bools = (self.query_tokens[:, None] == self.key_tokens) & (self.key_tokens >= 0) & ~self.special
        return equal

    def none(self) -> Bools:
        """(query, key) empty mask, for sites where a score is undefined."""
        return np.zeros(self.allowed.shape, np.bool_)


@dataclass(frozen=True, slots=True)
class Tally:
    """Score per head and row, its null (uniform or shuffled attention of the same length) with variance.

    defined: the rows with a score. key_mask: the keys, if the score is a mass.
    """

    value: Floats
    null: Floats
    variance: Floats
    defined: Bools
    key_mask: Bools | None = None


def on_keys(view: View, key_mask: Bools) -> Tally:
    """Tally the mass on selected keys (query, key) against rows shuffled among the allowed keys."""
    mass = mass_on(view.weights, key_mask, view.allowed)
    return Tally(mass.value, mass.null, mass.variance, mass.defined, key_mask & view.allowed)


def plain(value: Floats, null: Floats, defined: Bools) -> Tally:
    """Tally a number that is not a mass; its null is uniform attention, without variance."""
    return Tally(value, np.broadcast_to(null, value.shape), np.zeros(value.shape), defined)
