"""`python -m benchmarks.waiting_rule [--seeds N ...] [--only NAME ...]`: must later questions wait for "it matters"?

Judges models of the development half by four rules for the questions after "do the weights matter?" where that one is
open and leans to "no", and with Holm's correction for all questions instead of those with a claim. Then simulates two
rates: how often it stays open for weights that move p by a known amount, and how often an audit makes any wrong claim
where several questions lie exactly at their margins.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from statistics import NormalDist
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks import truth
from regard.judge.claim import Draft, holm_levels, settled
from regard.judge.evidence import Evidence
from regard.judge.judge import judge
from regard.judge.margins import DOES_NOT_MATTER, LEVEL, PASSES_BY
from regard.judge.mean_tests import Mean, Test, all_of, any_of
from regard.planted.growing.truth import EARLIER, zoo
from regard.records import Judgement, Message, Verdict

JUDGE = import_module("regard.judge.judge")
"""The module, which exports a function of the same name."""
WAITS = JUDGE._waiting
Waiting = Callable[[Evidence, Verdict, Verdict], tuple[int, Message] | None]
SAMPLES, TEXTS = 1000, 200


@contextmanager
def waiting_by(rule: Waiting) -> Iterator[None]:
    with patch.object(JUDGE, "_waiting", rule):
        yield


def only_without_a_map(evidence: Evidence, map_verdict: Verdict, matters: Verdict) -> tuple[int, Message] | None:
    waiting: tuple[int, Message] | None = WAITS(evidence, map_verdict, matters)
    return waiting if waiting and waiting[0] == 1 else None


def until_shown_to_matter(evidence: Evidence, map_verdict: Verdict, matters: Verdict) -> tuple[int, Message] | None:
    """Wait unless it is established that the weights do not fail to matter."""
    waiting = only_without_a_map(evidence, map_verdict, matters)
    if waiting or matters.answer != "uninformative" or not evidence.measured("permuted"):
        return waiting
    changes, flips, route = (evidence.mean(evidence.of(q), bounds=(0.0, 1.0)) for q in
                             ("permuted", "permuted_flips", "route"))  # fmt: skip
    moved = any_of([Test("", "above", DOES_NOT_MATTER, mean) for mean in (changes, flips)])
    matters_a_little = all_of([moved, Test("", "above", PASSES_BY, route)]) < LEVEL
    return None if matters_a_little else (2, Message("judge.because.elsewhere_so_far"))


def no_waits_not(evidence: Evidence) -> Judgement:
    """A "no" to "does it point at the evidence?", and "the same for each class" beside it, do not wait."""
    judgement = judge(evidence)
    with waiting_by(only_without_a_map):
        free = judge(evidence)
    answers = {v.question: v for v in free.verdicts}
    if free.reading != "do not read" or judgement.reading != "undecided":
        return judgement
    freed = ("points", "same") if answers["same"].answer == "holds" else ("points",)
    verdicts = tuple(answers[v.question] if v.question in freed else v for v in judgement.verdicts)
    return replace(judgement, reading=free.reading, verdicts=verdicts)


def settled_among_all(drafts: Sequence[Draft]) -> list[Verdict]:
    """Count every question with a measurement among those that are corrected together, as p = 1 without a claim."""
    measured = [d.level is None and any(t.mean.n for t in (*d.tests, *d.deciding)) for d in drafts]
    p = [(1.0 if math.isnan(d.p) else d.p) if counts else math.nan for d, counts in zip(drafts, measured, strict=True)]
    return [
        settled([replace(draft, level=draft.level or level)])[0]
        for draft, level in zip(drafts, holm_levels(p), strict=True)
    ]


@dataclass(frozen=True, slots=True)
class Rule:
    waiting: Waiting = WAITS
    judged: Callable[[Evidence], Judgement] = judge
    settled: Callable[[Sequence[Draft]], list[Verdict]] = settled


TODAY = "later questions wait"
RULES = {
    TODAY: Rule(),
    "a no does not wait": Rule(judged=no_waits_not),
    "nothing waits": Rule(waiting=only_without_a_map),
    "wait until shown": Rule(waiting=until_shown_to_matter),
    "Holm for all questions": Rule(settled=settled_among_all),
}


def replayed(stands: Sequence[Any]) -> dict[str, list[truth.Row]]:
    """Return rule -> the rows of all models, from the same evidence."""
    rows: dict[str, list[truth.Row]] = {name: [] for name in RULES}
    for stand in stands:
        run, model = truth.evidence(stand)
        for name, rule in RULES.items():
            with (
                waiting_by(rule.waiting),
                patch.object(truth, "judge", rule.judged),
                patch.object(JUDGE, "settled", rule.settled),
            ):
                rows[name].append(truth.judged(stand, run, model))
        print(stand.key, rows[TODAY][-1].reading, flush=True)
    return rows


def settled_rates(change: float, seed: int = 0) -> dict[str, float]:
    """Return how often 200 skewed values with this mean claim "below .02", and where they lean otherwise."""
    rng = np.random.default_rng(seed)
    counts = {"does not matter": 0, "open, leans to no": 0, "open, leans to yes": 0}
    for _ in range(SAMPLES):
        values = np.minimum(1.0, rng.gamma(0.3, change / 0.3, TEXTS))
        mean = Mean.of(values, [str(i) for i in range(TEXTS)], bounds=(0.0, 1.0))
        below = 1.25 * mean.p("below", DOES_NOT_MATTER) < LEVEL
        leans = "open, leans to no" if mean.estimate < DOES_NOT_MATTER else "open, leans to yes"
        counts["does not matter" if below else leans] += 1
    return {name: count / SAMPLES for name, count in counts.items()}


def any_wrong(at_margin: int, clear: int, seed: int = 0) -> dict[str, float]:
    """Return how often any of the questions at their margins is claimed, if Holm counts those with a claim, or all."""
    rng = np.random.default_rng(seed)
    runs, normal = 10 * SAMPLES, NormalDist()
    counts = {"those with a claim": 0, "all": 0}
    for _ in range(runs):
        every = [*(normal.cdf(z) for z in rng.standard_normal(at_margin)), *([1e-9] * clear)]
        claims = [p if p < LEVEL else math.nan for p in every]
        for name, p in (("those with a claim", claims), ("all", every)):
            counts[name] += any(a < b for a, b in zip(p[:at_margin], holm_levels(p)[:at_margin], strict=True))
    return {name: count / runs for name, count in counts.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.waiting_rule", description=__doc__)
    parser.add_argument("--seeds", nargs="*", type=int, default=[])
    parser.add_argument("--only", nargs="*", default=[])
    options = parser.parse_args(arguments)
    stands = [s for s in zoo("dev") if s.kind == EARLIER and (not options.only or s.name in options.only)]
    for name, rows in replayed(truth.with_seeds(stands, options.seeds)).items():
        counts = truth.scored(rows)
        figures = (counts[key] for key in ("power", "wrong", "right_readings", "wrong_readings"))
        figures_text = ", ".join(f"{count['count']} of {count['n']}" for count in figures)
        print(f"{name:22} right, wrong, right readings, wrong readings: {figures_text}")
    for change in (0.005, 0.008, 0.012, 0.016):
        print(f"true change {change}: {settled_rates(change)}", flush=True)
    for at_margin, clear in ((1, 5), (2, 4), (6, 0)):
        print(f"{at_margin} of {at_margin + clear} questions at the margin, any wrong: {any_wrong(at_margin, clear)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
