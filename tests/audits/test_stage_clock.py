"""Budgets in time, with a clock that follows the counted passes: the plan is shortened, and resumed runs replay it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from run_content import stored_bytes
from torch_toy import Texts, TorchToy, sentences

from regard.audits import audit as audit_module
from regard.audits import stage_clock
from regard.audits.audit import audit
from regard.audits.budget import Budget
from regard.audits.schedule import Schedule, Spending
from regard.audits.stage_clock import StageClock
from regard.judge.evidence import _looks

TEXTS = Texts(sentences(40, longest=12))
PACE = 0.01
BUDGET = 90.0
AFTER = 3000
"""Passes after which the machine becomes slower: the pilot is finished."""
OPTIONS: dict[str, Any] = {"profile": "quick", "keep": 0, "budget": f"{BUDGET:g}s"}


class Stopped(BaseException):
    """Stands for the end of a process."""


@dataclass
class Passes:
    """A clock that passes drive: `slower` times the pace after `since` passes. dies: when to end the process; judging:
    seconds of the judge; judged: how often he was asked."""

    slower: float = 1.0
    since: int = 0
    dies: float = float("inf")
    judging: float = 0.0
    judged: int = 0
    now: float = 0.0

    def progress(self, done: int, total: int, eta: float | None) -> None:
        self.now = PACE * (done + (self.slower - 1) * max(0, done - self.since)) + self.judged * self.judging
        if self.now > self.dies:
            raise Stopped

    def judge(self, _: object) -> bool:
        self.judged += 1
        self.now += self.judging
        return False


def run_within(clock: Passes, out: Path, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> Any:
    monkeypatch.setattr(stage_clock, "monotonic", lambda: clock.now)
    monkeypatch.setattr(audit_module, "headline_settled", clock.judge)
    return audit(TorchToy(), TEXTS, out=out, progress=clock.progress, **{**OPTIONS, **changes})


def test_end_of_the_audit_is_part_of_its_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Passes(judging=1.5)
    schedule = run_within(clock, tmp_path / "run", monkeypatch, budget="60s").manifest["schedule"]
    assert clock.now + 10 * 1.5 <= 60, "verdicts, tables and report take as long as ten judgings"
    assert 30 - 13 * 1.5 <= PACE * schedule["passes"] <= 60 - 13 * 1.5, "the checks before the stages take up to half"
    again = run_within(Passes(), tmp_path / "run", monkeypatch, budget="60s")
    assert again.manifest["schedule"] == schedule, "a rerun follows the plan, however long its own judge takes"


def test_opening_counts_and_leaves_at_least_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`started` lies before the opening of model and data; 30 s of 90 were spent, or all of them."""
    monkeypatch.setattr("regard.audits.audit.time.monotonic", lambda: 0.0)
    for started, seconds in ((0.0, BUDGET), (-30.0, 60.0), (-300.0, BUDGET / 2)):
        budgets: list[Budget] = []
        monkeypatch.setattr(audit_module, "_run", lambda *args, into=budgets: into.append(args[-1]))
        monkeypatch.setattr(audit_module, "Run", lambda path: path)
        audit(TorchToy(), TEXTS, out=tmp_path, started=started, **OPTIONS)
        assert [budget.seconds for budget in budgets] == [seconds]


def test_machine_that_becomes_slower_shortens_the_plan_for_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow: dict[str, Any] = {"slower": 6.0, "since": AFTER}
    clock = Passes(**slow)
    run = run_within(clock, tmp_path / "run", monkeypatch)
    schedule = run.manifest["schedule"]
    assert clock.now <= BUDGET < PACE * (AFTER + 6 * (schedule["passes"] - AFTER)), "the plan alone would overshoot"
    assert schedule["stopped"] == "time"
    assert schedule["taken"][-1] == schedule["actual"]["examples"] < schedule["looks"][-1]
    assert schedule["actual"]["passes"] < schedule["passes"]
    assert _looks(schedule) == tuple(schedule["taken"]), "the last look may spend what is left of the level"
    again = run_within(Passes(), tmp_path / "run", monkeypatch)
    assert stored_bytes(again) == stored_bytes(run), "a faster machine replays the shortened plan"
    assert again.manifest["schedule"] == schedule
    with pytest.raises(Stopped):
        run_within(Passes(**slow, dies=clock.now - 1.0), tmp_path / "killed", monkeypatch)
    resumed = run_within(Passes(**slow), tmp_path / "killed", monkeypatch).manifest["schedule"]
    assert resumed["stopped"] == "time"
    assert 0 <= resumed["taken"][-1] - schedule["taken"][-1] <= resumed["slice"], "it asks the clock after one slice"


def test_only_live_pages_and_budgets_in_time_are_late(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Passes(now=80.0)
    monkeypatch.setattr(stage_clock, "monotonic", lambda: clock.now)
    late = StageClock(Budget("", seconds=BUDGET), Spending(), 1, started=0.0, computes=True, judging=0.75)
    assert late.is_late(200, PACE)
    assert not late.is_late(50, PACE)
    late.pace = 1.5 * PACE
    assert late.is_late(50, PACE), "a slower machine needs longer for the report, too"
    late.computes = False
    assert not late.is_late(200, PACE)
    assert not StageClock(Budget("", passes=5), Spending(), 1, started=0.0, computes=True).is_late(1e9, PACE)


def test_shortened_schedule_survives_storing() -> None:
    schedule = Schedule("3m", 60, looks=(16, 60), taken=(16, 24), stopped="time", slice=8, ended=4000)
    assert Schedule.from_json(schedule.to_json()) == schedule
