"""Engine of several processes on this machine. It replaces a worker that dies and repeats its task.

Workers are spawned, never forked (torch does not survive a fork), and get work by name, so nothing of the caller's
main module is needed or imported. A task that kills its workers too often is reported as dead.
"""

from __future__ import annotations

import multiprocessing
import os
import platform
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import ModuleType
from typing import Any

from regard.audits.named_function import named_function
from regard.errors import EnvironmentProblem, InputError, RegardError, Text, phrase
from regard.protocols import Executor, Outcome, Task
from regard.records import Json
from regard.registry import engine

STARTS = 3
"""Maximum deaths of a worker before it is ready."""
_READY, _REFUSED, _OK, _ERROR, _DIED = "ready", "refused", "ok", "error", "died"


@dataclass
class _Worker:
    process: BaseProcess
    pipe: Connection
    ready: bool = False
    task: Task | None = None
    since: float = 0.0


@dataclass(frozen=True)
class Processes:
    """Engine of `workers` processes; results arrive in order of completion.

    waiting: idle workers of an earlier `run` that the next one takes over, inside `keeping`; None elsewhere.
    """

    workers: int = 2
    waiting: list[_Worker] | None = field(default=None, compare=False)

    @contextmanager
    def keeping(self) -> Iterator[Executor]:
        """Keep the workers for the next `run` inside the block; all of them use the same model."""
        pool = replace(self, waiting=[])
        try:
            yield pool
        finally:
            for worker in pool.waiting or ():
                _stop(worker)

    def run(
        self, setup: str, setup_payload: Mapping[str, Json], work: str, tasks: Iterable[Task], *, retries: int = 1
    ) -> Iterator[Outcome]:
        source = iter(tasks)
        queue = deque(islice(source, self.workers))
        deaths: dict[str, int] = {}
        early = 0
        pool: list[_Worker] = []
        if self.waiting:
            pool, self.waiting[:] = [*self.waiting], []
        try:
            while refilled(queue, source) or any(w.task for w in pool):
                tasks_left = len(queue) + sum(w.task is not None for w in pool)
                while len(pool) < min(self.workers, tasks_left):
                    pool.append(_start(setup, setup_payload, work))
                for w in pool:
                    refilled(queue, source)
                    # a worker that died idle is noticed below: its task stays in the queue
                    if queue and w.ready and w.task is None and _sent(w, queue[0]):
                        w.task, w.since = queue.popleft(), time.monotonic()
                for pipe in wait([w.pipe for w in pool]):
                    w = next(w for w in pool if w.pipe is pipe)
                    try:
                        kind, content = w.pipe.recv()
                    except (EOFError, OSError):
                        kind, content = _DIED, None
                    task = w.task
                    if kind == _READY:
                        w.ready = True
                    elif kind == _REFUSED:
                        raise content
                    elif kind == _DIED:
                        pool.remove(w)
                        _stop(w)
                        early += task is None
                        if early >= STARTS:
                            raise _cannot_start(w)
                        if task is not None:
                            deaths[task.key] = deaths.get(task.key, 0) + 1
                            if deaths[task.key] <= retries:
                                queue.append(task)
                            else:
                                yield Outcome(task.key, "dead", message=_how_it_died(w))
                    elif task is not None:
                        w.task = None
                        seconds, name = time.monotonic() - w.since, f"{platform.node()}:{w.process.pid}"
                        if kind == _OK:
                            yield Outcome(task.key, "ok", content, worker=name, seconds=seconds)
                        else:
                            yield Outcome(task.key, "error", message=content, worker=name, seconds=seconds)
        finally:
            for w in pool:
                if self.waiting is not None and w.ready and w.task is None:
                    self.waiting.append(w)
                else:
                    _stop(w)


def refilled(queue: deque[Task], source: Iterator[Task]) -> bool:
    """Read one task ahead, no more, since the tasks are a stream. Return whether there is one."""
    if not queue:
        queue.extend(islice(source, 1))
    return bool(queue)


def _start(setup: str, payload: Mapping[str, Json], work: str) -> _Worker:
    context = multiprocessing.get_context("spawn")
    own_end, worker_end = context.Pipe()
    process = context.Process(target=_serve, args=(worker_end, setup, dict(payload), work), daemon=True)
    with _without_main():
        process.start()
    worker_end.close()  # so that the death of the worker is the end of the pipe
    return _Worker(process, own_end)


@contextmanager
def _without_main() -> Iterator[None]:
    """Hide the caller's script from spawned processes, which would run it again and do not need it."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _serve(pipe: Connection, setup: str, payload: Mapping[str, Json], work: str) -> None:
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # these are for the coordinator, which then ends us
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    threading.Thread(target=_end_with_the_coordinator, daemon=True).start()
    with suppress(EOFError, OSError):  # the coordinator is gone: nobody wants the result
        try:
            state, call = named_function(setup)(payload), named_function(work)
        except RegardError as error:
            pipe.send((_REFUSED, error))
            return
        except Exception as error:
            pipe.send(
                (
                    _REFUSED,
                    InputError(
                        phrase("errors.audits.worker"), expected=phrase("errors.audits.open_model"), got=_said(error)
                    ),
                )
            )
            return
        pipe.send((_READY, None))
        while True:
            payload_part = pipe.recv()
            try:
                answer: tuple[str, Any] = (_OK, call(state, payload_part))
            except Exception as error:
                answer = (_ERROR, error.message if isinstance(error, RegardError) else _said(error))
            pipe.send(answer)
            del answer  # the attention on its page would stay in memory beside that of the next task


def _end_with_the_coordinator() -> None:
    """End this worker when the coordinator is gone: its result has no reader."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _sent(worker: _Worker, task: Task) -> bool:
    try:
        worker.pipe.send(dict(task.payload))
    except OSError:
        return False
    return True


def _stop(worker: _Worker) -> None:
    worker.pipe.close()
    if worker.task is not None or not worker.ready:
        worker.process.kill()  # busy: it would notice the closed pipe only after its task
    worker.process.join(timeout=5)
    if worker.process.is_alive():
        worker.process.kill()
        worker.process.join()


def _how_it_died(worker: _Worker) -> Text:
    code = worker.process.exitcode
    if code is not None and code < 0:
        return phrase("errors.audits.worker_killed_by_signal", value=-code, name=signal.Signals(-code).name)
    return phrase("errors.audits.worker_ended_with_exit_code", code=code)


def _cannot_start(worker: _Worker) -> EnvironmentProblem:
    return EnvironmentProblem(
        phrase("errors.audits.worker_processes"),
        expected=phrase("errors.audits.start"),
        got=phrase("errors.audits.deaths_before_first_task", starts=STARTS, worker=_how_it_died(worker)),
        remedy=phrase("errors.audits.workers_runs_everything_in_this_process"),
    )


@engine()
def processes(*, workers: int = 2) -> Executor:
    """Several processes on this machine; dead workers are replaced."""
    if workers < 1:
        raise InputError("workers", expected=phrase("errors.common.at_least"), got=str(workers))
    return Processes(workers)
