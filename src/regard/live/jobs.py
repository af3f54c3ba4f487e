"""A job queue with one worker thread; jobs report progress and can be cancelled.

One worker, because a model never runs in two threads at once. A cancellation takes effect at the next module of the
model, in the middle of a pass, or at the next step of the job, whichever comes first.
"""

from __future__ import annotations

import copy
import secrets
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np

from regard.errors import Busy, InputError, RegardError, Text, UnknownName, in_words, phrase
from regard.protocols import Encoded, Model
from regard.records import Bools, Json

State = Literal["waiting", "running", "done", "failed", "cancelled"]
OVER = ("done", "failed", "cancelled")
MOST_WAITING = 8
MOST_FINISHED = 64
LONGEST_WAIT = 0.5
"""Maximum seconds that a status request waits for news, so that a page can cancel in between."""


class Cancelled(BaseException):
    """The user cancelled the job. Not an Exception, so handlers of failing methods do not catch it."""


@dataclass(slots=True, eq=False)
class Job:
    """A queued task. `version` grows with every visible change."""

    id: str
    work: Callable[[Job], Mapping[str, Json]]
    changed: threading.Condition
    state: State = "waiting"
    stage: str = ""
    done: int = 0
    total: int = 0
    version: int = 0
    began: float = field(default_factory=time.monotonic)
    seconds: float = 0.0
    result: Mapping[str, Json] | None = None
    partial: Mapping[str, Json] | None = None
    error: Mapping[str, Json] | None = None
    stopped: bool = False

    def share(self, partial: Mapping[str, Json]) -> None:
        """Publish the results so far; they stay readable after a cancellation."""
        self.check()
        with self.changed:
            self.partial = partial
            self._tell()

    def step(self, stage: str, done: int, total: int) -> None:
        """Report progress; raise `Cancelled` if the job was cancelled."""
        self.check()
        with self.changed:
            self.stage, self.done, self.total = stage, done, total
            self._tell()

    def check(self) -> None:
        if self.stopped:
            raise Cancelled

    def _tell(self) -> None:
        self.version += 1
        self.changed.notify_all()

    def settle(self, state: State, result: Mapping[str, Json] | None = None, error: Json = None) -> None:
        with self.changed:
            if self.state in OVER:
                return
            self.state, self.result, self.seconds = state, result, time.monotonic() - self.began
            self.error = error if isinstance(error, dict) else None
            self._tell()

    def to_json(self) -> dict[str, Json]:
        over = self.state in OVER
        fields: dict[str, Json] = {
            "job": self.id,
            "state": self.state,
            "stage": self.stage,
            "done": self.done,
            "total": self.total,
            "seconds": round(self.seconds if over else time.monotonic() - self.began, 3),
            "version": self.version,
        }
        if self.result is not None:
            fields["result"] = dict(self.result)
        if self.partial is not None:
            fields["partial"] = dict(self.partial)
        if self.error is not None:
            fields["error"] = dict(self.error)
        return fields


def error_json(error: BaseException) -> dict[str, Json]:
    """Return an error as JSON for the front end."""
    if isinstance(error, RegardError):
        parts: dict[str, Json] = {
            "subject": in_words(error.subject),
            "expected": in_words(error.expected),
            "got": in_words(error.got),
            "remedy": in_words(error.remedy),
        }
        return {**parts, "said": str(error)}
    message = f"{type(error).__name__}: {error}"
    words = in_words(phrase("errors.common.internal_error", error=message))
    return {
        "subject": in_words(phrase("errors.common.internal")),
        "expected": "",
        "got": message,
        "remedy": "",
        "said": words,
    }


class Jobs:
    """The queue and its worker thread, started by the first job and ended by `close`."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._all: OrderedDict[str, Job] = OrderedDict()
        self._queue: deque[Job] = deque()
        self._worker: threading.Thread | None = None
        self._closed = False

    def start(self, work: Callable[[Job], Mapping[str, Json]]) -> dict[str, Json]:
        """Queue `work`, a function from its job to a JSON result."""
        with self._changed:
            if self._closed or len(self._queue) >= MOST_WAITING:
                raise Busy(
                    phrase("errors.common.this_request"),
                    expected=phrase("errors.live.at_most_waiting", most_waiting=MOST_WAITING),
                    got=phrase("errors.live.closed_app") if self._closed else f"{len(self._queue)}",
                    remedy=phrase("errors.live.cancel_one_them"),
                )
            job = Job(secrets.token_urlsafe(9), work, self._changed)
            self._all[job.id] = job
            self._queue.append(job)
            for old in [j for j in self._all.values() if j.state in OVER][: max(0, len(self._all) - MOST_FINISHED)]:
                del self._all[old.id]
            if self._worker is None:
                self._worker = threading.Thread(target=self._run, name="regard-live", daemon=True)
                self._worker.start()
            self._changed.notify_all()
        return job.to_json()

    def look(self, name: str, after: int | None = None, wait: float = LONGEST_WAIT) -> dict[str, Json]:
        """Return the state of a job; with `after`, wait until its version is newer."""
        job = self._job(name)
        with self._changed:
            if after is not None:
                self._changed.wait_for(lambda: job.version > after or job.state in OVER, min(wait, LONGEST_WAIT))
            return job.to_json()

    def cancel(self, name: str) -> dict[str, Json]:
        """Cancel a job. It counts as cancelled at once; the worker stops at its next check."""
        job = self._job(name)
        job.stopped = True
        job.settle("cancelled")
        return job.to_json()

    def close(self) -> None:
        """Cancel all jobs and stop the worker."""
        with self._changed:
            self._closed = True
            jobs = list(self._all.values())
            self._changed.notify_all()
        for job in jobs:
            if job.state not in OVER:
                self.cancel(job.id)
        if self._worker is not None:
            self._worker.join(timeout=5)

    def _job(self, name: str) -> Job:
        if name not in self._all:
            raise UnknownName("job", name[:40], ())
        return self._all[name]

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or bool(self._queue))
                if self._closed:
                    return
                job = self._queue.popleft()
            if job.stopped:
                continue
            with self._changed:
                job.state = "running"
                job.version += 1
                self._changed.notify_all()
            try:
                with stoppable(job):
                    job.settle("done", job.work(job))
            except Cancelled:
                job.settle("cancelled")
            except Exception as error:  # whatever it is, the page says it and the app goes on
                job.settle("failed", error=error_json(error))


class Stoppable(Protocol):
    """Cancellable work: `check` raises `Cancelled` after a cancellation."""

    def check(self) -> None: ...


@contextmanager
def stoppable(job: Stoppable) -> Iterator[None]:
    """Check for cancellation before every module call of this thread."""
    import torch

    _here.job = job
    handle = torch.nn.modules.module.register_module_forward_pre_hook(lambda module, args: check())
    try:
        yield
    finally:
        handle.remove()
        _here.job = None


_here = threading.local()


def check() -> None:
    """Raise `Cancelled` if the job of this thread was cancelled."""
    job: Stoppable | None = getattr(_here, "job", None)
    if job is not None:
        job.check()


def cancellable(model: Model) -> Model:
    """Wrap a model to check for cancellation between the variants of an input, since one text can yield thousands."""
    twin = copy.copy(model)

    def remove(encoded: Encoded, drop: Bools, operator: str, rng: np.random.Generator) -> Encoded:
        check()
        return model.remove(encoded, drop, operator, rng)

    setattr(twin, "remove", remove)  # noqa: B010 - of this copy alone
    return twin


def positive(value: object, what: Text) -> int:
    """Validate a non-negative integer from JSON."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InputError(what, expected=phrase("errors.live.whole_number_or_more"), got=str(value)[:40])
    return value
