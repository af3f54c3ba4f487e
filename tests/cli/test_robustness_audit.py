"""Robustness as a part of a quick audit: numbers, report in both languages, and no words where none may be."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from regard.audits.default_methods import PROFILES
from regard.present.messages.messages import catalogue, speaking
from regard.present.report.report import report
from regard.present.report.sections.robustness import robustness
from regard.present.run_reader import Material
from regard.records import Spec
from regard.registry import build
from regard.store.run import Run

Call = Callable[..., Result]


def test_a_quick_audit_leaves_robustness(audited: tuple[Path, Result]) -> None:
    run = Run(audited[0])
    assert not [p for p in run.problems() if "experiment" in p["stage"]], run.problems()
    names = {
        s.metric
        for s in run.findings()
        if s.where.get("experiment") in ("noise", "explanation_drift", "attack_success")
    }
    assert {
        "accuracy",
        "flips",
        "nll",
        "brier",
        "worst_case_accuracy",
        "explanation_rank",
        "explanation_excess",
    } <= names
    costs = {c["method"]: c for c in run.costs() if c["kind"] == "experiment"}
    assert costs["noise"]["forwards"] >= 6 * 6, "six examples under two noises of three severities"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_section(audited: tuple[Path, Result], language: str) -> None:
    with speaking(language):
        page = str(robustness(Material(Run(audited[0]))))
    said = catalogue(language)
    assert said["robustness.calibration"] in page
    assert said["robustness.explanations"] in page
    assert "keyboard" in page
    assert "<svg" in page
    assert "nan" not in re.sub(r"<[^>]+>", " ", page).lower().split()


def test_both_languages_say_everything() -> None:
    english, chinese = ({k for k in catalogue(n) if k.startswith("robustness.")} for n in ("en", "zh"))
    assert english == chinese
    assert len(english) > 50


def test_a_run_without_it_has_no_section(regard: Call, place: Path) -> None:
    out = place / "narrow"
    words = f"audit {place}/mine.py:make --data {place}/good.csv --out {out} --explainers attention --metrics entropy"
    assert regard(*words.split()).exit_code == 0
    assert robustness(Material(Run(out))) is None


def test_no_words_where_none_may_be(regard: Call, place: Path) -> None:
    out = place / "wordless"
    words = f"audit {place}/mine.py:make --data {place}/good.csv --out {out} --no-text --keep 0 "
    words += "--explainers attention --metrics entropy --experiments noise"
    result = regard(*words.split())
    assert result.exit_code == 0, result.output
    run = Run(out)
    shown = [s for s in run.findings() if s.metric == "witness"]
    assert shown, "there is something to hide"
    for score in shown:
        assert not [v for v in score.where["inputs"].values() if isinstance(v, str)]
        assert all(re.fullmatch(r"(w\d+(\.\d+)?|w\?|\W)+", name) for name in score.where["units"]["names"])
    page = report(run)
    for word in ("gorgeous", "laughed"):
        assert word not in page


@pytest.mark.parametrize("name", PROFILES)
def test_profiles_name_what_exists(name: str) -> None:
    tried = [Spec.parse("experiment", text) for text in PROFILES[name].experiments]
    for spec in tried:
        build(spec)
    assert {"noise", "explanation_drift", "attack_success"} <= {spec.name for spec in tried}
