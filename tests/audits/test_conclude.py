"""Conclusions: stored once, read back exactly, and computed for runs that have none."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from regard.audits import conclude as concluding
from regard.audits.audit import audit
from regard.audits.conclude import VERSION, ConcludedRun, Conclusions, conclude
from regard.audits.conclusions.run_facts import RunFacts
from regard.errors import InputError
from regard.present.report.report import report
from regard.records import Json
from regard.store.codec import from_json, to_json
from regard.store.ledger import Ledger
from regard.store.run import Run
from regard.store.shapes import Mismatch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "present"))
from distinct_run import DistinctRun


@pytest.mark.parametrize("numbers", [False, True])
def test_conclusions_survive_json(numbers: bool) -> None:
    conclusions = conclude(RunFacts(DistinctRun(numbers=numbers)))
    empty = [name for name in Conclusions.__dataclass_fields__ if not getattr(conclusions, name)]
    assert "under_noise" not in empty or "answers_under_noise" not in empty
    stored = to_json(conclusions)
    back = from_json(Conclusions, json.loads(json.dumps(stored, allow_nan=False)))
    assert to_json(back) == stored
    assert repr(back) == repr(conclusions)  # also where NaN stands


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("concluded") / "run"
    audit("planted:pointed", out=folder, profile="quick", limit=12, experiments=())
    return folder


def test_an_audit_stores_them_and_a_report_only_draws(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = conclude(RunFacts(Run(run)))
    assert repr(ConcludedRun(Run(run)).conclusions) == repr(fresh)
    page = report(Run(run))
    monkeypatch.setattr(concluding, "conclude", lambda facts: pytest.fail("computed although it is stored"))
    assert report(Run(run)) == page


def with_conclusions(run: Path, copy: Path, stored: Json) -> Run:
    """A copy of a run that holds other conclusions."""
    shutil.copytree(run, copy)
    with Ledger.write(copy) as book:
        book.note(conclusions=stored)
    return Run(copy)


@pytest.mark.parametrize("stored", [None, {"version": VERSION + 1}])
def test_a_run_without_them_shows_the_same(run: Path, tmp_path: Path, stored: Json) -> None:
    assert report(with_conclusions(run, tmp_path / "run", stored)) == report(Run(run))


def test_damaged_ones_are_refused_by_field(run: Path, tmp_path: Path) -> None:
    stored = Run(run).conclusions()
    assert stored is not None
    first, *others = stored["all"]["differences"]
    wrong = {**stored, "all": {**stored["all"], "differences": [{**first, "n": "many"}, *others]}}
    with pytest.raises(InputError, match=r"field differences\[0\]\.n.*a whole number.*many"):
        report(with_conclusions(run, tmp_path / "run", wrong))


@dataclass(frozen=True)
class Inner:
    name: str
    size: float = 1.0


@dataclass(frozen=True)
class Outer:
    parts: tuple[Inner, ...]
    pair: tuple[int, bool] | None
    kind: Literal["a", "b"] = "a"


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"pair": None}, "parts"),
        ({"parts": [{"name": "x", "weight": 1}], "pair": None}, r"parts\[0\]\.weight"),
        ({"parts": [{"name": "x", "size": "large"}], "pair": None}, r"parts\[0\]\.size"),
        ({"parts": [], "pair": [1]}, "pair"),
        ({"parts": [], "pair": [1, 2]}, r"pair\[1\]"),
        ({"parts": [], "pair": None, "kind": "c"}, "kind"),
        ([], ""),
    ],
)
def test_the_codec_names_what_does_not_fit(value: object, place: str) -> None:
    with pytest.raises(Mismatch, match=f"^{place}: expected"):
        from_json(Outer, value)


def test_the_codec_fills_defaults() -> None:
    assert from_json(Outer, {"parts": [{"name": "x"}], "pair": [2, True]}) == Outer((Inner("x"),), (2, True))
