"""Cost account of an audit with a budget: actual cost beside the plan, and the effect of more time or more data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from regard.audits.schedule import Schedule, duration
from regard.judge.verdicts import HEADLINE
from regard.records import Json, Message
from regard.store.run import Run

MINUTE = 60.0


def accounts(run: Run) -> list[Message]:
    """Sentences about the cost of a finished run; empty for a run without a schedule."""
    stored = run.manifest.get("schedule")
    if not stored or not stored.get("looks") or not stored.get("actual"):
        return []
    schedule = Schedule.from_json(stored)
    actual = schedule.actual
    examples, pace = int(str(actual["examples"])), schedule.seconds_per_pass
    spent = Message.of(
        "budget.actual",
        planned=schedule.passes,
        planned_time=duration(schedule.passes * pace),
        planned_n=schedule.looks[-1],
        passes=actual["passes"],
        time=duration(float(str(actual["seconds"]))),
        n=examples,
    )
    cost = schedule.passes_per_example * pace
    left = schedule.available - examples
    if left <= 0 or not cost:
        return [spent, Message.of("budget.no_more_data", n=examples)]
    minute = min(left, max(1, int(MINUTE / cost)))
    more = Message.of("budget.more", minute=minute, available=schedule.available, time=duration(left * cost))
    return [spent, more, *_settling(run, examples + minute, schedule.available)]


def _settling(run: Run, minute: int, available: int) -> list[Message]:
    """Name the open headline questions that one more minute would probably settle, and those that all data may settle.

    "Probably" means that the likely number of examples is within reach; "may" means that the lower end of its range is.
    """
    judgements = run.manifest.get("judgements") or []
    verdicts = [v for v in judgements[0]["verdicts"] if v["question"] in HEADLINE] if judgements else []
    still_open = [v for v in verdicts if v["answer"] == "uninformative" and v.get("decides_between")]
    if not still_open:
        return []
    soon = [v for v in still_open if v["decides_at"] is not None and v["decides_at"] <= minute]
    ever = [v for v in still_open if v["decides_between"][0] <= available]
    return [_of_questions("budget.minute_settles", soon), _of_questions("budget.all_may_settle", ever)]


def _of_questions(key: str, verdicts: Sequence[Mapping[str, Json]]) -> Message:
    if not verdicts:
        return Message(f"{key}_nothing")
    return Message.of(key, questions=[Message(f"judge.{v['question']}.question") for v in verdicts])
