"""Axes of a site: its queries and keys as tokens, special ones, and the keys that the mask permits."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from regard.models.ask.encoder_decoder import encoder_decoder
from regard.models.read.encoded import Item
from regard.protocols import Encoded, Model, Target
from regard.records import Bools, Floats, Ints, Site

SAME = ("self", "causal", "windowed")


@dataclass(slots=True)
class Corpus:
    """Tokens as numbers and how often each occurs; ids where the model has them, else the units' names."""

    counts: Counter[int] = field(default_factory=Counter)
    _numbers: dict[str, int] = field(default_factory=dict)

    def tokens(self, encoded: Encoded) -> Ints:
        """(unit,): token of each unit; -1 if units are places and not tokens (patches, steps, columns)."""
        units = encoded.units
        if units.place_kind != "span":
            return np.full(len(units), -1)
        ids = encoded.arrays.get("input_ids") if isinstance(encoded, Item) else None
        if ids is not None and len(ids) == len(units):
            return np.asarray(ids, np.int64)
        return np.array([self._numbers.setdefault(name, len(self._numbers)) for name in units.names], np.int64)

    def add(self, encoded: Encoded) -> None:
        self.counts.update(self.tokens(encoded)[encoded.units.free].tolist())


@dataclass(frozen=True, slots=True)
class Axes:
    """Axes of one site for one example: see `View`."""

    same: bool
    query_tokens: Ints
    key_tokens: Ints
    special: Bools
    count: Ints


def axes_of(
    model: Model, corpus: Corpus, encoded: Encoded, target: Target, site: Site, queries: int, keys: int
) -> Axes:
    """Return the query and key axis of this site.

    In an encoder-decoder, the queries of causal and cross sites belong to the decoder, whose row t reads the token
    written at t - 1 (the first reads the start token, which is not a token of the text).
    """
    same = site.kind in SAME and queries == keys
    encoder = _placed(encoded.units.keys, corpus.tokens(encoded), keys, -1)
    special = _placed(encoded.units.keys, encoded.units.special, keys, 1).astype(np.bool_)
    asking = encoder if same else np.full(queries, -1)
    if site.kind in ("causal", "cross") and encoder_decoder(model):
        output_ids = [int(str(t)) for t in target] if isinstance(target, list) else []
        if queries == len(output_ids):
            asking = np.array([-1, *output_ids[:-1]], np.int64)
        if site.kind == "causal":
            marks = set(encoder[special].tolist())
            encoder = asking
            special = np.array([t in marks or t < 0 for t in asking.tolist()], np.bool_)
    if len(encoder) != keys:
        encoder, special = np.full(keys, -1), np.zeros(keys, np.bool_)
    count = np.array([corpus.counts.get(t, 0) for t in encoder.tolist()], np.int64)
    return Axes(same, asking, encoder, special, count)


def _placed(places: Ints, values: Ints | Bools, size: int, fill: int) -> Ints:
    """Values of units on the key axis; `fill` where a key belongs to no unit, or nothing where units do not fit."""
    inside = places >= 0
    if not inside.any() or int(places.max()) >= size:
        return np.zeros(0, np.int64)
    out = np.full(size, fill, np.int64)
    out[places[inside]] = np.asarray(values, np.int64)[inside]
    return out


def allowed_keys(site: Site, weights: Floats, rows: Ints, keys: int, queries: int) -> Bools:
    """Return (row, key) the mask of permitted keys.

    A window is derived from the weights: outside it every head has exactly 0.
    """
    if site.kind == "causal":
        mask: Bools = np.arange(keys) <= rows[:, None] + (keys - queries)
        return mask
    if site.kind == "windowed":
        return np.asarray((weights > 0).any(0))
    return np.ones((len(rows), keys), np.bool_)
