"""Every n, interval and estimate that is displayed is that of the values behind it, in every form of the report.

In `DistinctRun` no two columns have the same number of defined values, so a number with the n of another one shows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from io import StringIO

import numpy as np
import pytest
from distinct_run import ATTACKS, HEADS, METHODS, NOISES, SEVERITIES, DistinctRun, N
from page_tables import Page, Table
from rich.console import Console

from regard.measures.agreement import kendall
from regard.present.as_json import run_json
from regard.present.as_markdown import run_markdown
from regard.present.evidence import shown
from regard.present.evidence_table import evidence_table
from regard.present.metrics_view import metrics_view
from regard.present.reading import reading
from regard.present.report import report
from regard.present.run_reader import Material
from regard.records import Score

Values = dict[str, float]
"""Example -> value, defined ones only."""
INTERVAL = re.compile(r"([-+]?\d+\.?\d*) ?%? \[([-+]?\d+\.?\d*)%?, ([-+]?\d+\.?\d*)%?\]")
DRIFT_HEADS = ("rank", "top_k", "jsd", "centre", "unaligned")
RUN = DistinctRun()


@pytest.fixture(scope="module")
def page() -> Page:
    return Page(report(RUN))


# ---------------------------------------------------------------------- what must be shown


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
    if head == "as it is":
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
        "comprehensiveness, as it is": lambda: {k: v for k, v in clean.items() if k in noisy},
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
    ("verdicts", ""), ("", ""), ("settings", ""), ("errs", "Sealed half"), ("worked-examples", "Relevance of every"),
}  # fmt: skip
"""Tables with tests of their own below, or without a mean over examples."""


def kind(table: Table) -> tuple[str, str] | None:
    known = [k for k in (*ORACLES, *ELSEWHERE) if k[0] == table.section and table.caption.startswith(k[1])]
    return max(known, key=lambda k: len(k[1]), default=None)


def clusters(found: Values) -> int:
    return len({RUN.clusters[name] for name in found})


# ---------------------------------------------------------------------- tables of the page


def test_no_table_is_without_a_test(page: Page) -> None:
    unknown = [(t.section, t.caption[:40]) for t in page.tables if kind(t) is None]
    assert unknown == []
    assert {kind(t) for t in page.tables} >= set(ORACLES)


@pytest.mark.parametrize("which", ORACLES, ids=" ".join)
def test_each_cell_has_the_n_and_the_mean_of_its_own_values(page: Page, which: tuple[str, str]) -> None:
    seen = list[int]()
    for table in (t for t in page.tables if kind(t) == which):
        for i, row in enumerate(table.rows):
            for j, cell in enumerate(row[1:], 1):
                name = row[0].removesuffix(" baseline")
                found = ORACLES[which](table, name, table.head[j])
                if found is None:
                    assert not re.search(r"\d", cell)
                    continue
                size = table.size(i, j)
                assert size is not None, cell
                assert size[0] == len(found), (table.caption, row[0], table.head[j], cell)
                assert size[1] in {clusters(found), size[0]}, cell
                _estimate(cell, [*found.values()])
                seen.append(len(found))
    assert len(set(seen)) > 1, "the run must not give all numbers of a table the same n"


def _estimate(cell: str, found: Sequence[float]) -> None:
    shown = re.match(r"[-+]?\d+\.(\d+)", cell)
    assert shown is not None, cell
    assert float(shown[0]) == pytest.approx(np.mean(found), abs=0.5000001 * 10 ** -len(shown[1])), cell


@pytest.mark.parametrize("severity", [0, *SEVERITIES])
def test_calibration_counts_examples_with_confidence_and_label(page: Page, severity: int) -> None:
    (table,) = [t for t in page.tables if t.caption.startswith("Lower is better")]
    row = [0, *SEVERITIES].index(severity)
    names = NOISES if severity else ("none",)
    sure = [values(score("confidence", noise=n, severity=severity)) for n in names]
    right = [accuracy(n, severity) if severity else labelled() for n in names]
    both = {name for c, r in zip(sure, right, strict=True) for name in c if name in r}
    wrong = {name for c, r in zip(sure, right, strict=True) for name in c if r.get(name) == 0}
    means = [by_example([values(score(m, noise=n, severity=severity)) for n in names]) for m in ("nll", "brier")]
    expected = [both, both, both, *means, by_example(sure), wrong]
    assert [table.size(row, j)[0] for j in range(1, 8)] == [len(some) for some in expected]  # type: ignore[index]


@pytest.mark.parametrize("attack", ATTACKS)
def test_attacks_name_their_denominators(page: Page, attack: str) -> None:
    (table,) = [t for t in page.tables if t.caption.startswith("Success is")]
    (row,) = [row for row in table.rows if row[0].startswith(attack)]
    success = values(score("attack_success", attack=attack))
    assert row[1] == f"{sum(v > 0 for v in success.values())} of {len(success)}"
    _estimate(row[2], [*success.values()])
    for cell, metric in zip(
        row[3:7], ("accuracy", "attack_queries", "attack_perturbed", "attack_similarity"), strict=True
    ):
        found = values(score(metric, attack=attack))
        assert f"n = {len(found)}" in cell, metric
        if metric != "attack_queries":
            _estimate(cell, [*found.values()])


# ---------------------------------------------------------------------- sentences of the page


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
    yield r"weights; (\d+) examples\.", "41"
    yield r"when it says positive n = (\d+)", str(_of_relevance("positive"))
    yield r"when it says negative n = (\d+)", str(_of_relevance("negative"))
    yield r"The nearest: leave_one_out, difference [^,]+, [^,]+, n = (\d+)\.", str(len(_instead()))
    yield r"above 0.05\? n = (\d+),", "40"
    yield r"above 0.06\? n = (\d+),", "39"
    yield r"above 0.07\? n = (\d+),", "38"
    rankings = [score("pointing", m) for m in (*METHODS[:2], "random:0")]
    lost = [values(r, p) for r in rankings for p in (0, 1)]
    yield r"Mean over (\d+ to \d+) examples with 95 % band, mask", _between(lost)
    caps = score("max_jsd", "attention")
    yield r"within each cap, mean over (\d+ to \d+) examples", _between([values(caps, p) for p in (0, 1)])
    yield r"none of the four was found in (\d+) examples", "8"
    yield r"Of (\d+) other methods", "1"
    for operator, metric in (("mask", "Comprehensiveness"), ("delete", "Comprehensiveness"), ("mask", "Sufficiency")):
        found = [_paired(metric.lower(), operator, method) for method in METHODS[:2]]
        sizes = sorted({len(f) for f in found})
        words = str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[1]}"
        yield rf"{metric} \({operator}\), ([\d to]+) examples\.", words
    yield (
        r"random n = (\d+ to \d+) Numbers",
        _between([values(score("comprehensiveness", m, operator="mask"), p) for m in METHODS for p in (0, 1)]),
    )
    yield r"best of (\d+) heads", str(len(HEADS) - 1)
    yield r"all heads\), n = (\d+) unless", str(max(len(values(score("head_gain", h))) for h in HEADS))
    yield r"right in [^(]+ of (\d+) examples as they are", _n(right)
    yield r"it is right in [^(]+\(n = (\d+)\)", _n(by_example([*levels.values()]))
    yield rf"under the worst of them, {worst}, in [^(]+\(n = (\d+)\)", _n(levels[worst])
    yield r"as it is: [^(]+\(n = (\d+)\) of the examples", _n(values(score("worst_case_accuracy", severity="all")))
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


def _paired(metric: str, operator: str, method: str) -> Values:
    ours, base = (values(score(metric, m, operator=operator)) for m in (method, "random"))
    return {name: v for name, v in ours.items() if name in base}


def _instead() -> set[str]:
    places = [("comprehensiveness", o) for o in ("mask", "delete", "mean")] + [("sufficiency", "mask")]
    found = [set(values(score(m, a, operator=o))) for m, o in places for a in METHODS[:2]]
    return set.intersection(*found)


def _all_points(found: Score) -> Values:
    rows = next(iter(found.curves.values()))
    return {name: 0.0 for name, row in zip(found.ids, rows, strict=True) if not np.isnan(row).any()}


COUNTED = re.compile(r"\bn = \d+|(?<![\d.])\d+ (?:of|to) \d+|(?<![\d.])\d+ examples?\b|\bof \d+ \w+", re.IGNORECASE)
NO_DATA = re.compile(
    r"on \d+ planted models.*?decided rightly[^.]*\.|Sealed half.*?times\.|regard \d[\d.]*\w*|below \d+ predictions"
)
"""Counts about regard itself."""


def test_each_count_in_a_sentence_is_that_of_its_data(page: Page) -> None:
    words = NO_DATA.sub("", " ".join(v for k, v in page.words.items() if k not in ("settings", "meaning", "limits")))
    left = words
    for pattern, expected in sentences():
        matches = [*re.finditer(pattern, words, re.IGNORECASE)]
        assert matches, pattern
        for match in matches:
            assert match[1] == expected, (pattern, match[0])
            left = left.replace(match[0], " ")
    assert COUNTED.findall(left) == [], "a count that no test knows"


# ---------------------------------------------------------------------- the other forms


def test_markdown_has_the_same_numbers() -> None:
    text = run_markdown(RUN).replace("\\", "")
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    head = next(i for i, line in enumerate(lines) if line[0] == "method")
    caption = re.search(r"^n = (\d+)(?: in \d+ clusters)? unless a cell says otherwise, Seed 0$", text, re.MULTILINE)
    assert caption is not None
    for row in lines[head + 2 :]:
        for title, cell in zip(lines[head][1:], row[1:], strict=True):
            metric, operator = title.split(", ")
            found = values(score(metric, row[0].removesuffix(" (baseline)"), operator=operator))
            own = re.search(r"n = (\d+)", cell)
            assert int((own or caption)[1]) == len(found), (row[0], title)
            _estimate(cell, [*found.values()])


def test_json_has_the_same_numbers() -> None:
    found = run_json(RUN)
    for row in found["summaries"]:  # type: ignore[union-attr]
        own = values(score(row["metric"], row["method"], operator=row["where"]["operator"]))  # type: ignore[index,call-overload]
        part = row["where"].get("class")  # type: ignore[index,call-overload,union-attr]
        inside = {e["id"] for e in RUN.examples() if part in (None, e["predicted"])}
        own = {k: v for k, v in own.items() if k in inside}
        assert (row["n"], row["clusters"]) == (len(own), clusters(own))  # type: ignore[index,call-overload]
        assert row["undefined"] == len(inside) - len(own)  # type: ignore[index,call-overload]
        assert row["estimate"] == pytest.approx(np.mean([*own.values()]))  # type: ignore[index,call-overload]
    for row in found["differences"]:  # type: ignore[union-attr]
        pair = _paired(row["metric"], row["setting"]["operator"], row["method"])  # type: ignore[index,call-overload,arg-type]
        assert row["n"] == len(pair)  # type: ignore[index,call-overload]
    exhibits = found["exhibits"]
    assert exhibits["instead"]["n"] == len(_instead())  # type: ignore[index,call-overload]
    other = exhibits["other_attention"]  # type: ignore[index,call-overload]
    assert other["n"] == len(values(score("max_jsd", "attention")))  # type: ignore[index,call-overload]
    assert other["shuffled_n"] == len(values(score("permuted", "attention")))  # type: ignore[index,call-overload]


def _terminal(shown: object, width: int) -> str:
    out = Console(file=StringIO(), width=width, no_color=True)
    out.print(shown)
    return str(out.file.getvalue())  # type: ignore[attr-defined]


def test_terminal_table_has_the_same_numbers() -> None:
    text = _terminal(evidence_table(Material(RUN), width=400), 400)
    lines = [re.split(r"  +", line.strip()) for line in text.splitlines() if re.match(r"\w.*\[", line)]
    caption = re.search(r"n = (\d+)(?: in \d+ clusters)? unless a cell says otherwise", text)
    assert caption is not None
    columns = [("comprehensiveness", "mask"), ("comprehensiveness", "delete"), ("sufficiency", "mask")]
    rows = [row for row in lines if row[0].removesuffix(" (baseline)") in METHODS]
    assert len(rows) == len(METHODS)
    for name, *cells in rows:
        for (metric, operator), cell in zip(columns, cells, strict=True):
            found = values(score(metric, name.removesuffix(" (baseline)"), operator=operator))
            own = re.search(r"n = (\d+)", cell)
            assert int((own or caption)[1]) == len(found), (name, metric, operator)
            assert f"({N - len(found)} undefined)" in cell
            _estimate(cell, [*found.values()])


def test_metrics_view_has_the_same_numbers() -> None:
    plain = [s for s in RUN.summaries() if s.metric == "sufficiency"]
    text = _terminal(metrics_view(plain, [], [*METHODS], width=300), 300)
    heads = [re.search(r"n = (\d+)", part) for part in re.split(r"  +", text.splitlines()[3].strip())]
    sizes = {(s.method, str(s.where.get("class"))): s.n for s in plain}
    order = ["None", "negative", "positive"]
    usual = [int(h[1]) for h in heads if h]
    assert len(usual) == len(order)
    for method in METHODS:
        block = re.search(rf"^{method}.*?(?=^\w|\Z)", text, re.MULTILINE | re.DOTALL)
        assert block is not None
        for part, common in zip(order, usual, strict=True):
            n = sizes[method, part]
            assert n == common or f"n = {n}" in block[0], (method, part)
    everything = sorted(s.n for s in plain)
    assert f"n = {everything[0]} to {everything[-1]}, seed" in text


def test_words_give_the_range_of_n() -> None:
    said = " ".join(reading(Material(RUN)))
    sizes = sorted(len(_paired("comprehensiveness", "mask", m)) for m in METHODS[:2])
    assert f"Comprehensiveness (mask), {sizes[0]} to {sizes[-1]} examples." in said


# ---------------------------------------------------------------------- a model that answers with a number


def test_a_number_model_has_the_n_of_each_level() -> None:
    run = DistinctRun(numbers=True)
    page = Page(report(run))

    def of(metric: str, noise: str, severity: int) -> Values:
        (found,) = [
            s
            for s in run.found
            if (s.metric, s.where.get("noise"), s.where.get("severity")) == (metric, noise, severity)
        ]
        return values(found)

    for metric, begin in (("output_change", "Mean absolute change"), ("absolute_error", "Mean distance")):
        (table,) = [t for t in page.tables if t.caption.startswith(begin)]
        for i, row in enumerate(table.rows):
            for j, head in enumerate(table.head[1:], 1):
                severity = 0 if head == "as it is" else int(head.split()[-1])
                names = ("none",) if not severity else NOISES if row[0] == "mean over noises" else (row[0],)
                found = by_example([of(metric, n, severity) for n in names])
                assert table.size(i, j) == (len(found), len(found)), (begin, row[0], head)
                _estimate(row[j], [*found.values()])
    words = page.words["robustness"]
    hard = SEVERITIES[-1]
    moved = by_example([of("output_change", n, hard) for n in NOISES])
    assert f"here), n = {len(moved)}. Under noise" in words
    worst = max(NOISES, key=lambda n: np.mean([*of("output_change", n, hard).values()]))
    assert re.search(rf"worst of them, {worst}, by [^(]+\(n = {len(of('output_change', worst, hard))}\)", words)
    flips = by_example([of("flips", n, hard) for n in NOISES])
    assert re.search(rf"in [^(]+\(n = {len(flips)}\) of the examples by more", words)


# ---------------------------------------------------------------------- intervals


def _forms() -> Iterator[str]:
    page = Page(report(RUN))
    yield " ".join([*page.words.values(), *(cell for t in page.tables for row in t.rows for cell in row)])
    yield run_markdown(RUN).replace("\\", "")
    yield _terminal(evidence_table(Material(RUN), width=400), 400)
    yield "\n".join(" ".join(shown(s)) for s in RUN.summaries())


def test_no_displayed_interval_excludes_its_own_estimate() -> None:
    for text in _forms():
        found = INTERVAL.findall(text)
        assert len(found) > 5
        for estimate, low, high in found:
            assert float(low) <= float(estimate) <= float(high), (estimate, low, high)
