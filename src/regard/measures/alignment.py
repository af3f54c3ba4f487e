"""Word alignment between source and translation: known links against links from attention.

A link is (source token, target token). Links of many sentences become one set with the number of the sentence in
front, (sentence, source, target): the error rate of a corpus is that of the one set, not the mean over sentences.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from regard.measures.intervals import Interval
from regard.measures.keyed_random import keyed_rng
from regard.measures.ranking import TIE, order
from regard.records import Floats

Link: TypeAlias = tuple[int, ...]
Span: TypeAlias = Sequence[int]


class Links(NamedTuple):
    """Links of one sentence. possible: every correct link. sure: those that must be found."""

    sure: frozenset[Link]
    possible: frozenset[Link]

    @property
    def targets(self) -> frozenset[int]:
        """Target tokens with a known source; others (an inserted hyphen) have none."""
        return frozenset(link[-1] for link in self.possible)


def alignment_error_rate(
    predicted: Iterable[Link], sure: Iterable[Link], possible: Iterable[Link] | None = None
) -> float:
    """1 - (|A & S| + |A & P|) / (|A| + |S|), in 0..1, 0 is best; NaN if there is nothing to compare.

    possible: None means that only the sure links are right; sure links are always possible too, and then the rate is
    1 - F1. Reference: Och & Ney 2003.

    >>> alignment_error_rate([(0, 0), (1, 2)], sure=[(0, 0), (1, 1)])
    0.5
    >>> alignment_error_rate([(0, 0), (1, 2)], sure=[(0, 0)], possible=[(1, 2), (1, 1)])
    0.0
    """
    links, must = set(predicted), set(sure)
    may = must | set(possible or ())
    size = len(links) + len(must)
    return 1 - (len(links & must) + len(links & may)) / size if size else float("nan")


class LinkCounts(NamedTuple):
    """Link counts of one sentence: predicted sure ones, predicted possible ones, all predicted, all sure."""

    sure_hits: int
    hits: int
    predicted: int
    sure: int

    @classmethod
    def of(cls, predicted: Collection[Link], truth: Links) -> LinkCounts:
        links = set(predicted)
        return cls(len(links & truth.sure), len(links & truth.possible), len(links), len(truth.sure))


def error_rate_interval(counts: Sequence[LinkCounts], *, seed: int = 0, draws: int = 2000) -> Interval:
    """The alignment error rate of many sentences as one set, with whole sentences drawn with replacement.

    >>> error_rate_interval([LinkCounts(1, 1, 1, 1), LinkCounts(0, 0, 1, 1)], draws=200).estimate
    0.5
    """
    table = np.array(counts, np.float64).reshape(-1, 4)

    def rate(sums: Floats) -> Floats:
        size = sums[..., 2] + sums[..., 3]
        hits = (sums[..., 0] + sums[..., 1]) / np.where(size > 0, size, np.nan)
        return np.asarray(1 - hits)

    whole = float(rate(table.sum(0)))
    if len(table) < 2:
        return Interval(whole, float("nan"), float("nan"), 0.95)
    rng = keyed_rng(seed, "alignment error rate", len(table))
    samples = rng.integers(len(table), size=(draws, len(table)))
    rates = rate(table[samples].sum(1))
    low, high = np.nanquantile(rates, (0.025, 0.975)) if np.isfinite(rates).any() else (np.nan, np.nan)
    return Interval(whole, float(low), float(high), 0.95)


def strongest(weights: ArrayLike, targets: Collection[int] | None = None, *, tolerance: float = TIE) -> frozenset[Link]:
    """Link each target token to the source token it attends to most; the first one on ties.

    weights: (target, source). targets: None means all; `Links.targets` skips those without a known source.

    >>> sorted(strongest([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]))
    [(0, 0), (0, 2), (1, 1)]
    """
    best = order(weights, tolerance=tolerance)[..., 0]
    return frozenset((int(i), j) for j, i in enumerate(best) if targets is None or j in targets)


def token_links(
    alignment: Iterable[tuple[int, int, int, int]], source: Sequence[Span], target: Sequence[Span]
) -> Links:
    """Convert links of characters (`Example.alignment`) to links of tokens, for any tokenizer.

    source, target: the character span of each token; an empty span (a special token) has no links. Two tokens are
    linked if they share a character with the two ends of a link; surely, if the target token has no other link. So
    linking every target token to one right source token gives an error rate of 0, even between the letters of "May" and
    the digits of "05".

    >>> token_links([(0, 3, 0, 2), (4, 5, 3, 4)], [(0, 3), (4, 5)], [(0, 1), (1, 2), (3, 4)]).sure == {
    ...     (0, 0), (0, 1), (1, 2)}
    True
    """
    possible = set()
    for start, end, first, last in alignment:
        here = [i for i, span in enumerate(source) if max(start, span[0]) < min(end, span[1])]
        targets = [j for j, span in enumerate(target) if max(first, span[0]) < min(last, span[1])]
        possible |= {(i, j) for i in here for j in targets}
    counts: dict[int, int] = {}
    for _, j in possible:
        counts[j] = counts.get(j, 0) + 1
    return Links(frozenset(link for link in possible if counts[link[1]] == 1), frozenset(possible))
