"""Roles of heads, from their scores.

A head has a role only if it beats a baseline, by enough, on most resamples, after correction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.measures.keyed_random import keyed_rng
from regard.measures.significance import holm, resampled_means, upper_tail
from regard.records import Floats, Ints, Message, Site, Spec, Text
from regard.registry import entry
from regard.surveys.heads.naming import Head
from regard.surveys.heads.streaming import Streamed

DRAWS = 1000
LEVEL = 0.95
ALPHA = 0.05
STRENGTH = 0.3
"""Minimum position between the baseline (0) and all attention (1) for a head to get a role."""


@dataclass(frozen=True, slots=True)
class HeadScore:
    """Score of one head: its mean over examples with an interval over clusters, against its baseline.

    strength: (estimate - baseline) / (1 - baseline), for scores that are roles. p: probability of so large a mean under
    the baseline, corrected for all tested heads and roles (Holm); NaN for plain descriptions.
    """

    head: str
    score: str
    estimate: float
    low: float
    high: float
    n: int
    clusters: int
    undefined: int
    baseline: float
    baseline_is: Text
    strength: float
    strength_low: float
    p: float
    on: Text


@dataclass(frozen=True, slots=True)
class Role:
    """Role of a head; name "" if it beats no baseline.

    confidence: share of resamples of the examples in which this head gets this role. others: further roles: weaker
    ones, and resting places (sink, special tokens) for idle attention. resting: the role itself is such a place.
    """

    head: str
    name: str
    confidence: float
    score: HeadScore | None
    others: tuple[str, ...] = ()
    resting: bool = False


@dataclass(frozen=True, slots=True)
class Seen:
    """Result of a pass over a corpus: streamed scores, cluster of each example, description of the corpus."""

    streamed: Streamed
    clusters: Ints
    on: Text
    probe: bool = False


@dataclass(frozen=True, slots=True)
class _Known:
    """(example, head) tables of one score, the clusters of the examples, and the best fixed place if it applies."""

    value: Floats
    null: Floats
    variance: Floats
    clusters: Ints
    fixed: tuple[Message, float] | None


@dataclass(frozen=True, slots=True)
class _Column:
    """A score of all heads of a site, with its resamples (draw, head)."""

    score: str
    role: str
    resting: bool
    known: _Known
    drawn: Floats
    drawn_null: Floats
    on: Text

    @property
    def baseline(self) -> Floats:
        mean = _mean(self.known.null)
        return mean if self.known.fixed is None else np.maximum(mean, self.known.fixed[1])

    @property
    def drawn_strength(self) -> Floats:
        base = self.drawn_null if self.known.fixed is None else np.maximum(self.drawn_null, self.known.fixed[1])
        return (self.drawn - base) / np.maximum(1.0 - base, 1e-9)

    def probability(self) -> Floats:
        """(head,): one-sided p-value.

        The standard error is the larger of two: that of shuffled rows, which is exact, and that between clusters, which
        accounts for the dependence of rows of one text.
        """
        excess = self.known.value - (
            self.known.null if self.known.fixed is None else np.maximum(self.known.null, self.known.fixed[1])
        )
        mean, n = _mean(excess), (~np.isnan(excess)).sum(0)
        shuffled = np.sqrt(np.nansum(self.known.variance, 0)) / np.maximum(n, 1)
        between, count = _between(excess, self.known.clusters)
        error = np.maximum(shuffled, np.nan_to_num(between))
        freedom = np.where(np.nan_to_num(between) >= shuffled, np.maximum(count - 1, 1), np.inf)
        z = mean / np.where(error > 0, error, np.inf)
        return np.where(np.isnan(mean), np.nan, upper_tail(np.nan_to_num(z), freedom))


def judge(
    passes: Sequence[Seen], heads: Sequence[Head], *, seed: int, strength: float = STRENGTH
) -> tuple[list[HeadScore], list[Role]]:
    """Every score of every head, and every head's role."""
    columns = {site: _columns(passes, site, seed) for site in dict.fromkeys(h.site.key for h in heads)}
    pairs = [(head, column) for head in heads for column in columns[head.site.key]]
    raw = {(site, c.score): c.probability() for site, cs in columns.items() for c in cs if c.role}
    p = np.array([raw[h.site.key, c.score][h.number] if c.role else np.nan for h, c in pairs])
    scores = [_score(head, column, float(q)) for (head, column), q in zip(pairs, holm(p), strict=True)]
    roles = []
    for head in heads:
        head_scores = [(s, c) for s, (h, c) in zip(scores, pairs, strict=True) if h is head and c.role]
        roles.append(_role(head, head_scores, strength))
    return scores, roles


def _columns(passes: Sequence[Seen], site: str, seed: int) -> list[_Column]:
    columns = []
    for number, look in enumerate(passes):
        if site not in look.streamed.sites:
            continue
        for spec in look.streamed.specs:
            value, null, variance = (look.streamed.table(site, spec, p) for p in ("value", "null", "variance"))
            if np.isnan(value).all():
                continue
            facts = entry("head", spec.name).facts
            if facts["probe"] and len(passes) > 1 and look.probe != _asked_on_probe(look.streamed.sites[site]):
                continue
            rng = keyed_rng(seed, "heads", number)  # the same resamples for every score and head
            width = value.shape[1]
            draws = resampled_means(np.concatenate([value, null], 1), look.clusters, rng, DRAWS)
            fixed = look.streamed.columns[site, str(spec)].best_blind
            content = facts["role"] and not facts["positional"] and look.streamed.columns[site, str(spec)].rows
            titles = str(spec), _called(spec, str(facts["role"])), bool(facts["resting"])
            observed = _Known(value, null, variance, look.clusters, fixed if content else None)
            columns.append(_Column(*titles, observed, draws[:, :width], draws[:, width:], look.on))
    return columns


def _asked_on_probe(site: Site) -> bool:
    """Return whether a score uses the probe.

    Repetition of causal heads is measured on repeated random tokens, others on the data.
    """
    return site.kind in ("causal", "windowed")


def _called(spec: Spec, role: str) -> str:
    """Role in words: `offset -2`."""
    own = " ".join(f"{v:+d}" if isinstance(v, int) else str(v) for v in spec.params.values())
    return f"{role} {own}" if role and own else role


def _score(head: Head, column: _Column, p: float) -> HeadScore:
    h = head.number
    draws = column.drawn[:, h]
    defined = ~np.isnan(column.known.value[:, h])
    clusters = len(np.unique(column.known.clusters[defined]))
    tails = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    low, high = np.nanquantile(draws, tails) if clusters > 1 else (np.nan, np.nan)
    baseline = float(column.baseline[h])
    estimate = float(_mean(column.known.value)[h])
    strength = lower = float("nan")
    if column.role:
        strength = (estimate - baseline) / max(1.0 - baseline, 1e-9)
        lower = float(np.nanquantile(column.drawn_strength[:, h], tails[0])) if clusters > 1 else float("nan")
    is_ = Message("heads.baseline.shuffled" if column.role else "heads.baseline.uniform")
    if column.known.fixed is not None and column.known.fixed[1] >= baseline > 0:
        is_ = Message.of("heads.baseline.fixed", place=column.known.fixed[0])
    return HeadScore(
        head=head.name,
        score=column.score,
        estimate=estimate,
        low=float(low),
        high=float(high),
        n=int(defined.sum()),
        clusters=clusters,
        undefined=int((~defined).sum()),
        baseline=baseline,
        baseline_is=is_,
        strength=strength,
        strength_low=lower,
        p=p,
        on=column.on,
    )


def _role(head: Head, mine: Sequence[tuple[HeadScore, _Column]], strength: float) -> Role:
    fitting = [(s, c) for s, c in mine if s.p < ALPHA and s.strength_low >= strength]
    if not fitting:
        return Role(head.name, "", float("nan"), None)
    # what a head does comes before where it rests; stable, so that ties keep the order of the scores
    fitting.sort(key=lambda pair: (pair[1].resting, -round(pair[0].strength, 6)))
    best, column = fitting[0]
    rivals = [c for _, c in mine if c.resting <= column.resting]
    draws = np.stack([np.nan_to_num(c.drawn_strength[:, head.number], nan=-np.inf) for c in rivals])
    own = draws[rivals.index(column)]
    # a resting head must not do anything else in this resample; a working one must do this most
    other = np.array([-np.inf if c.resting == column.resting else strength for c in rivals])[:, None]
    beaten = np.where(other == -np.inf, draws <= own, draws < other).all(0)
    confidence = float(np.mean((own >= strength) & beaten))
    return Role(
        head=head.name,
        name=column.role,
        confidence=confidence,
        score=best,
        others=tuple(c.role for _, c in fitting[1:]),
        resting=column.resting,
    )


def _mean(values: Floats) -> Floats:
    defined = ~np.isnan(values)
    n = defined.sum(0)
    return np.where(n > 0, np.where(defined, values, 0.0).sum(0) / np.maximum(n, 1), np.nan)


def _between(values: Floats, clusters: Ints) -> tuple[Floats, Ints]:
    """(head,): standard error of the mean from the sums of clusters, and the number of clusters."""
    defined = ~np.isnan(values)
    count = int(clusters.max(initial=-1)) + 1
    sums, sizes = np.zeros((count, values.shape[1])), np.zeros((count, values.shape[1]))
    centred = np.where(defined, values - _mean(values), 0.0)
    np.add.at(sums, clusters, centred)
    np.add.at(sizes, clusters, defined)
    n, m = sizes.sum(0), (sizes > 0).sum(0)
    factor = np.where(m > 1, m / np.maximum(m - 1, 1), np.nan)
    return np.sqrt(factor * (sums**2).sum(0)) / np.maximum(n, 1), m
