"""Clock of an audit with a time budget: ends a stage early if the machine becomes slower after the pilot.

Counted passes plan an audit. The clock may only shorten that plan; `Schedule` stores where it did.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic

from regard.audits.budget import Budget
from regard.audits.schedule import Spending, allowance, end_seconds, latest_end


@dataclass(slots=True)
class StageClock:
    """Seconds so far, and whether more passes end in time.

    planned_at: seconds at which the rounds were planned. computes: whether the last block computed pages; pages of an
    earlier session are not timed, and the decisions after them are stored. pace: seconds per pass of that block.
    judging: seconds of asking the judge once; None before the pilot.
    """

    budget: Budget
    spending: Spending
    workers: int
    started: float = field(default_factory=lambda: monotonic())
    planned_at: float = 0.0
    computes: bool = False
    pace: float = 0.0
    judging: float | None = None

    def elapsed(self) -> float:
        """Seconds of this session plus those of the pages of earlier ones."""
        return monotonic() - self.started + self.spending.before / self.workers

    @contextmanager
    def paced(self) -> Iterator[None]:
        """Measure a block that computes pages."""
        passes, start = self.spending.passes, monotonic()
        self.computes = False
        yield
        if self.computes and self.spending.passes > passes:
            self.pace = (monotonic() - start) / (self.spending.passes - passes)

    @property
    def end(self) -> float:
        """Seconds set aside for verdicts, conclusions and the report."""
        return end_seconds(self.budget, self.judging)

    def time_judge(self, ask: Callable[[], object]) -> None:
        """Time the judge on the pilot once, for a budget in time, to reserve a proportional end of the audit."""
        if self.budget.seconds is not None:
            start = monotonic()
            ask()
            self.judging = monotonic() - start

    def allowed_passes(self, seconds_per_pass: float) -> int:
        """All passes that the budget pays for, including those already spent."""
        return allowance(self.budget, self.spending.passes, self.elapsed(), seconds_per_pass, self.end)

    def is_late(self, passes: float, planned_pace: float, kept_back: float = 0.0) -> bool:
        """Return whether so many more passes would end too late, at the pace of the last ones if that is slower.

        kept_back: share of the time since the plan that belongs to later stages.
        """
        if self.budget.seconds is None or not self.computes:
            return False
        planned_pace = max(planned_pace, 1e-9)
        pace = max(planned_pace, self.pace)
        end = latest_end(self.budget, pace / planned_pace, self.end)
        end -= kept_back * (end - self.planned_at)
        return self.elapsed() + passes * pace > end
