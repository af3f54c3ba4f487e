"""A package of somebody else's adds one method of each kind by entry points; no file of regard is edited."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from click.testing import Result

from regard import registry
from regard.judge import evidence
from regard.judge.verdicts import verdicts
from regard.networks.scores import make_score
from regard.present.messages import messages
from regard.records import Spec
from regard.registry import arguments
from regard.store.judgements import judgement_to_json
from regard.store.run import Run

PLUG_IN = Path(__file__).parents[1] / "plug_in"
ADDED = {
    "explainer": "word_length",
    "metric": "top_share",
    "engine": "backwards",
    "score": "distance",
    "question": "sharp",
    "language": "xx",
}


@pytest.fixture
def acme(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package on sys.path, as if it were installed."""
    words = (messages.catalogue, messages._table, messages._text)
    caches = (registry._outsiders, evidence.single_quantities, *words)
    monkeypatch.syspath_prepend(str(PLUG_IN))
    for cached in caches:
        cached.cache_clear()
    yield
    for cached in caches:
        cached.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "acme"]:
        del sys.modules[name]


@pytest.mark.parametrize("kind", ADDED)
def test_the_list_shows_the_added_method(acme: None, regard: Callable[..., Result], kind: str) -> None:
    rows = json.loads(regard("list", kind, "--json").stdout)
    assert ADDED[kind] in [row["name"] for row in rows]
    assert not any("problem" in row for row in rows)


def test_audit_and_report_use_the_added_methods(acme: None, regard: Callable[..., Result], tmp_path: Path) -> None:
    out = tmp_path / "run"
    words = f"audit mine.py:make --data good.csv --profile quick --engine backwards --lang xx --out {out}"
    result = regard(*words.split())
    assert result.exit_code == 0, result.stderr
    run = Run(out)
    assert "word_length" in run.methods()
    assert "top_share" in {score.metric for score in run.scores()}
    page = (out / "report.html").read_text("utf-8")
    assert '<html lang="en-x-acme"' in page
    assert "ACMESE" in page
    assert "word_length" in page
    assert "Does ACME call this map sharp?" in page
    assert "top share" in page
    assert "Skip to the verdict" in page, "a sentence that the language lacks is said in English"


def test_an_unknown_engine_or_language_is_refused(acme: None, regard: Callable[..., Result]) -> None:
    unknown = regard("audit", "mine.py:make", "--data", "good.csv", "--engine", "backward")
    assert unknown.exit_code == 2
    assert "backwards" in unknown.stderr
    assert regard("audit", "--lang", "xy").exit_code == 2


def test_a_network_takes_the_added_score(acme: None) -> None:
    assert arguments(Spec("learner", "classifier", {"attention": "distance"})) == {"attention": "distance"}
    scores = make_score("distance", 2, 2, 4)(torch.zeros(1, 2), torch.tensor([[3.0, 4.0]]))
    assert scores.tolist() == [[-5.0]]


def test_an_added_question_changes_no_verdict_of_ours(
    acme: None, regard: Callable[..., Result], tmp_path: Path
) -> None:
    out = tmp_path / "run"
    experiments = "map_shape,permutation:times=4,route,pointing:sizes=[1],top_word,exclusive"
    words = f"audit mine.py:make --data good.csv --profile quick --experiments {experiments} --out {out}"
    assert regard(*words.split()).exit_code == 0
    (judgement,) = Run(out).manifest["judgements"]
    *ours, added = judgement["verdicts"]
    assert (added["question"], added["rule"]) == ("Does ACME call this map sharp?", "ACME.sharp")
    assert judgement["margins"]["sharp: sharp above"] == 0.01
    registry._outsiders.cache_clear()
    sys.path.remove(str(PLUG_IN))
    (alone,) = [judgement_to_json(j) for j in verdicts(out)]
    assert json.loads(json.dumps(alone["verdicts"])) == ours
