"""`regard metrics`: the numbers of a run again, and further ones on the same relevances."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from click.testing import Result
from rich.console import Console

from regard.present.terminal.metrics_view import metrics_view
from regard.records import Summary
from regard.store.run import Run

Call = Callable[..., Result]
CODE = "--allow-code"
"""The model of these runs is a file of the user's own."""


def read(result: Result) -> dict[str, object]:
    assert result.exit_code == 0, result.output
    return dict(json.loads(result.stdout))


def test_every_summary_with_its_facts(regard: Call, audited: tuple[Path, Result]) -> None:
    out, _ = audited
    found = read(regard("metrics", str(out), "--json"))
    run = Run(out)
    assert len(found["summaries"]) == len(run.summaries())
    assert set(found["metrics"]) == {s.metric for s in run.summaries()}
    for facts in found["metrics"].values():
        assert facts["formula"]
        assert facts["cite"]
        assert facts["baseline"]
        assert facts["ceiling"]
    roles = {(s["metric"], s["role"]) for s in found["summaries"]}
    assert {("comprehensiveness", "baseline"), ("comprehensiveness", "ceiling"), ("agreement", "ceiling")} <= roles
    ceilings = [s for s in found["summaries"] if s["role"] == "ceiling" and s["metric"] == "comprehensiveness"]
    assert {s["method"] for s in ceilings} == {"leave_one_out"}
    assert {s["where"]["operator"] for s in ceilings} == {run.manifest["model"]["operators"][0]}, (
        "its own operator only"
    )


def test_rank_stability_between_operators(regard: Call, audited: tuple[Path, Result]) -> None:
    found = read(regard("metrics", str(audited[0]), "--json"))["rank_stability"]
    by_metric = {row["metric"]: row for row in found}
    assert {"comprehensiveness", "sufficiency", "log_odds"} <= set(by_metric)
    for row in found:
        assert len(row["operators"]) == 2
        assert row["operators"][0] != row["operators"][1]
        assert "random" not in row["methods"]
        assert -1 <= row["tau"] <= 1
        assert set(row["best"]) <= set(row["methods"])
        assert row["n"] == 6


def test_what_a_person_sees(regard: Call, audited: tuple[Path, Result]) -> None:
    result = regard("metrics", str(audited[0]))
    assert result.exit_code == 0, result.output
    for words in (
        "comprehensiveness", "higher is better", "lower is better", "random (baseline)", "ceiling", "n = 6", "seed 0",
        "rank stability between removal operators", "baseline: random; ceiling: leave_one_out",
    ):  # fmt: skip
        assert words in result.output


def test_classes_have_columns_of_their_own_and_wide_tables_are_cut() -> None:
    rows = [
        Summary("aopc", method, 0.5, 0.4, 0.6, 9, 9, 1, 0, better="higher", where={"operator": "mask", **part})
        for method in ("attention", "random")
        for part in ({}, *({"class": name} for name in ("positive", "negative", "neither")))
    ]
    for width, tables in ((200, 1), (60, 2)):
        console = Console(width=width, record=True, file=StringIO())
        console.print(metrics_view(rows, [], ["attention", "random"], width=width))
        text = console.export_text()
        assert text.count("method ") == tables
        assert "class negative" in text
        assert "(1 undefined)" in text
        assert all(len(line) <= width for line in text.splitlines())


def test_further_metrics_on_the_relevances_of_the_run(regard: Call, audited: tuple[Path, Result]) -> None:
    out, _ = audited
    before = (out / "manifest.json").read_bytes()
    found = read(regard("metrics", str(out), "--metric", "deletion_area,decision_flip,max_sensitivity", "--json", CODE))
    whole = [s for s in found["summaries"] if "class" not in s["where"]]
    assert {s["metric"] for s in whole} == {"deletion_area", "decision_flip", "max_sensitivity"}
    assert {s["method"] for s in whole} == set(Run(out).methods())
    assert len({s["where"]["operator"] for s in whole if s["metric"] == "deletion_area"}) == 2
    assert all(s["n"] + s["undefined"] == 6 for s in whole)
    assert (out / "manifest.json").read_bytes() == before, "the run itself is not changed"


def test_computed_again_it_is_the_same_number(regard: Call, audited: tuple[Path, Result]) -> None:
    out, _ = audited
    names = ("comprehensiveness", "agreement")
    stored = [s for s in read(regard("metrics", str(out), "--json"))["summaries"] if s["metric"] in names]
    again = read(regard("metrics", str(out), "--metric", ",".join(names), "--json", CODE))["summaries"]

    def table(rows: list[dict[str, object]]) -> dict[tuple[object, ...], object]:
        return {
            (s["metric"], s["method"], s["role"], s["where"].get("operator"), s["where"].get("class")): s for s in rows
        }

    one, other = table(stored), table(again)
    assert set(one) == set(other)
    for key, row in one.items():
        if row["estimate"] is not None:
            assert other[key]["estimate"] == pytest.approx(row["estimate"], abs=1e-6)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nowhere",), "nowhere"),
        (("RUN", "--metric", "deletion_aera"), "deletion_area"),
        (("RUN", "--metric", "deletion_area:bins=0", CODE), "bins"),
    ],
)
def test_one_line_about_what_is_wrong(
    words: tuple[str, ...], said: str, regard: Call, audited: tuple[Path, Result]
) -> None:
    result = regard("metrics", *(str(audited[0]) if w == "RUN" else w for w in words))
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stderr.count("regard: ") == 1
    assert "Traceback" not in result.output
