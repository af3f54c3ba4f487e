"""`python -m benchmarks.coverage [--fast] [--only PART ...]`: how often are claims and printed intervals wrong?

Simulated values with a known mean: skewed (2 to 10 % of the examples move by .2 to 1), yes or no, normal, shares of the
best method; independent, and in few or unequal clusters; 12 to 1,000 examples; the truth exactly at every threshold.

claims    the rate of "above" and "below" the threshold, at a nominal 5 %. The largest of so many rates is above .05 by
          chance: every cell that exceeds it is drawn again with other seeds; bar: .05 is in the interval of that rate
coverage  of every kind of interval that the report prints, nominal .95; bar: .93 and the noise of the simulation.
          judge: of verdicts; summary: of tables; difference: of two methods; amount: of quantities that are not
          negative; wilson: of yes or no
share     coverage of the share of the best method's effect that attention captures (by inversion of a test); bar: .93
rule      the whole rule of "does it point at the evidence" by number of examples: answers, and that they settle more
looks     planned looks: the rate of wrong claims over all of them, and the examples that were needed
bounded looks  the same for values with known bounds, where early looks can decide nothing; bar: .05 is in the interval
range     how often the number of examples that settled it lies in the range that was given; bar: .8

Writes results/coverage.json (command, commit). A bar that is not met makes the exit code 1.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.__main__ import commit
from benchmarks.bounded_looks import bounded_looks
from regard.judge.captured_share import graded
from regard.judge.evidence import Curves, Evidence
from regard.judge.further_margins import BEATS, FARTHER, HELPS, NEEDED
from regard.judge.margins import DOES_NOT_MATTER, EMPTY, FOLLOWS, GOOD, LEVEL, MATTERS, PASSES_BY, POOR, SOME_OTHER
from regard.judge.mean_tests import SPREAD, Mean, share_bounds
from regard.judge.points_at_evidence import points
from regard.measures.alpha_spending import Spending, crossing_probability, fractions_now, nominal_levels
from regard.measures.bounded_mean import NEARLY, BoundedMean
from regard.measures.intervals import ClusterSums, clopper_pearson, wilson
from regard.records import Floats, Json

RESULTS = Path(__file__).parent / "results" / "coverage.json"
SIZES = (12, 30, 60, 120, 300, 1000)
CLUSTERS = (10, 20, 40)
MANY_UNEQUAL = (160, 400)
RUNS = 2000
DRAWN_AGAIN = 8000
COVERED = 0.93
MEANS, AGAIN = "means", "again above .05"
KINDS = ("judge", "summary", "difference", "amount", "wilson")
"""Of intervals."""
Draw = Callable[[np.random.Generator, tuple[int, ...]], Floats]


@dataclass(frozen=True)
class Truth:
    """A distribution with its mean on a threshold. bounds: the bounds that the judge knows."""

    name: str
    mean: float
    draw: Draw
    bounds: tuple[float, float] | None


def sparse(part: float, size: float, noise: float = 0.0) -> Truth:
    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        return size * (rng.random(shape) < part) + noise * np.abs(rng.standard_normal(shape))

    name = f"{part:.0%} move by {size:g}" + (" in noise" if noise else "")
    return Truth(name, part * size + noise * math.sqrt(2 / math.pi), draw, (0.0, 1.0))


def share(part: float) -> Truth:
    return Truth(f"share {part:g}", part, lambda rng, shape: (rng.random(shape) < part).astype(float), (0.0, 1.0))


def spread(mean: float, size: float) -> Truth:
    """Beta values; a smaller size gives more skew."""
    return Truth(
        f"beta {mean:g}, {size:g}",
        mean,
        lambda rng, shape: rng.beta(mean * size, (1 - mean) * size, shape),
        (0.0, 1.0),
    )


def normal(mean: float) -> Truth:
    return Truth(f"normal {mean:g}", mean, lambda rng, shape: rng.normal(mean, 0.15, shape), None)


def beyond(part: float, moves: float, size: float, noise: float) -> Truth:
    """Differences ours - part x best, where the best moves some examples and ours finds that part of them."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        best = size * (rng.random(shape) < moves)
        return best * ((rng.random(shape) < part) - part) + noise * rng.standard_normal(shape)

    bounds = share_bounds(np.array([size + 2 * noise]), part)
    return Truth(f"{part:g} of {moves:.0%} x {size:g}" + (" in noise" if noise else ""), 0.0, draw, bounds)


def truths() -> list[Truth]:
    thresholds = sorted({DOES_NOT_MATTER, HELPS, NEEDED, EMPTY, MATTERS, FARTHER, BEATS})
    moved = [sparse(m / size, size) for m in thresholds for size in (0.2, 0.5, 1.0) if 0.02 <= m / size <= 0.1]
    shares_known = [share(p) for p in (PASSES_BY, SOME_OTHER, FOLLOWS)]
    skewed = [spread(m, size) for m in thresholds for size in (2.0, 8.0)]
    found = [beyond(part, moves, 0.5, noise) for part in (POOR, GOOD) for moves in (0.2, 1.0) for noise in (0.0, 0.1)]
    return [
        *moved,
        sparse(0.04, 0.5, 0.003),
        *shares_known,
        *skewed,
        *(normal(m) for m in (0.0, BEATS)),
        *found,
    ]


def sizes_of(design: str, clusters: int) -> list[int]:
    if design == "unequal":
        return [max(1, round(20 * 0.8**i)) for i in range(clusters)]
    if design == "one large":
        return [math.ceil(1.6 * clusters)] + [4] * (clusters - 1)
    return [5 if design == "equal" else 1] * clusters


def samples(truth: Truth, design: str, clusters: int, rng: np.random.Generator, runs: int) -> Iterator[ClusterSums]:
    """Clusters of examples; seven of ten examples copy one value of their cluster (intra-cluster correlation .5)."""
    sizes = np.array(sizes_of(design, clusters))
    where = np.repeat(np.arange(clusters), sizes)
    names = tuple(map(str, range(clusters)))
    for _ in range(runs):
        own, common = truth.draw(rng, (len(where),)), truth.draw(rng, (clusters,))
        copied = rng.random(len(where)) < math.sqrt(0.5)
        values = np.where(copied, common[where], own) if design != "single" else own
        yield ClusterSums(names, np.bincount(where, weights=values), sizes, 0)


def designs(fast: bool) -> list[tuple[str, int]]:
    if fast:
        return [("single", 30), ("single", 120), ("unequal", 20)]
    clustered = [(d, c) for d in ("equal", "unequal", "one large") for c in CLUSTERS]
    return [*(("single", n) for n in SIZES), *clustered, *(("unequal", c) for c in MANY_UNEQUAL)]


# ---------------------------------------------------------------------- claims and intervals


def measured(runs: int, seed: int, *, fast: bool = False) -> list[dict[str, Json]]:
    """Return one row per distribution and design: rates of wrong claims, and coverage of every kind of interval."""
    rng, rows = np.random.default_rng(seed), list[dict[str, Json]]()
    for truth in truths()[:: 4 if fast else 1]:
        for design, clusters in designs(fast):
            above, below, covered = 0, 0, Counter[str]()
            for sums in samples(truth, design, clusters, rng, runs):
                up, down = _p_values(BoundedMean.of(sums, truth.bounds), truth)
                above += up < LEVEL
                below += down < LEVEL
                covered.update({"judge": int(min(up, down) >= 0.025)} | _printed(sums, truth))
            rates: dict[str, Json] = {kind: round(count / runs, 4) for kind, count in covered.items()}
            rows.append(
                {
                    "values": truth.name,
                    "design": design,
                    "clusters": clusters,
                    "claims above": round(above / runs, 4),
                    "claims below": round(below / runs, 4),
                    "coverage": rates,
                }
            )
    return rows


def drawn_again(rows: Sequence[Mapping[str, Any]], runs: int, seed: int) -> list[dict[str, Json]]:
    """Draw every cell with a rate above the level again, with other seeds and more runs; add exact intervals."""
    by_name = {truth.name: truth for truth in truths()}
    fresh: list[dict[str, Json]] = []
    for row in rows:
        claims = [claim for claim in ("above", "below") if row[f"claims {claim}"] > LEVEL]
        if not claims:
            continue
        truth, place = by_name[row["values"]], (row["design"], row["clusters"])
        rng = np.random.default_rng([seed, len(fresh)])
        counts = np.zeros(2)
        for sums in samples(truth, *place, rng, runs):
            counts += np.array(_p_values(BoundedMean.of(sums, truth.bounds), truth)) < LEVEL
        for claim, count in zip(("above", "below"), counts, strict=True):
            if claim in claims:
                low, high = clopper_pearson(int(count), runs)
                rate = {"first": row[f"claims {claim}"], "rate": count / runs, "low": low, "high": high, "runs": runs}
                fresh.append({"values": truth.name, "design": place[0], "clusters": place[1], "claim": claim, **rate})
    return fresh


def _p_values(mean: BoundedMean, truth: Truth) -> tuple[float, float]:
    return mean.p("above", truth.mean), mean.p("below", truth.mean)


def _covers(mean: BoundedMean, truth: Truth) -> bool:
    """Return whether the 95 % interval contains the truth; it ends where the claims at .025 end."""
    return min(_p_values(mean, truth)) >= 0.025


def _printed(sums: ClusterSums, truth: Truth) -> dict[str, int]:
    """Return whether the intervals of the kinds that suit such values contain the truth."""
    summary = {"summary": int(_covers(BoundedMean.of(sums, scale="unknown", alike=NEARLY), truth))}
    if truth.bounds is None or truth.bounds[0] < 0:
        return {**summary, "difference": int(_covers(BoundedMean.of(sums, scale="signed", alike=NEARLY), truth))}
    if truth.name.startswith("share") and (sums.count == 1).all():
        low, high = wilson(sums.total.sum(), sums.n)
        return {**summary, "wilson": int(low <= truth.mean <= high)}
    return {**summary, "amount": int(_covers(BoundedMean.of(sums, alike=NEARLY), truth))}


# ---------------------------------------------------------------------- the rule of one question


def evidence(shares: Mapping[str, float], n: int, rng: np.random.Generator, sd: float = 0.45) -> Evidence:
    """Draw n examples of classes in which attention finds these shares of the best ranking's effect, with noise."""
    classes = [list(shares)[i % len(shares)] for i in range(n)]
    finds = np.array([shares[c] for c in classes]) + sd * rng.standard_normal(n)
    best = np.clip(0.35 + 0.15 * rng.standard_normal(n), 0.0, 0.5)
    pointing: dict[tuple[str, str], Curves] = {}
    for operator in ("mask", "delete", "resample"):
        for ranking in ("attention", "integrated_gradients", "gradient", "random:0", "random:1"):
            effect = {"attention": finds * best, "integrated_gradients": best, "gradient": 0.8 * best}.get(ranking, 0.0)
            left = 0.95 - effect + 0.05 * rng.standard_normal(n)
            pointing[ranking, operator] = Curves(np.clip(left, 0.5, 1.0)[:, None])
    ids = tuple(f"e{i}" for i in range(n))
    return Evidence(ids, tuple(classes), ids, np.full(n, 0.95), np.full(n, 0.5), pointing=pointing, sizes=(1,))


CASES: dict[str, tuple[dict[str, float], str]] = {
    "both .85": ({"a": 0.85, "b": 0.85}, "holds"),
    "both 1": ({"a": 1.0, "b": 1.0}, "holds"),
    "both .63": ({"a": 0.63, "b": 0.63}, "mixed"),
    "both .10": ({"a": 0.1, "b": 0.1}, "fails"),
    ".65 beside .10": ({"a": 0.65, "b": 0.1}, "mixed"),
    "1 beside .10": ({"a": 1.0, "b": 0.1}, "mixed"),
}


def by_size(runs: int, seed: int, sizes: Sequence[int] = (40, 80, 120, 200, 400)) -> list[dict[str, Json]]:
    """Return the answers of the whole rule; wrong: answers that differ from the truth."""
    rows: list[dict[str, Json]] = []
    for name, (shares, right) in CASES.items():
        for n in sizes:
            rng = np.random.default_rng([seed, n, len(rows)])
            drafts = [points(evidence(shares, n, rng)) for _ in range(runs)]
            answers = [d.answer if d.p < LEVEL else "uninformative" for d in drafts]
            counts: dict[str, Json] = {a: answers.count(a) for a in ("holds", "mixed", "fails", "uninformative")}
            wrong = sum(a not in (right, "uninformative") for a in answers)
            settled = 1 - answers.count("uninformative") / runs
            rows.append({"case": name, "right": right, "n": n, **counts, "wrong": wrong / runs, "settled": settled})
    return rows


def by_share(runs: int, seed: int, sizes: Sequence[int] = (30, 60, 120, 300)) -> list[dict[str, Json]]:
    """Coverage of the graded share; the truth comes from very many examples with noise clipped in the same way."""
    rows: list[dict[str, Json]] = []
    for name, (shares, _) in CASES.items():
        truth = graded(evidence(shares, 20_000, np.random.default_rng([seed, len(rows)])), ()).share
        for n in sizes:
            rng = np.random.default_rng([seed, n, len(rows)])
            grades = [graded(evidence(shares, n, rng), ()) for _ in range(runs)]
            defined = [g for g in grades if math.isfinite(g.share)]
            inside = sum(g.low <= truth <= g.high for g in defined)
            coverage = inside / len(defined) if defined else math.nan
            rows.append({"case": name, "truth": truth, "n": n, "runs": len(defined), "coverage": coverage})
    return rows


# ---------------------------------------------------------------------- looks, and the range of examples


def by_looks(runs: int, seed: int, looks: Sequence[int] = (16, 32, 64, 128, 200)) -> list[dict[str, Json]]:
    """Judge values after every round, at the threshold and beyond it."""
    rows: list[dict[str, Json]] = []
    for effect in (0.0, 0.2, 0.5, 1.0):
        rng = np.random.default_rng([seed, int(100 * effect)])
        stops = []
        for _ in range(runs):
            values = rng.normal(0.15 * effect, 0.15, looks[-1])
            stops.append(next((n for n in looks if _crosses(values[:n], looks)), 0))
        used = [n or looks[-1] for n in stops]
        rows.append({"effect": effect, "claimed": float(np.mean([n > 0 for n in stops])), "examples": np.mean(used)})
    return rows


def _crosses(values: Floats, looks: Sequence[int]) -> bool:
    fractions = fractions_now(looks, len(values))
    names = [str(i) for i in range(len(values))]
    return Mean.of(values, names, fractions=fractions).p("above", 0.0) < LEVEL


def expected_examples(looks: Sequence[int] = (16, 32, 64, 128, 256, 512)) -> list[dict[str, Json]]:
    """Expected examples and power of the spending functions, by effect in standard deviations (normal theory)."""
    fractions = [n / looks[-1] for n in looks]
    kinds: tuple[Spending, ...] = ("obrien_fleming", "pocock", "linear", "quadratic")
    rows: list[dict[str, Json]] = []
    for kind in kinds:
        levels = nominal_levels(fractions, LEVEL, kind)
        for effect in (0.1, 0.2, 0.35, 0.56, 1.0):
            chances = crossing_probability(fractions, levels, effect * math.sqrt(looks[-1]))
            mean = sum(c * n for c, n in zip(chances, looks, strict=True)) + (1 - sum(chances)) * looks[-1]
            rows.append(
                {"spending": kind, "effect": effect, "examples": round(mean, 1), "power": round(sum(chances), 4)}
            )
    return rows


def ranges(runs: int, seed: int, *, most: int = 6000) -> dict[str, Json]:
    """Count how often the number of examples that settles a claim lies in the range forecast at 60 of them."""
    rng = np.random.default_rng(seed)
    inside, open_ended, total = 0, 0, 0
    while total < runs:
        effect = float(rng.choice([0.1, 0.15, 0.25]))
        values = rng.normal(0.15 * effect, 0.15, most)
        first = Mean.of(values[:60], [str(i) for i in range(60)])
        claim = "above" if first.estimate > 0 else "below"
        if claim == "below" or first.p("above", 0.0) < LEVEL:
            continue
        low, high = (first.decides_at("above", 0.0, LEVEL, drift) for drift in (SPREAD, -SPREAD))
        settled = _first_settled(values)
        inside += 0.95 * low <= settled <= 1.05 * high
        open_ended += math.isinf(high)
        total += 1
    return {"runs": runs, "inside": inside / runs, "open ended": open_ended / runs}


def _first_settled(values: Floats) -> float:
    n = 62
    while n <= len(values):
        part = values[:n]
        if float(part.mean()) > 1.6 * float(part.std()) / math.sqrt(n) and _crosses(part, ()):
            return n
        n = math.ceil(1.04 * n)
    return math.inf


# ---------------------------------------------------------------------- the command


def bars(parts: Mapping[str, list[dict[str, Any]]], runs: int) -> list[str]:
    """Return the bars that were missed."""
    misses = []
    for row in parts[AGAIN]:
        place = f"{row['values']}, {row['design']} {row['clusters']}"
        misses += [f"claims {row['claim']}: {place}: {row['rate']}"] if row["low"] > LEVEL else []
    for row in parts["means"]:
        place = f"{row['values']}, {row['design']} {row['clusters']}"
        misses += [f"{k}: {place}: {c}" for k, c in row["coverage"].items() if c < COVERED - _noise(runs)]
    for row in parts.get("bounded looks", ()):
        place = f"below {row['margin']}, {row['examples']} examples, {row['values']}, {row['spending']}"
        misses += [f"{place}: {row['rate']}"] if row["claim is"] == "wrong" and row["low"] > LEVEL else []
    for row in parts.get("share", ()):
        missed = row["runs"] and row["coverage"] < COVERED - _noise(row["runs"])
        misses += [f"share: {row['case']}, n {row['n']}: {row['coverage']}"] if missed else []
    return misses


def _noise(runs: int) -> float:
    """Return three standard errors of a rate near the level."""
    return 3 * math.sqrt(LEVEL * (1 - LEVEL) / runs)


def worst_claims(parts: Mapping[str, list[dict[str, Any]]]) -> dict[str, float]:
    """Return the largest rate by kind of claim; for cells drawn again, the rate of the second draw."""
    doubted = {(r["values"], r["design"], r["clusters"], r["claim"]): r["rate"] for r in parts[AGAIN]}
    rates: dict[str, float] = {}
    for claim in ("above", "below"):
        cells = {(r["values"], r["design"], r["clusters"], claim): r[f"claims {claim}"] for r in parts["means"]}
        rates[f"claims {claim}"] = max((cells | {k: v for k, v in doubted.items() if k[3] == claim}).values())
    return rates


SECTIONS: dict[str, Callable[[], Any]] = {
    "share": lambda: by_share(200, seed=5),
    "rule": lambda: by_size(60, seed=2),
    "looks": lambda: by_looks(400, seed=3),
    "spending": expected_examples,
    "bounded looks": lambda: bounded_looks(1000, seed=6),
    "range": lambda: ranges(150, seed=4),
}
"""Parts of the record beside the means."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage", description=__doc__)
    parser.add_argument("--fast", action="store_true", help="a slice with fewer runs; nothing is written")
    parser.add_argument(
        "--only", nargs="+", choices=[*SECTIONS, MEANS, AGAIN], help="make these parts of the record again"
    )
    parser.add_argument("--runs", type=int, default=RUNS, help="simulated audits of each cell of the means")
    options = parser.parse_args(arguments)
    if options.only:
        return _again(options.only, options.runs)
    fast = options.fast
    runs = 200 if fast else options.runs
    means = measured(runs, seed=1, fast=fast)
    again = drawn_again(means, runs=2000 if fast else DRAWN_AGAIN, seed=11)
    parts: dict[str, Any] = {"means": means, AGAIN: again}
    if not fast:
        parts |= {name: section() for name, section in SECTIONS.items()}
    figures = summary(parts, runs)
    print(json.dumps(figures, indent=1), flush=True)
    if not fast:
        print(*again, *parts["share"], *parts["rule"], sep="\n")
        print(parts["looks"], parts["range"])
        _write({"command": "python -m benchmarks.coverage", "commit": commit(), "runs": runs, **figures, **parts})
    return int(bool(figures["misses"]))


def summary(parts: Mapping[str, list[dict[str, Any]]], runs: int) -> dict[str, Any]:
    """Return the largest rates of wrong claims, the least coverage of every kind of interval, and the missed bars."""
    least = {k: min(r["coverage"].get(k, 1.0) for r in parts[MEANS]) for k in KINDS}
    return {"worst": worst_claims(parts), "least coverage": least, "misses": bars(parts, runs)}


def _again(names: Sequence[str], runs: int) -> int:
    """Measure some parts of the stored record again; `again` stores the commit."""
    record = json.loads(RESULTS.read_text("utf-8"))
    for name in names:
        if name == MEANS:
            record |= {MEANS: measured(runs, seed=1), "runs": runs}
        if name in (MEANS, AGAIN):
            record[AGAIN] = drawn_again(record[MEANS], DRAWN_AGAIN, seed=11)
        else:
            record[name] = SECTIONS[name]()
        record["again"] = {**record.get("again", {}), name: commit()}
        _write(record)
    figures = summary(record, record["runs"])
    print(json.dumps(figures, indent=1), flush=True)
    _write({**record, **figures})
    return int(bool(figures["misses"]))


def _write(record: Mapping[str, Any]) -> None:
    RESULTS.write_text(json.dumps(record, indent=1, default=float) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
