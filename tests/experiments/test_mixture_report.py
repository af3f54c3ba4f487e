"""A planted mixture through audit, store and judge: the reading, and both kinds of examples wherever it is shown."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from planted_mixture import mixture, mixture_texts

from regard.audits.audit import audit
from regard.cli.root import root
from regard.present.report.as_json import run_json
from regard.present.report.as_markdown import run_markdown
from regard.present.report.report import report
from regard.present.run_reader import Material
from regard.store.run import Run

EXPERIMENTS = ["map_shape", "permutation", "route", "pointing"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    path = tmp_path_factory.mktemp("mixture") / "run"
    texts = mixture_texts(90, 0.3, 6)
    return audit(
        mixture(), texts, out=path, explainers=["attention"], metrics=[], experiments=EXPERIMENTS, keep=0, limit=90
    )


def test_the_reading_is_for_most_inputs_and_the_bypass_is_named(run: Run) -> None:
    (judgement,) = run.manifest["judgements"]
    assert judgement["reading"] == "for most inputs"
    (verdict,) = [v for v in judgement["verdicts"] if v["question"] == "mixture"]
    slices = [row for row in verdict["rows"] if "slice" in row]
    assert (slices[0]["slice"], slices[0]["value"]) == ("way", "bag")
    way = {e["id"]: e["slices"]["way"] for e in run.examples()}
    kinds = {(row["here"], way[row["example"]]) for row in verdict["rows"] if "here" in row}
    assert kinds == {("right", "keyword"), ("wrong", "bag")}


def test_every_example_has_its_stored_trust(run: Run) -> None:
    stored = run.conclusions()
    assert stored is not None
    rows = stored["all"]["trust_of_examples"]
    assert [row["example"] for row in rows] == [e["id"] for e in run.examples()]
    assert Material(run).conclusions.trust_of_examples[0].example == rows[0]["example"]
    assert all(row["share"] is None or 0 <= row["share"] <= 1 for row in rows)


def test_one_example_of_each_kind_is_shown(run: Run) -> None:
    told: dict[str, Any] = run_json(run)
    kinds = told["exhibits"]["mixture"]
    assert (kinds["right"]["mark"], kinds["wrong"]["mark"]) == ("right", "wrong")
    assert len(told["trust"]) == len(run.examples())
    page = report(run)
    card = re.search(r'<article id="exhibit-trust".*?</article>', page, re.S)
    assert card is not None
    assert card[0].count('class="twin"') == 2
    assert "✓" in card[0]
    assert "✗" in card[0]
    assert run_markdown(run).count("✗") >= 1
    result = CliRunner().invoke(root, ["verdicts", str(run.path), "--json"])
    assert json.loads(result.output)[0]["reading"] == "for most inputs"
    plain = CliRunner().invoke(root, ["verdicts", str(run.path)], catch_exceptions=False)
    assert kinds["right"]["example"] in plain.output
    assert kinds["wrong"]["example"] in plain.output


def test_a_copy_without_conclusions_gives_the_same_trust(run: Run, tmp_path: Path) -> None:
    from regard.audits.conclude import conclude
    from regard.audits.conclusions.run_facts import RunFacts

    again = conclude(RunFacts(run)).trust_of_examples
    assert [row.mark for row in again] == [row.mark for row in Material(run).conclusions.trust_of_examples]
