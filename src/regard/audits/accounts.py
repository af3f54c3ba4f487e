"""The accounts of an audit with a budget: actual beside planned, and what more time or all the data would bring."""

from __future__ import annotations

from regard.audits.schedule import Schedule, duration
from regard.records import Message
from regard.store.run import Run

MINUTE = 60.0


def accounts(run: Run) -> list[Message]:
    """Sentences about the cost of a finished run; empty for one without a schedule."""
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
    more = Message.of(
        "budget.more",
        minute=min(left, max(1, int(MINUTE / cost))),
        available=schedule.available,
        time=duration(left * cost),
    )
    return [spent, more]
