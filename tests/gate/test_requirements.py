"""Requirements of the judge's words: pass, fail and open, by interval and by answer."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from made_run import made_run

from regard.errors import InputError, UnknownName
from regard.gate.gate import Outcome, gate
from regard.gate.policy import Policy, parse_policy, parse_requirement
from regard.records import Graded, Judgement, Verdict
from regard.store.run import Run

GRADED = Graded(share=0.75, low=0.6, high=0.9, level=0.95, n=60, best="lrp")
JUDGEMENT = Judgement(
    reading="do not read",
    sentence="",
    why="",
    attention="",
    n=60,
    verdicts=(
        Verdict("map", "holds", "", "Q0.holds", "", ""),
        Verdict("points", "fails", "", "Q2.fails", "", ""),
        Verdict("matter", "uninformative", "", "Q1.open", "", ""),
        Verdict("seeds", "uninformative", "", "Q6.not tested", "", ""),
    ),
    graded=GRADED,
)


def judged(path: Path, *, status: str = "complete", **changes: Any) -> Run:
    return made_run(path, [True] * 20, status=status).with_judgements([replace(JUDGEMENT, **changes)])


def checked(run: Run, *rules: str) -> Outcome:
    return gate(run, Policy(requirements=tuple(map(parse_requirement, rules))))


@pytest.mark.parametrize(
    ("rule", "result"),
    [
        ("share>=0.55", "pass"),
        ("share>=60%", "pass"),
        ("share>=0.7", "inconclusive"),
        ("share >= 0.95", "fail"),
        ("map=yes", "pass"),
        ("points=yes", "fail"),
        ("points=yes,no", "pass"),
        ("matter=yes", "inconclusive"),
        ("matter=yes,not settled", "pass"),
        ("seeds=yes", "inconclusive"),
        ("verdict=read as evidence", "fail"),
        ("verdict=read as evidence,do not read", "pass"),
    ],
)
def test_three_results(tmp_path: Path, rule: str, result: str) -> None:
    (check,) = checked(judged(tmp_path / "run"), rule).checks
    assert check.result == result


def test_undecided_reading_is_open(tmp_path: Path) -> None:
    outcome = checked(judged(tmp_path / "run", reading="undecided"), "verdict=read as evidence")
    assert outcome.exit_code == 3


@pytest.mark.parametrize(
    "changes",
    [
        {"graded": None},
        {"graded": replace(GRADED, share=math.nan, low=math.nan, high=math.nan)},
        {"reading": "nothing to read"},
    ],
)
def test_share_that_says_nothing_never_passes(tmp_path: Path, changes: dict[str, Any]) -> None:
    (check,) = checked(judged(tmp_path / "run", **changes), "share>=0").checks
    assert check.result == "inconclusive"


def test_open_end_of_an_interval_is_no_bound(tmp_path: Path) -> None:
    (check,) = checked(judged(tmp_path / "run", graded=replace(GRADED, low=-math.inf)), "share>=0.1").checks
    assert check.result == "inconclusive"


def test_nothing_passes_in_an_unfinished_run(tmp_path: Path) -> None:
    outcome = checked(judged(tmp_path / "run", status="interrupted"), "map=yes", "share>=0.5")
    assert [check.result for check in outcome.checks] == ["inconclusive", "inconclusive"]


def test_unknown_question_and_run_without_verdicts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="points"):
        checked(judged(tmp_path / "run"), "point=yes")
    with pytest.raises(InputError):
        checked(made_run(tmp_path / "plain", [True] * 20), "map=yes")


@pytest.mark.parametrize(
    "rule", ["share>=much", "share>=1.5", "points=perhaps", "verdict=fine", "points", "=yes", "share=0.7"]
)
def test_bad_rules_are_refused(rule: str) -> None:
    with pytest.raises((InputError, UnknownName)):
        parse_requirement(rule)


@pytest.mark.parametrize(
    "table", ["share = 0.7\nquestion = 'map'", "answer = 'yes'", "question = 'map'", "name = 'x'", "share = true"]
)
def test_bad_tables_are_refused(table: str) -> None:
    with pytest.raises((InputError, UnknownName)):
        parse_policy(f"[[require]]\n{table}\n")


def test_policy_file_requires_and_a_named_one_may_only_warn(tmp_path: Path) -> None:
    policy = parse_policy("[[require]]\nname = 'map'\nquestion = 'points'\nanswer = ['yes', 'partly']\n")
    run = judged(tmp_path / "run")
    assert gate(run, policy).exit_code == 1
    assert gate(run, policy, allow_fail=["map"]).exit_code == 0
    (check,) = gate(run, policy).to_json()["checks"]
    assert (check["words"], check["result"]) == ("no", "fail")
