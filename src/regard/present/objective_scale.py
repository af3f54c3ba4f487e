"""The scale of a model's objective, by its task: log-odds, log-probability, or a number of the model's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

Scale = Literal["log_odds", "log_probability", "regression", "similarity"]
_SCALES: dict[str, Scale] = {
    "sequence_to_sequence": "log_probability",
    "regression": "regression",
    "forecasting": "regression",
    "similarity": "similarity",
}
"""Scales of tasks whose objective is not the log-odds of an answer."""
_task: ContextVar[str] = ContextVar("task", default="")


def objective_scale(task: str) -> Scale:
    """The scale of the objective of a task.

    >>> objective_scale("masked_token"), objective_scale("sequence_to_sequence")
    ('log_odds', 'log_probability')
    """
    return _SCALES.get(task, "log_odds")


@contextmanager
def about_task(task: str) -> Iterator[None]:
    """Use the scale of this task for numbers named inside the block."""
    token = _task.set(task)
    try:
        yield
    finally:
        _task.reset(token)


def current_scale() -> Scale:
    """Scale of the current model; log-odds by default."""
    return objective_scale(_task.get())
