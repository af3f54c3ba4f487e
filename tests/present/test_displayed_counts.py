"""Every n, interval and estimate that is displayed is that of the values behind it, in every form of the report.

In `DistinctRun` no two columns have the same number of defined values, so a number with the n of another one shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from io import StringIO

import numpy as np
import pytest
from distinct_run import ATTACKS, METHODS, NOISES, SEVERITIES, DistinctRun, N
from page_tables import Page
from rich.console import Console
from values_behind import (
    ORACLES,
    RUN,
    Values,
    accuracy,
    by_example,
    clusters,
    kind,
    labelled,
    paired,
    score,
    sentences,
    values,
)

from regard.present.report.as_json import run_json
from regard.present.report.as_markdown import run_markdown
from regard.present.report.report import report
from regard.present.results_table import shown
from regard.present.run_reader import Material
from regard.present.summary import reading
from regard.present.terminal.metrics_view import metrics_view
from regard.present.terminal.results import evidence_table

pytestmark = pytest.mark.wording  # reads the words of pages, tables or notes

INTERVAL = re.compile(r"([-+]?\d+\.?\d*) ?%? \[([-+]?\d+\.?\d*)%?, ([-+]?\d+\.?\d*)%?\]")


@pytest.fixture(scope="module")
def page() -> Page:
    return Page(report(RUN))


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


COUNTED = re.compile(r"\bn = \d+|(?<![\d.])\d+ (?:of|to) \d+|(?<![\d.])\d+ examples?\b|\bof \d+ \w+", re.IGNORECASE)
NO_DATA = re.compile(
    r"on \d+ planted models.*?decided correctly[^.]*\.|Sealed half.*?times\.|regard \d[\d.]*\w*|below \d+ predictions"
    r"|in at least 5 examples"
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
        pair = paired(row["metric"], row["setting"]["operator"], row["method"])  # type: ignore[index,call-overload,arg-type]
        assert row["n"] == len(pair)  # type: ignore[index,call-overload]
    exhibits = found["exhibits"]
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
    sizes = sorted(len(paired("comprehensiveness", "mask", m)) for m in METHODS[:2])
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
                severity = 0 if head == "clean" else int(head.split()[-1])
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
