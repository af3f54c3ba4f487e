"""The values behind every number of the report of `DistinctRun`, counted without the code that shows them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from distinct_run import ATTACKS, HEADS, METHODS, NOISES, SEVERITIES, DistinctRun, N
from page_tables import Table

from regard.measures.agreement import kendall
from regard.records import Score

Values = dict[str, float]
"""Example -> value, defined ones only."""
DRIFT_HEADS = ("rank", "top_k", "jsd", "centre", "unaligned")
RUN = DistinctRun()


def score(metric: str, method: str = "model", **where: object) -> Score:
    (found,) = [
        s for s in (*RUN.judged, *RUN.found)
        if (s.metric, s.method) == (metric, method) and all(s.where.get(k) == v for k, v in where.items())
        and ("noise" in where or metric != "comprehensiveness" or "noise" not in s.where)
    ]  # fmt: skip
    return found


def values(found: Score, point: int | None = None) -> Values:
    column = found.values if point is None else np.asarray(next(iter(found.curves.values())))[:, point]
    return {name: float(v) for name, v in zip(found.ids, column, strict=True) if not np.isnan(v)}


def by_example(columns: Sequence[Values]) -> Values:
    names = dict.fromkeys(name for column in columns for name in column)
    return {name: float(np.mean([c[name] for c in columns if name in c])) for name in names}


def labelled() -> Values:
    told = [e for e in RUN.examples() if e["label"] is not None]
    return {e["id"]: float(("negative", "positive")[e["label"]] == e["predicted"]) for e in told}


def accuracy(noise: str, severity: int) -> Values:
    return values(score("accuracy", noise=noise, severity=severity))


def results(table: Table, method: str, head: str) -> Values:
    metric, operator = re.match(r"(\w+) (\w+);", head).groups()  # type: ignore[union-attr]
    return values(score(metric, method, operator=operator))


def difference(table: Table, method: str, head: str) -> Values:
    ours, base = (results(table, name, head) for name in (method, "random"))
    return {name: ours[name] - base[name] for name in ours if name in base}


def of_class(table: Table, method: str, head: str) -> Values:
    metric = re.match(r"(\w+)", table.caption)[1].lower()  # type: ignore[index]
    part = head.split()[0]
    inside = {e["id"] for e in RUN.examples() if e["predicted"] == part}
    return {k: v for k, v in values(score(metric, method, operator="mask")).items() if k in inside}


def curve(table: Table, method: str, head: str) -> Values:
    return values(score("comprehensiveness", method, operator="mask"), ("0.1", "0.5").index(head))


def taus(table: Table, one: str, other: str) -> Values | None:
    if one == other:
        return None
    rows = {m: dict(zip(RUN.relevance(m).ids, RUN.relevance(m), strict=True)) for m in (one, other)}
    both = [name for name in rows[one] if name in rows[other]]
    return {name: float(kendall(rows[one][name][1:], rows[other][name][1:])) for name in both}


def head_gain(table: Table, head: str, column: str) -> Values:
    return values(score("head_gain", "attention" if "audited" in head else head))


def noise(table: Table, row: str, head: str) -> Values:
    if head == "clean":
        return labelled()
    severity = int(head.split()[-1])
    columns = {name: accuracy(name, severity) for name in NOISES}
    if row == "mean over noises":
        return by_example([*columns.values()])
    if row == "worst noise":
        return min(columns.values(), key=lambda c: np.mean([*c.values()]))
    if row.startswith("each example"):
        return values(score("worst_case_accuracy", severity=severity))
    return columns[row]


def drift(table: Table, method: str, head: str) -> Values:
    place = table.head.index(head) - 1
    return values(score(f"explanation_{DRIFT_HEADS[place]}", method, noise="keyboard"))


def against(table: Table, method: str, head: str) -> Values:
    clean = values(score("comprehensiveness", method, operator="mask"))
    noisy = values(score("comprehensiveness", method, noise="keyboard"))
    return {
        "divergence per change of the answer": lambda: values(score("explanation_per_change", method)),
        "divergence beyond its own seed noise": lambda: values(score("explanation_excess", method)),
        "rank correlation with itself, other seed": lambda: values(score("explanation_seed_rank", method)),
        "comprehensiveness, clean": lambda: {k: v for k, v in clean.items() if k in noisy},
        "comprehensiveness, noisy": lambda: {k: v for k, v in noisy.items() if k in clean},
    }[head]()


def under_attack(table: Table, method: str, head: str) -> Values:
    return values(score("explanation_rank", method, attack=head.split()[0]))


def certificate(table: Table, row: str, head: str) -> Values:
    if row.startswith("right, whatever"):
        radius = int(re.search(r"to (\d)", row)[1])  # type: ignore[index]
        return values(score("certified_accuracy", radius=radius))
    return values(score("abstained" if row == "abstains" else "smoothed_accuracy"))


Oracle = Callable[[Table, str, str], Values | None]
ORACLES: dict[tuple[str, str], Oracle] = {
    ("results", "Mean with"): results, ("results", "The same metrics"): results,
    ("results", "Method minus"): difference, ("removal-curves", "comprehensiveness"): curve,
    ("agreement-matrix", "Kendall"): taus, ("by-class", "Comprehensiveness"): of_class,
    ("by-class", "Sufficiency"): of_class, ("heads", "The 3 shown"): head_gain,
    ("robustness", "Share of right"): noise, ("robustness", "Relevance by word"): drift,
    ("robustness", "The divergence over"): against, ("robustness", "Rank correlation"): under_attack,
    ("robustness", "Copies with"): certificate,
}  # fmt: skip
"""Section and beginning of the caption -> the values behind a cell."""
ELSEWHERE = {
    ("robustness", "Lower is better"), ("robustness", "Success is"), ("verdicts", "How far the prediction"),
    ("verdicts", ""), ("exhibits", ""), ("settings", ""), ("errs", "Sealed half"),
    ("worked-examples", "Relevance of every"),
}  # fmt: skip
"""Tables with tests of their own below, or without a mean over examples."""


def kind(table: Table) -> tuple[str, str] | None:
    known = [k for k in (*ORACLES, *ELSEWHERE) if k[0] == table.section and table.caption.startswith(k[1])]
    return max(known, key=lambda k: len(k[1]), default=None)


def clusters(found: Values) -> int:
    return len({RUN.clusters[name] for name in found})


def _n(found: Values) -> str:
    return str(len(found))


def _between(columns: Sequence[Values]) -> str:
    sizes = [len(c) for c in columns if c]
    return f"{min(sizes)} to {max(sizes)}"


def sentences() -> Iterator[tuple[str, str]]:
    """(pattern, what its groups must be), for every count outside of the tables."""
    hard = SEVERITIES[-1]
    levels = {n: accuracy(n, hard) for n in NOISES}
    worst = min(levels, key=lambda n: np.mean([*levels[n].values()]))
    curves = [accuracy(n, s) for n in NOISES for s in SEVERITIES]
    flips = [values(score("flips", noise=n, severity=s)) for n in NOISES for s in SEVERITIES]
    right = labelled()
    yield r"(\d+) examples of 133", str(N)
    yield r"\d+ examples of (\d+)", "133"
    yield r"(\d+ of \d+) \(", f"{int(sum(right.values()))} of {len(right)}"
    yield r"of (\d+) predictions are right", str(len(right))
    yield r"weights; (\d+) examples\.", "41"
    yield r"when it says positive n = (\d+)", str(_of_relevance("positive"))
    yield r"when it says negative n = (\d+)", str(_of_relevance("negative"))
    yield r"above 0.05\? n = (\d+),", "40"
    yield r"above 0.06\? n = (\d+),", "39"
    yield r"above 0.07\? n = (\d+),", "38"
    rankings = [score("pointing", m) for m in (*METHODS[:2], "random:0")]
    lost = [values(r, p) for r in rankings for p in (0, 1)]
    yield r"Mean over (\d+ to \d+) examples with 95 % band, mask", _between(lost)
    caps = score("max_jsd", "attention")
    yield r"within each cap, mean over (\d+ to \d+) examples", _between([values(caps, p) for p in (0, 1)])
    yield r"none of the four was found in (\d+) examples", "8"
    for operator, metric in (("mask", "Comprehensiveness"), ("delete", "Comprehensiveness"), ("mask", "Sufficiency")):
        found = [paired(metric.lower(), operator, method) for method in METHODS[:2]]
        sizes = sorted({len(f) for f in found})
        words = str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[1]}"
        yield rf"{metric} \({operator}\), ([\d to]+) examples\.", words
    yield (
        r"random n = (\d+ to \d+) Numbers",
        _between([values(score("comprehensiveness", m, operator="mask"), p) for m in METHODS for p in (0, 1)]),
    )
    yield r"best of (\d+) heads", str(len(HEADS) - 1)
    yield r"all heads\), n = (\d+) unless", str(max(len(values(score("head_gain", h))) for h in HEADS))
    yield r"right in [^(]+ of (\d+) unchanged examples", _n(right)
    yield r"it is right in [^(]+\(n = (\d+)\)", _n(by_example([*levels.values()]))
    yield rf"under the worst of them, {worst}, in [^(]+\(n = (\d+)\)", _n(levels[worst])
    yield r"tried: [^(]+\(n = (\d+)\) of the examples", _n(values(score("worst_case_accuracy", severity="all")))
    yield r"keyboard ocr Bands: 95 % intervals, n = (\d+ to \d+)\.(?= keyboard)", _between([right, *curves])
    yield r"keyboard ocr Bands: 95 % intervals, n = (\d+ to \d+)\.(?= Does)", _between(flips)
    ranks = {m: values(score("explanation_rank", m, noise="keyboard")) for m in METHODS[:2]}
    yield r"where the prediction does\? n = (\d+ to \d+) ", _between([*ranks.values()])
    first = max(ranks, key=lambda m: np.mean([*ranks[m].values()]))
    yield r"rank correlation of [^(]+\(n = (\d+)\) between an input", _n(ranks[first])
    yield r"on the same (\d+) examples", str(len(ranks["attention"].keys() & ranks["leave_one_out"].keys()))
    kept = by_example([values(score("prediction_kept", noise=n, severity=s)) for n in NOISES for s in SEVERITIES])
    yield r"of all pairs, from (\d+) examples", _n(kept)
    yield r"of (\d+) examples\. greedy_word", _n(values(score("worst_case_attack_accuracy")))
    yield r"that was tried \((\d)\)", "2"
    yield r"Wilson, 95 %; n = (\d+ to \d+)", _between([_all_points(score("attack_success", attack=a)) for a in ATTACKS])


def _of_relevance(name: str) -> int:
    there = set(RUN.relevance("attention").ids)
    return sum(e["predicted"] == name and e["id"] in there for e in RUN.examples())


def paired(metric: str, operator: str, method: str) -> Values:
    ours, base = (values(score(metric, m, operator=operator)) for m in (method, "random"))
    return {name: v for name, v in ours.items() if name in base}


def _all_points(found: Score) -> Values:
    rows = next(iter(found.curves.values()))
    return {name: 0.0 for name, row in zip(found.ids, rows, strict=True) if not np.isnan(row).any()}
