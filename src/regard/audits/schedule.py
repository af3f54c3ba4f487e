"""The schedule of an audit with a budget: how many passes it may spend, and on how many examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from regard.audits.budget import Budget
from regard.audits.rounds import PILOT, SMALLEST_PILOT, planned_looks
from regard.records import Json, Message

END_SHARE = 0.15
"""Share of a time budget reserved for verdicts, conclusions and the report until the pilot has timed the judge."""
LEAST_END_SHARE, MOST_END_SHARE = 0.05, 0.4
END_JUDGINGS = 12
"""Time reserved for the end of an audit and the look before it, in runs of the judge (7 to 10 measured)."""
PREDICTIONS_SHARE = 0.1
"""Share of the budget for predictions beyond the minimum number."""
MOST_PREDICTIONS_SHARE = 0.25
LEAST_PREDICTIONS = 200
TIMED_PREDICTIONS = 64
"""Predictions to time before deciding on their number."""
SLOWEST = 2.0
"""The end may take so many times as long on a machine that became slower than in the pilot."""
SLICE = 32
"""Examples of a round that run before the passes are compared with the budget again."""
SLICE_SHARE = 0.05
"""Maximum share of a time budget that one slice may take, so that the clock is checked often enough."""
PILOT_SHARE = 0.5
FURTHER_SHARE = 0.2
"""Share of the passes left after the pilot that is reserved for further methods."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """Plan of an audit; a resumed run follows the stored one. Zeros and empty lists stand for "not decided yet".

    available: examples of the data. predictions: how many of them are predicted. pilot: examples of the first round.
    passes: all that may be spent. looks: cumulative numbers of examples at which to consult the judge; the last is the
    most that the budget pays for. taken: the looks so far. stopped: why no further round follows. further: names of the
    further methods. extended: looks after the headline questions were settled, for further questions. slice: examples
    that run before passes and clock are compared with the budget again. ended: passes after which the clock ended the
    further methods.
    """

    budget: str
    available: int
    predictions: int = 0
    pilot: int = 0
    passes: int = 0
    seconds_per_pass: float = 0.0
    passes_per_example: float = 0.0
    looks: tuple[int, ...] = ()
    taken: tuple[int, ...] = ()
    stopped: str = ""
    further: tuple[str, ...] = ()
    extended: tuple[int, ...] = ()
    slice: int = SLICE
    ended: int = 0
    actual: Mapping[str, Json] = field(default_factory=dict)

    def to_json(self) -> dict[str, Json]:
        return {
            "budget": self.budget,
            "available": self.available,
            "predictions": self.predictions,
            "pilot": self.pilot,
            "passes": self.passes,
            "seconds_per_pass": self.seconds_per_pass,
            "passes_per_example": self.passes_per_example,
            "looks": [*self.looks],
            "taken": [*self.taken],
            "stopped": self.stopped,
            "further": [*self.further],
            **({"extended": [*self.extended]} if self.extended else {}),
            **({"slice": self.slice} if self.slice != SLICE else {}),
            **({"ended": self.ended} if self.ended else {}),
            "actual": dict(self.actual),
        }

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Schedule:
        lists = {name: tuple(value.get(name, ())) for name in ("looks", "taken", "further", "extended")}
        return replace(Schedule(value["budget"], value["available"]), **{**value, **lists})


@dataclass(slots=True)
class Spending:
    """Passes and seconds so far. The seconds are those of the pages, so that a resumed run has them too.

    backwards: gradients among the passes. before: seconds of pages from earlier sessions.
    """

    passes: int = 0
    backwards: int = 0
    seconds: float = 0.0
    before: float = 0.0


def predictions_within(budget: Budget, available: int, seconds_per_prediction: float) -> int:
    """Return how many examples to predict: a tenth of the budget, at least 200 unless those take more than a quarter.

    >>> predictions_within(Budget("", passes=50_000), 9000, 0.0), predictions_within(Budget("", passes=400), 9000, 0.0)
    (5000, 100)
    """
    if budget.passes is not None:
        affordable = float(budget.passes)
    else:
        affordable = (budget.seconds or 0.0) / max(seconds_per_prediction, 1e-9)
    usual = max(LEAST_PREDICTIONS, int(PREDICTIONS_SHARE * affordable))
    most = max(TIMED_PREDICTIONS, int(MOST_PREDICTIONS_SHARE * affordable))
    return min(available, usual, most)


def end_seconds(budget: Budget, judging: float | None) -> float:
    """Return the seconds to set aside for verdicts, conclusions and the report. judging: those of one run of the judge.

    >>> end_seconds(Budget("", seconds=100.0), None), end_seconds(Budget("", seconds=100.0), 2.0)
    (15.0, 24.0)
    """
    whole = budget.seconds or 0.0
    if judging is None:
        return END_SHARE * whole
    return min(MOST_END_SHARE * whole, max(LEAST_END_SHARE * whole, END_JUDGINGS * judging))


def allowance(budget: Budget, spent: int, elapsed: float, seconds_per_pass: float, end: float) -> int:
    """Return all passes that the budget pays for, including those already spent; end: seconds set aside."""
    if budget.passes is not None:
        return budget.passes
    left = max(0.0, (budget.seconds or 0.0) - end - elapsed)
    return spent + int(left / max(seconds_per_pass, 1e-9))


def pilot_size(passes: int, spent: int, first: int, available: int) -> int:
    """Return the size of the pilot: 16 examples, fewer if those cost more than half of the rest. first: cost of one."""
    affordable = int(PILOT_SHARE * (passes - spent) / max(1, first)) + 1
    return min(available, PILOT, max(SMALLEST_PILOT, affordable))


def affordable_examples(
    order: Sequence[str], lengths: Mapping[str, int], *, pilot: int, cost: int, passes: int, further: float
) -> int:
    """Return how many examples the rounds can explain with `passes`: an example costs in proportion to its length.

    cost: passes of the pilot. further: the share that is kept back for further methods.
    """
    rate = cost / max(1, sum(lengths[name] for name in order[:pilot]))
    left = passes * (1 - further)
    count = pilot
    for name in order[pilot:]:
        left -= rate * lengths[name]
        if left < 0:
            break
        count += 1
    return count


def slice_within(budget: Budget, seconds_per_example: float, workers: int) -> int:
    """Return how many examples run before the next clock check: at most 5 % of a time budget, one per worker.

    >>> slice_within(Budget("", seconds=900.0), 45.0, 1), slice_within(Budget("", passes=100), 45.0, 1)
    (1, 32)
    """
    if budget.seconds is None:
        return SLICE
    return min(SLICE, max(workers, int(SLICE_SHARE * budget.seconds / max(seconds_per_example, 1e-9)), 1))


def latest_end(budget: Budget, slowness: float, end: float) -> float:
    """Return the second by which a stage must end. slowness: pace of the machine relative to the pilot.

    >>> latest_end(Budget("", seconds=100.0), 1.0, 10.0), latest_end(Budget("", seconds=100.0), 9.0, 10.0)
    (90.0, 80.0)
    """
    return (budget.seconds or 0.0) - end * min(SLOWEST, max(1.0, slowness))


def looks_within(pilot: int, most: int, *, rounds: bool) -> tuple[int, ...]:
    """Return the looks of the judge. rounds: whether to look between rounds; otherwise only at the end."""
    return tuple(planned_looks(pilot, most)) if rounds else (most,)


def duration(seconds: float) -> Message:
    """A time in words."""
    whole = max(1, round(seconds))
    if whole < 60:
        return Message.of("budget.seconds", seconds=whole)
    if whole < 3600:
        return Message.of("budget.minutes", minutes=whole // 60, seconds=whole % 60)
    return Message.of("budget.hours", hours=whole // 3600, minutes=whole % 3600 // 60)


def announcement(schedule: Schedule, spent: int, further: int) -> Message:
    """Describe the plan. spent: passes so far; further: methods that may follow the rounds."""
    rounds = spent + int(schedule.passes_per_example * (schedule.looks[-1] - schedule.pilot))
    return Message.of(
        "budget.plan",
        budget=schedule.budget,
        n=schedule.looks[-1],
        available=schedule.available,
        passes=min(rounds, schedule.passes),
        time=duration(max(0, rounds - spent) * schedule.seconds_per_pass),
        all=schedule.passes,
        further=further,
    )
