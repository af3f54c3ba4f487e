"""Searches over the words of a text; each is a generator of requests (see `_lockstep`)."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from itertools import combinations, product
from typing import Literal

import numpy as np

from regard.attacks._characters import Substitutes
from regard.attacks._goal import TIE
from regard.attacks._lockstep import Answer, GradientReply, GradientRequest, ProbeRequest, Question, Search
from regard.attacks._text import Text, Words, with_word
from regard.measures.ranking import order
from regard.models.read.words import aggregate
from regard.records import Floats, Units

Importance = Literal["deletion", "gradient"]
Ranked = Generator[Question, Answer, list[int]]
BACK = 6
"""Single-word changes that the second round starts from."""


def ranked(text: Text, importance: Importance) -> Ranked:
    """Rank the changeable words by importance: effect of deletion, or gradient."""
    if importance == "gradient":
        slope = yield GradientRequest(text.words)
        assert isinstance(slope, GradientReply)
        steep = by_word(np.linalg.norm(slope.gradient, axis=1), slope.units, text)
        return [text.open[k] for k in order(steep[text.open])]
    if len(text.words) < 2:
        return list(text.open)
    scores = yield ProbeRequest([with_word(text.words, i, "") for i in text.open])
    assert isinstance(scores, np.ndarray)
    finite = np.where(np.isfinite(scores), scores, -1e9)
    return [text.open[k] for k in order(finite)]


def by_word(values: Floats, units: Units, text: Text) -> Floats:
    """Return (words,) sums over the tokens of each word of the first text."""
    groups = np.full(len(units), -1, np.int64)
    starts = np.array([a for a, _ in text.spans])
    for k in np.flatnonzero(units.free & (units.part == 0)):
        groups[k] = int(np.searchsorted(starts, units.places[k][0], "right")) - 1
    by_place = np.zeros(len(text.words))
    summed = aggregate(np.asarray(values, np.float64), groups)
    by_place[: len(summed)] = summed
    return by_place


def greedy(text: Text, instead: Substitutes, importance: Importance) -> Search:
    """Substitute word after word by importance, each with the best substitute that helps.

    If that fails and queries are left, a second round tries every remaining single change of the original text, and
    continues greedily from the best of them: importance may have been wrong about the first word.
    """
    places = yield from ranked(text, importance)
    current, score = text.words, -np.inf
    single: dict[tuple[int, str], float] = {}
    for i in places:
        if len(text.changed(current)) >= text.most:
            break
        substitutes = [w for w in instead(text.words[i]) if text.allows(with_word(current, i, w))]
        scores = yield [with_word(current, i, w) for w in substitutes]
        assert isinstance(scores, np.ndarray)
        if current == text.words:
            single |= {(i, w): float(s) for w, s in zip(substitutes, scores, strict=False)}
        if len(scores) and scores.max() > score + TIE:
            best = int(order(scores)[0])
            current, score = with_word(current, i, substitutes[best]), float(scores[best])
    rest = [(i, w) for i in places for w in instead(text.words[i]) if (i, w) not in single]
    rest = [(i, w) for i, w in rest if text.allows(with_word(text.words, i, w))]
    scores = yield [with_word(text.words, i, w) for i, w in rest]
    assert isinstance(scores, np.ndarray)
    single |= {pair: float(s) for pair, s in zip(rest, scores, strict=False)}
    pairs = list(single)
    by_score = [pairs[k] for k in order(np.array([single[p] for p in pairs]))] if pairs else []
    for i, w in by_score[:BACK]:
        yield from _onwards(text, instead, with_word(text.words, i, w), by_score)


def _onwards(text: Text, instead: Substitutes, words: Words, by_score: Sequence[tuple[int, str]]) -> Search:
    """Continue greedily from one changed text until no further change is allowed."""
    score = -np.inf
    while len(text.changed(words)) < text.most:
        free = [(i, w) for i, w in by_score if words[i] == text.words[i]]
        variants = [variants for i, w in free if text.allows(variants := with_word(words, i, w))]
        scores = yield variants
        assert isinstance(scores, np.ndarray)
        if not len(scores) or not scores.max() > score + TIE:
            return
        best = int(order(scores)[0])
        words, score = variants[best], float(scores[best])


def beam(text: Text, instead: Substitutes, importance: Importance, width: int, words: int) -> Search:
    """Beam search: keep the `width` best texts per round over the `words` most important words."""
    places = (yield from ranked(text, importance))[:words]
    beams: list[Words] = [text.words]
    for _ in range(text.most):
        variants = [
            new
            for one in beams
            for i in places
            if one[i] == text.words[i]
            for w in instead(text.words[i])
            if text.allows(new := with_word(one, i, w))
        ]
        variants = list(dict.fromkeys(variants))
        if not variants:
            return
        scores = yield variants
        assert isinstance(scores, np.ndarray)
        beams = [variants[k] for k in order(scores)[:width]]


def exhaustive(text: Text, instead: Substitutes, most: int) -> Search:
    """Try every change of one word, then two, up to `most`, in text order; the oracle of other searches."""
    for many in range(1, min(most, text.most) + 1):
        waiting: list[Words] = []
        for places in combinations(text.open, many):
            for combination in product(*(instead(text.words[i]) for i in places)):
                words = text.words
                for i, w in zip(places, combination, strict=True):
                    words = with_word(words, i, w)
                if text.allows(words):
                    waiting.append(words)
            if len(waiting) >= 256:
                yield waiting
                waiting = []
        yield waiting
