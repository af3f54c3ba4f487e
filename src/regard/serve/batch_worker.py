"""The one thread that runs the model: requests with equal keys that wait together share a batch.

A batch is made of the oldest waiting request and every other one with its key, up to a number of rows. It starts at
once: requests that arrive while it runs form the next one, so the model is never idle while a request waits.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any

from regard.errors import Busy, EnvironmentProblem, phrase

SMOOTHING = 0.2


class DeadlinePassed(EnvironmentProblem):
    """The answer would come after the deadline of its request."""


@dataclass(slots=True, eq=False)
class Task:
    """A request in the queue. deadline: by the clock of `time.monotonic`."""

    key: Hashable
    payload: Any
    rows: int
    deadline: float
    arrival: float = field(default_factory=time.monotonic)
    future: Future[Any] = field(default_factory=Future)


Compute = Callable[[Hashable, Sequence[Task]], Sequence[Any]]
"""One result or exception per task."""


def in_this_language(work: Callable[[], None], name: str) -> threading.Thread:
    """Build a daemon thread that uses the language of its creator; a plain thread would use English."""
    return threading.Thread(target=copy_context().run, args=(work,), name=name, daemon=True)


class BatchWorker:
    """Worker with a queue. compute: runs a batch in the worker's thread. queue: most waiting tasks. rows: per batch."""

    def __init__(self, compute: Compute, *, queue: int, rows: int) -> None:
        self._compute, self._most, self._rows = compute, queue, rows
        self._waiting: deque[Task] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._seconds_per_row = 0.0
        self._thread = in_this_language(self._run, "regard-batches")
        self._thread.start()

    @property
    def depth(self) -> int:
        """Number of waiting tasks."""
        return len(self._waiting)

    def submit(self, task: Task) -> Future[Any]:
        """Queue a task; raise `Busy` if the queue is full or the worker drains."""
        with self._changed:
            if self._closed:
                raise Busy(
                    phrase("errors.serve.service"),
                    expected=phrase("errors.serve.one_that_accepts_requests"),
                    got=phrase("errors.serve.one_that_stopping"),
                )
            if len(self._waiting) >= self._most:
                raise Busy(
                    phrase("errors.serve.queue"),
                    expected=phrase("errors.serve.at_most_requests", most=self._most),
                    got=phrase("errors.serve.full_queue"),
                )
            self._waiting.append(task)
            self._changed.notify_all()
        return task.future

    def retry_after(self) -> int:
        """Seconds after which a refused client may retry."""
        rows = sum(task.rows for task in [*self._waiting])
        return max(1, min(60, math.ceil(rows * self._seconds_per_row)))

    def drain(self, seconds: float) -> bool:
        """Accept nothing more and finish the queue; return False if that took longer than `seconds`."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or bool(self._waiting))
                if not self._waiting:
                    return
                tasks = self._batch()
            if tasks:
                self._answer(tasks)

    def _batch(self) -> list[Task]:
        """Take the oldest task and those with its key; drop tasks whose client is gone."""
        tasks: list[Task] = []
        others: deque[Task] = deque()
        now, rows = time.monotonic(), 0
        while self._waiting:
            task = self._waiting.popleft()
            if task.future.cancelled():
                continue
            if task.deadline <= now:
                if task.future.set_running_or_notify_cancel():
                    task.future.set_exception(late(task))
                continue
            fits = not tasks or (task.key == tasks[0].key and rows + task.rows <= self._rows)
            if fits and task.future.set_running_or_notify_cancel():
                tasks.append(task)
                rows += task.rows
            elif not fits:
                others.append(task)
        self._waiting = others
        return tasks

    def _answer(self, tasks: Sequence[Task]) -> None:
        began = time.monotonic()
        try:
            answers = self._compute(tasks[0].key, tasks)
        except BaseException as error:
            answers = [error] * len(tasks)
        seconds = (time.monotonic() - began) / max(1, sum(task.rows for task in tasks))
        self._seconds_per_row += SMOOTHING * (seconds - self._seconds_per_row)
        for task, answer in zip(tasks, answers, strict=True):
            if isinstance(answer, BaseException):
                task.future.set_exception(answer)
            else:
                task.future.set_result(answer)


def late(task: Task) -> DeadlinePassed:
    waited = time.monotonic() - task.arrival
    return DeadlinePassed(
        phrase("errors.common.this_request"),
        expected=phrase("errors.serve.answer_before_deadline"),
        got=f"{waited:.1f} s",
    )
