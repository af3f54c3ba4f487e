"""The graded headline: the share of the best method's effect that attention finds, and the method to show instead.

    A_i   gain of the unit that attention ranks first, mean over operators (see `gain_over_random`)
    B_i   the same of the best other ranking, chosen for each operator on the folds that i is not in
    share = mean A / mean B

The interval holds every share s for which the mean of A - s B is not distinguishable from 0 (Fieller 1954), so it
agrees with the tests that compare A with a share of B, and it is unbounded where no method has an effect. Its level
holds over all looks that the run plans.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from regard.judge.evidence import Evidence
from regard.judge.gain_over_random import ATTENTION, gain, others
from regard.judge.margins import FOUND, GOOD, LEVEL, POOR
from regard.judge.mean_tests import share_bounds
from regard.measures.alpha_spending import level_now
from regard.records import Floats, Graded, Ints, Reading, Verdict

FOLDS = 5
CONFIDENCE = 0.95
TIE = 0.01
"""A method that is not shown to be this far behind the best one, in probability, is about as good."""
NONE, WIDEST = -2.0, 3.0
"""Shares beyond these are no bound: the interval is open on that side."""
RULED_OUT: dict[str, dict[str, tuple[Reading, ...]]] = {
    "map": {"holds": (), "fails": ("read as evidence", "for most inputs", "debugging only", "do not read")},
    "matter": {
        "holds": ("nothing to read",),
        "mixed": ("nothing to read", "read as evidence"),
        "fails": ("read as evidence", "for most inputs", "debugging only", "do not read"),
    },
    "points": {
        "holds": ("do not read",),
        "mixed": ("do not read", "read as evidence"),
        "fails": ("read as evidence", "for most inputs", "debugging only"),
    },
    "mixture": {"holds": ("for most inputs",), "fails": ("read as evidence",)},
}
"""Question -> answer -> the readings that can no longer be true."""


def graded(evidence: Evidence, verdicts: Sequence[Verdict], established: Sequence[Verdict] | None = None) -> Graded:
    """Grade the attention, settled or not; NaN where nothing was compared or no method has an effect.

    established: the verdicts as they would be if none had to wait for an earlier question, where some have to. An
    answer that waits rules out the same readings: "it does not point" leaves "do not read" if the weights matter, and
    "nothing to read" if they do not.
    """
    ours, best, names = gains_of_best(evidence)
    share, low, high = _share(evidence, ours, best)
    method, ties, ahead = _action(evidence, verdicts)
    return Graded(
        share=share,
        low=low,
        high=high,
        level=CONFIDENCE,
        n=int((np.isfinite(ours) & np.isfinite(best)).sum()),
        best=max(names, key=lambda name: names[name]) if names else "",
        ruled_out=ruled_out(established or verdicts, low, high, whole=len(set(evidence.classes)) < 2),
        show=method,
        ties=ties,
        ahead=ahead,
        effect=_effect(evidence, ours, best),
    )


def gains_of_best(evidence: Evidence) -> tuple[Floats, Floats, Counter[str]]:
    """(examples,) A and B, and how often each ranking was the best."""
    folds, n = _folds(evidence.clusters), len(evidence)
    ours, best = [], []
    names: Counter[str] = Counter()
    for operator in evidence.operators:
        rankings = others(evidence, operator)
        if not rankings or (ATTENTION, operator) not in evidence.pointing:
            continue
        gains = {name: gain(evidence, name, operator, (1,)) for name in rankings}
        column = np.full(n, np.nan)
        for fold in range(FOLDS):
            inside = folds == fold
            means = {name: _mean(values[~inside]) for name, values in gains.items()}
            name = max(means, key=lambda name: means[name])
            column[inside] = gains[name][inside]
            names[name] += int(inside.sum())
        ours.append(gain(evidence, ATTENTION, operator, (1,)))
        best.append(column)
    if not ours:
        return np.full(n, np.nan), np.full(n, np.nan), names
    return np.mean(ours, axis=0), np.mean(best, axis=0), names


def _folds(clusters: Sequence[str]) -> Ints:
    """(examples,) the fold of each; a cluster is never divided, and the order of the examples does not matter."""
    place = {name: i % FOLDS for i, name in enumerate(sorted(set(clusters)))}
    return np.array([place[name] for name in clusters], np.int64)


def _mean(values: Floats) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else -math.inf


def _share(evidence: Evidence, ours: Floats, best: Floats) -> tuple[float, float, float]:
    """The share with its interval over all looks, by inversion of the test of A - s B; NaN where B has no effect."""
    defined = np.isfinite(ours) & np.isfinite(best)
    a, b = np.where(defined, ours, np.nan), np.where(defined, best, np.nan)
    if not defined.any() or evidence.mean(b).p("above", 0.0) >= LEVEL or float(np.nanmean(b)) < FOUND:
        return math.nan, math.nan, math.nan
    share = float(np.nanmean(a) / np.nanmean(b))

    def possible(candidate: float) -> bool:
        mean = evidence.mean(a - candidate * b, bounds=share_bounds(b, candidate))
        return min(mean.p("above", 0.0), mean.p("below", 0.0)) >= (1 - CONFIDENCE) / 2

    return share, _edge(possible, share, NONE), _edge(possible, share, WIDEST)


def _effect(evidence: Evidence, ours: Floats, best: Floats) -> tuple[float, float, float]:
    """The mean of B where A is defined too, with its interval over all looks; NaN where nothing was compared."""
    defined = np.isfinite(ours) & np.isfinite(best)
    if not defined.any():
        return math.nan, math.nan, math.nan
    mean = evidence.mean(np.where(defined, best, np.nan), bounds=(-1.0, 1.0))
    tail = level_now((1 - CONFIDENCE) / 2, evidence.fractions)
    return (mean.estimate, *mean.interval(1 - 2 * tail))


def _edge(possible: Callable[[float], bool], inside: float, outside: float) -> float:
    """Return where shares become impossible between a possible one and a bound; infinite where they never do."""
    if possible(outside):
        return math.copysign(math.inf, outside)
    for _ in range(24):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if possible(middle) else (inside, middle)
    return inside


def ruled_out(verdicts: Sequence[Verdict], low: float, high: float, *, whole: bool) -> tuple[Reading, ...]:
    """The readings that the answers, or the interval of the share, already exclude.

    whole: all predictions are of one class, so that the share of all examples is that of every class.
    """
    excluded: set[Reading] = set()
    for verdict in verdicts:
        excluded |= set(RULED_OUT.get(verdict.question, {}).get(verdict.answer, ()))
    if any(v.question == "map" and v.answer == "uninformative" for v in verdicts):
        excluded.discard("nothing to read")  # weights that matter may still be no map
    if high < GOOD:
        excluded.add("read as evidence")
    if whole and low > POOR:
        excluded.add("do not read")
    order: tuple[Reading, ...] = (
        "read as evidence",
        "for most inputs",
        "debugging only",
        "do not read",
        "nothing to read",
    )
    return tuple(reading for reading in order if reading in excluded)


def _action(evidence: Evidence, verdicts: Sequence[Verdict]) -> tuple[str, tuple[str, ...], tuple[float, float, float]]:
    """The method to show, those that are not told apart from it, and its lead over attention with the interval."""
    nothing = ("", (), (math.nan, math.nan, math.nan))
    verdict = next((v for v in verdicts if v.question == "better_method" and v.answer == "holds"), None)
    if verdict is None or not verdict.contrasts:
        return nothing
    method = verdict.contrasts[0].subject
    rows = {str(row["method"]): row for row in verdict.rows}
    lead = next((c for c in verdict.contrasts[1:] if c.subject == method), None)
    ties = tuple(name for name in rows if name != method and not _behind(evidence, name, method))
    ahead = (lead.estimate, lead.low, lead.high) if lead else nothing[2]
    return method, ties, ahead


def _behind(evidence: Evidence, name: str, best: str) -> bool:
    """Return whether a method is shown to be worse than the best one by more than `TIE`, by the operators that judge
    both.
    """
    methods = evidence.beside.methods
    own = {evidence.beside.own.get(name), evidence.beside.own.get(best)}
    shared = [o for o in methods[best] if o in methods.get(name, {}) and o not in own]
    if not shared:
        return True
    apart = np.mean([methods[best][o] - methods[name][o] for o in shared], axis=0)
    return evidence.mean(apart).p("above", TIE) < LEVEL
