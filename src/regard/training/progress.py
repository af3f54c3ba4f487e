"""Progress reports of a training to a listener."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol

from regard.message import Text


@dataclass(frozen=True, slots=True)
class Report:
    """Progress of a training.

    epoch, step: counted from 1; step 0 is before the first. loss: mean over the epoch so far, `terms` its parts.
    dev_loss, dev_metric: of the last finished epoch, None before there is one; `metric` names it. epoch_is_over: the
    dev split was just evaluated, and `best` says whether this is the best epoch so far.
    """

    what: Text
    epoch: int
    epochs: int
    step: int
    steps: int
    loss: float
    terms: Mapping[str, float] = field(default_factory=dict)
    dev_loss: float | None = None
    dev_metric: float | None = None
    metric: str = "accuracy"
    epoch_is_over: bool = False
    best: bool = False

    @property
    def fraction(self) -> float:
        """Completed share of the longest possible training, 0..1 (early stopping may end before 1)."""
        return ((self.epoch - 1) + self.step / max(1, self.steps)) / max(1, self.epochs)


class Progress(Protocol):
    """Listener, called after every step and at the end of every epoch; must be fast."""

    def __call__(self, report: Report, /) -> None: ...


progress: ContextVar[Progress | None] = ContextVar("progress", default=None)
"""Listener of this context; trainings started deep inside (a model by name) report to it."""


@contextmanager
def reporting(listener: Progress | None) -> Iterator[None]:
    """Send the reports of every training inside the block to `listener`.

    >>> seen = []
    >>> with reporting(seen.append):
    ...     tell(Report("toy", epoch=1, epochs=2, step=5, steps=10, loss=0.7))
    >>> seen[0].fraction
    0.25
    """
    token = progress.set(listener)
    try:
        yield
    finally:
        progress.reset(token)


def listening() -> bool:
    """Return whether there is a listener; building a report costs a little."""
    return progress.get() is not None


def tell(report: Report) -> None:
    """Send a report to the listener, if any."""
    listener = progress.get()
    if listener is not None:
        listener(report)
