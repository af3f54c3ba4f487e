"""Progress bars with remaining time on standard error; plain lines without a terminal."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from regard.message import Message, Text
from regard.present.messages.messages import known, render, say

if TYPE_CHECKING:
    from rich.console import Console

    from regard.training.progress import Report


SILENCE = 10.0
"""Seconds between two lines without a terminal."""
BEAT = 1.0
"""Seconds between two checks for silence."""
STAGES = {"budget.plan": "explaining", "budget.stopped": "judging"}
"""Stage of an audit that an announcement begins, by the prefix of its key."""
SHORTEST, HALF_LIFE = 0.2, 5.0
"""Seconds between two updates of the pace, and the half-life of old updates."""


def duration(seconds: float) -> str:
    """
    >>> duration(3.2), duration(75), duration(7300)
    ('3 s', '1 min 15 s', '2 h 1 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return say("budget.minutes", minutes=whole // 60, seconds=whole % 60)
    return say("budget.hours", hours=whole // 3600, minutes=whole % 3600 // 60)


def measure(name: str) -> str:
    """Return the name of a training metric in the current language."""
    return say(f"term.train.{name}") if known(f"term.train.{name}") else name.replace("_", " ")


def rate_text(rate: float) -> str:
    """Items per second without an exponent.

    >>> rate_text(1170.0), rate_text(437.2), rate_text(0.0314)
    ('1,170', '437', '0.031')
    """
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"


@dataclass
class Pace:
    """Items per second of one stage, as an exponential moving average.

    >>> pace = Pace()
    >>> for now in range(1, 40):
    ...     pace.update(done=5 * now, now=float(now))
    >>> round(pace.rate, 3), round(pace.seconds(left=50), 3)
    (5.0, 10.0)
    """

    done: float = 0.0
    now: float | None = None
    rate: float = 0.0

    def update(self, done: float, now: float) -> None:
        """Record the number of finished items; merge a report that follows another at once into the next."""
        if self.now is None or done < self.done:  # a new stage
            self.done, self.now, self.rate = done, now, 0.0
            return
        elapsed = now - self.now
        if elapsed < SHORTEST:
            return
        speed = (done - self.done) / elapsed
        weight = 1.0 if not self.rate else 1.0 - 0.5 ** (elapsed / HALF_LIFE)
        self.rate += weight * (speed - self.rate)
        self.done, self.now = done, now

    def seconds(self, left: float) -> float | None:
        """Estimate the time for the remaining items; None while nothing is known."""
        return left / self.rate if self.rate > 0 else None


class Bar:
    """A progress line: stage, items, rate and remaining time."""

    def __init__(self, console: Console, *, making: str = "", clock: Callable[[], float] = time.monotonic) -> None:
        from rich.progress import BarColumn, Progress, TextColumn

        columns = (TextColumn("{task.description}"), BarColumn(40), TextColumn("{task.fields[left]}"))
        self._console = console
        self._progress = Progress(*columns, console=console, transient=True)
        self._task = self._progress.add_task("", total=1.0, left="", visible=False)
        self._printed, self._making, self._clock = -SILENCE, making, clock
        self._paces: dict[str, Pace] = {}
        self._workers = self._stage = self._left = ""
        self._state, self._entered, self._last_step = say("term.stages.opening"), clock(), clock()

    def __enter__(self) -> Bar:
        if self._console.is_terminal:
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._console.is_terminal:
            self._progress.stop()

    def show(self, what: Text, fraction: float, left: str) -> None:
        work = render(what)
        self._state, self._left, self._last_step = f"{work}: {fraction:.0%}", left, self._clock()
        if self._console.is_terminal:
            self._progress.update(self._task, description=work, completed=fraction, left=left, visible=True)
        elif self._clock() - self._printed >= SILENCE:  # a log file wants few lines
            self._print_line(f"{self._state} {left}")

    def beat(self) -> None:
        """Print a line if a log would otherwise be silent for `SILENCE` seconds, as within one long step."""
        now = self._clock()
        if self._console.is_terminal or now - max(self._printed, self._entered) < SILENCE - BEAT:
            return
        if self._last_step > self._printed and self._left:
            self._print_line(f"{self._state} {self._left}")
        else:
            time_passed = duration(now - self._last_step)
            self._print_line(say("term.still_working", state=self._state, time=time_passed))

    def _print_line(self, line: str) -> None:
        self._printed = self._clock()
        self._console.print(line, markup=False)

    def announced(self, key: str) -> None:
        """Name the stage that this announcement of an audit begins."""
        for start, stage in STAGES.items():
            if key.startswith(start):
                self.stage(stage)

    def stage(self, name: str) -> None:
        """Set the title of the current step."""
        self._stage = say(f"term.stages.{name}")
        self._state, self._left, self._last_step = self._stage, "", self._clock()

    def examples(self, done: int, total: int, eta: float | None) -> None:
        """Show the progress of an audit, in examples."""
        self._progressed("explaining", say("term.examples"), done, total, eta)

    def passes(self, done: int, total: int, eta: float | None) -> None:
        """Show the progress of an audit with a budget, in passes through the model."""
        self._progressed("predicting", say("term.passes"), done, total, eta)

    def _progressed(self, first_stage: str, unit: str, done: int, total: int, eta: float | None) -> None:
        if not self._paces:  # the model is open: a network that is trained now is one that a method asks for
            self._making = say("term.making_twin")
        pace = self._paces.setdefault(unit, Pace())
        pace.update(done, self._clock())
        seconds = pace.seconds(total - done) if pace.rate else eta
        rate = say("term.rate", rate=rate_text(pace.rate)) if pace.rate else ""
        time_left = say("term.time_left", time=duration(seconds)) if seconds is not None and done < total else ""
        label = say("term.stage", stage=self._stage or say(f"term.stages.{first_stage}"), unit=unit)
        self.show(label, done / max(1, total), f"{done}/{total}{rate}{self._workers}{time_left}")

    def workers(self, activity: Mapping[str, Any]) -> None:
        """Show the slowest and the fastest worker beside the progress, if there are several."""
        rates = sorted(w["rate"] for w in activity["workers"].values() if w["rate"])
        ends = {"slowest": f"{rates[0]:.3g}", "fastest": f"{rates[-1]:.3g}"} if rates else {}
        self._workers = say("term.worker_rates", n=len(rates), **ends) if len(rates) > 1 else ""

    def training(self, report: Report) -> None:
        """Show the progress of a training; print `making` first, since the network did not exist yet."""
        if self._making:
            self._console.print(self._making, style="dim", markup=False)
            self._making = ""
        if report.epoch_is_over:
            return
        score = ""
        if report.dev_metric is not None:
            score = say("term.train.bar_score", metric=measure(report.metric), x=f"{report.dev_metric:.2f}")
        left = say("term.train.bar", epoch=report.epoch, epochs=report.epochs, loss=f"{report.loss:.3f}", score=score)
        self.show(Message.of("term.training", what=report.what), report.fraction, left)


@contextmanager
def bar(console: Console, *, making: str = "") -> Iterator[Bar]:
    """Show a bar that trainings inside the block report to; print `making` when the first begins."""
    from regard.training.progress import reporting

    with Bar(console, making=making) as progress_bar, _beating(progress_bar), reporting(progress_bar.training):
        yield progress_bar


@contextmanager
def _beating(progress_bar: Bar) -> Iterator[None]:
    """Run a thread that prints while the work itself reports nothing for a long time."""
    over = threading.Event()

    def beats() -> None:
        while not over.wait(BEAT):
            progress_bar.beat()

    speaking = copy_context()  # a new thread would print in the default language
    thread = threading.Thread(target=speaking.run, args=(beats,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
