"""Ray actors on this machine or on a cluster: each opens the model once, tasks are shards, the driver stores outcomes.

Ray restarts an actor whose process or machine dies (`max_restarts=-1`). Its task goes to the next free actor at once,
while the others continue. A worker that gets SIGTERM (the notice of a spot machine) hands its task back first.
"""

from __future__ import annotations

import gc
import importlib
import logging
import math
import os
import secrets
import signal
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from types import FrameType
from typing import Any

from regard.audits.engines.processes import refilled
from regard.audits.named_function import named_function, this_worker
from regard.errors import EnvironmentProblem, InputError, RegardError, phrase
from regard.protocols import Executor, Outcome, Task
from regard.records import Json
from regard.registry import engine
from regard.store.manifest import versions

STARTS = 3
"""Maximum workers that may die while opening the model before the first of them is ready."""
MOST_RETURNS = 20
"""Maximum times that departing workers may return a task before it counts as the cause."""
OBJECT_STORE = 512 << 20
"""Bytes reserved for pages in transit to the driver on a local cluster."""
CHANCES, PATIENCE = 3, 120
"""Attempts to start a local cluster on a busy machine, and seconds that its agent may take to register."""
_STARTED, _READY, _REFUSED, _OK, _ERROR, _RETURNED = "started", "ready", "refused", "ok", "error", "returned"
_COMPARED = ("regard", "torch", "transformers", "numpy")


class _Notice(BaseException):
    """SIGTERM during a task. Not an `Exception`, so that a method cannot mistake it for its own failure."""


class Actor:
    """Ray worker: opens the model once, and again after Ray restarted it."""

    def __init__(self, setup: str, payload: Mapping[str, Json], work: str) -> None:
        self._setup, self._payload, self._work = setup, payload, work
        self._busy = False
        signal.signal(signal.SIGTERM, self._leave)

    def hello(self) -> tuple[str, None]:
        """Answer as soon as Ray has started or restarted this process."""
        return _STARTED, None

    def open(self) -> tuple[str, Any]:
        """Open the model; not in the constructor, so that the driver notices a process that dies of it."""
        try:
            self._state, self._call = named_function(self._setup)(self._payload), named_function(self._work)
        except RegardError as error:
            return _REFUSED, error
        except Exception as error:
            return _REFUSED, InputError(
                phrase("errors.audits.worker"), expected=phrase("errors.audits.open_model"), got=_described(error)
            )
        return _READY, {"worker": this_worker(), "versions": versions()}

    def do(self, payload: Mapping[str, Json]) -> tuple[str, Any, str, float]:
        started, self._busy = time.monotonic(), True
        try:
            kind, content = _OK, self._call(self._state, payload)
        except _Notice:
            kind, content = _RETURNED, None
        except Exception as error:
            kind, content = _ERROR, error.message if isinstance(error, RegardError) else _described(error)
        finally:
            self._busy = False
        return kind, content, this_worker(), time.monotonic() - started

    def _leave(self, number: int, frame: FrameType | None) -> None:
        if self._busy:
            self._busy = False
            raise _Notice
        os._exit(1)  # idle: Ray starts a replacement


@dataclass
class _Seat:
    """Actor of the pool. Ray keeps the handle valid when it restarts the process behind it."""

    handle: Any
    ready: bool = False
    task: Task | None = None


@dataclass(frozen=True)
class RayActors:
    """Engine of `workers` Ray actors; outcomes come in the order of completion. Workers take tasks as they become free.

    address: "" for a cluster of this command on this machine, "auto" or HOST:PORT for one that runs. cpus, gpus: of one
    worker. retries: how often a task is given out again after its worker died. seats: workers of an earlier `run` that
    the next one takes over, inside `keeping`; None elsewhere.
    """

    address: str = ""
    workers: int = 2
    cpus: float = 1.0
    gpus: float = 0.0
    retries: int = 3
    seats: list[_Seat] | None = field(default=None, compare=False)

    @contextmanager
    def keeping(self) -> Iterator[Executor]:
        """Connect, and keep the workers for the next `run` inside the block."""
        with self._connected():
            pool = replace(self, seats=[])
            try:
                yield pool
            finally:
                for seat in pool.seats or ():
                    _end(seat)

    def run(
        self, setup: str, setup_payload: Mapping[str, Json], work: str, tasks: Iterable[Task], *, retries: int = 1
    ) -> Iterator[Outcome]:
        source = iter(tasks)
        queue = deque(islice(source, self.workers))
        if not queue:
            return
        with self._connected() as ray:
            pool, refs = [*(self.seats or ())], dict[Any, _Seat]()
            while len(pool) < min(self.workers, len(queue)):
                maker = ray.remote(Actor).options(max_restarts=-1, num_cpus=self.cpus, num_gpus=self.gpus)
                pool.append(_Seat(maker.remote(setup, dict(setup_payload), work)))
            try:
                refs.update({_hello(seat): seat for seat in pool if not seat.ready})
                yield from self._outcomes(ray, pool, refs, queue, source, max(retries, self.retries))
            finally:
                for seat in pool:
                    if self.seats is None or seat.task is not None:
                        _end(seat)
                if self.seats is not None:
                    self.seats[:] = [seat for seat in pool if seat.task is None]

    def _outcomes(
        self,
        ray: Any,
        pool: list[_Seat],
        refs: dict[Any, _Seat],
        queue: deque[Task],
        source: Iterator[Task],
        retries: int,
    ) -> Iterator[Outcome]:
        deaths, returns = dict[str, int](), dict[str, int]()
        early = 0
        while True:
            for seat in pool:
                if seat.ready and seat.task is None and refilled(queue, source):
                    seat.task = queue.popleft()
                    refs[seat.handle.do.remote(dict(seat.task.payload))] = seat
            if not refilled(queue, source) and all(seat.task is None for seat in pool):
                return
            (ref,), _ = ray.wait([*refs], num_returns=1)
            seat = refs.pop(ref)
            task, seat.task = seat.task, None
            try:
                answer = ray.get(ref)
            except ray.exceptions.RayActorError as error:  # the process or its machine is gone: Ray makes another
                seat.ready = False
                refs[_hello(seat)] = seat
                if task is None:
                    early += not any(other.ready for other in pool)
                    if early >= STARTS:
                        raise _cannot_start(error) from None
                    continue
                deaths[task.key] = deaths.get(task.key, 0) + 1
                if deaths[task.key] <= retries:
                    queue.append(task)
                else:
                    yield Outcome(task.key, "dead", message=phrase("errors.audits.worker_deaths", n=deaths[task.key]))
                continue
            except ray.exceptions.RayError as error:  # the answer is lost or cannot travel
                assert task is not None
                yield Outcome(task.key, "error", message=_described(error).splitlines()[0])
                continue
            kind, content = answer[:2]
            if kind == _REFUSED:
                raise content
            if kind == _STARTED:
                refs[seat.handle.open.remote()] = seat
                continue
            if kind == _READY:
                _check_versions(content)
                seat.ready, early = True, 0
                continue
            assert task is not None
            if kind == _RETURNED and returns.get(task.key, 0) < MOST_RETURNS:
                returns[task.key] = returns.get(task.key, 0) + 1
                queue.appendleft(task)
                seat.ready = False
                ray.kill(seat.handle, no_restart=False)
                refs[_hello(seat)] = seat
            elif kind == _OK:
                yield Outcome(task.key, "ok", content, worker=answer[2], seconds=answer[3])
            else:
                yield Outcome(task.key, "error", message=content or "SIGTERM", worker=answer[2])

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        """The module `ray`, connected; a connection of the caller stays open."""
        ray = _module()
        if ray.is_initialized():
            self._check_resources(ray)
            yield ray
            return
        os.environ.update(_environment(local=not self.address))
        try:
            with _connection_problems(self.address):
                _start(ray, self._where())
            _quiet()
            self._check_resources(ray)
            yield ray
        finally:
            ray.shutdown()

    def _where(self) -> dict[str, Any]:
        common = {"log_to_driver": False, "logging_level": logging.ERROR, "namespace": "regard"}
        if self.address:
            return {"address": self.address, **common}
        cpus = max(os.cpu_count() or 1, math.ceil(self.workers * self.cpus))
        own = {"num_cpus": cpus, "include_dashboard": False, "object_store_memory": OBJECT_STORE}
        return {"address": "local", **own, **common}

    def _check_resources(self, ray: Any) -> None:
        """Refuse a cluster without any machine for one worker: Ray would wait for ever."""
        machines = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        if any(m.get("CPU", 0) >= self.cpus and m.get("GPU", 0) >= self.gpus for m in machines):
            return
        best = [f"{m.get('CPU', 0):g} CPU, {m.get('GPU', 0):g} GPU" for m in machines]
        raise EnvironmentProblem(
            "ray",
            expected=phrase("errors.audits.machine_with_cpu_and_gpu", cpus=self.cpus, gpus=self.gpus),
            got="; ".join(best[:4]) or phrase("errors.audits.no_machine"),
            remedy=phrase("errors.audits.fewer_cpus_or_gpus_for_each"),
        )


def _start(ray: Any, where: Mapping[str, Any]) -> None:
    """Connect. Ray gives its own services half a minute; a local cluster of a busy machine gets several chances."""
    psutil = importlib.import_module("psutil")  # Ray brings it
    before = {child.pid for child in psutil.Process().children()}
    problem = ""
    for _ in range(CHANCES if where["address"] == "local" else 1):
        problem = _problem_of_start(ray, where)
        if not problem:
            return
        ray.shutdown()
        for child in psutil.Process().children():  # services that Ray leaves behind would slow down the next start
            if child.pid not in before:
                with suppress(psutil.Error):
                    child.kill()
                    child.wait(10)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # Ray did not wait for them
            gc.collect()
    raise ConnectionError(problem)


def _problem_of_start(ray: Any, where: Mapping[str, Any]) -> str:
    """Return the text of a connection failure; "" for success. The exception itself would keep the services alive."""
    main = threading.current_thread() is threading.main_thread()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)} if main else {}
    try:
        ray.init(**where)
    except Exception as error:
        return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
    finally:
        for number, handler in handlers.items():  # Ray takes SIGTERM for itself; an audit ends in its own way
            signal.signal(number, handler)
    return ""


def _hello(seat: _Seat) -> Any:
    """Wait for the process of an actor, as long as Ray needs to start it somewhere."""
    return seat.handle.hello.options(max_task_retries=-1).remote()


def _end(seat: _Seat) -> None:
    ray = _module()
    with suppress(Exception):  # the cluster may be gone
        ray.kill(seat.handle)


def _module() -> Any:
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise EnvironmentProblem(
            phrase("errors.audits.engine_ray"),
            expected=phrase("errors.audits.package_ray"),
            got=phrase("errors.common.none"),
            remedy="pip install 'regard[ray]'",
        ) from error


def _environment(*, local: bool) -> dict[str, str]:
    """Settings that Ray reads from the environment, where the user made none.

    Local clusters get a token that lives as long as this process, so that Ray writes none into the home directory. It
    stays in the environment: Ray reads it once.
    """
    environment = {"RAY_agent_register_timeout_ms": str(1000 * PATIENCE), "RAY_USAGE_STATS_ENABLED": "0"}
    if local:
        environment["RAY_prestart_worker_first_driver"] = "0"  # the actors are the workers
    if local and not any(f"RAY_AUTH_{name}" in os.environ for name in ("MODE", "TOKEN", "TOKEN_PATH")):
        environment["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
    return {name: value for name, value in environment.items() if name not in os.environ}


@contextmanager
def _connection_problems(address: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # Ray raises plain exceptions of several kinds
        token = "token" in str(error).lower() or "authenticat" in str(error).lower()
        remedy = phrase("errors.audits.ray_auth_mode_token")
        if not token:
            remedy = (
                phrase("errors.audits.start_ray_start_head")
                if address
                else phrase("errors.audits.check_whether_machine_too_busy")
            )
        raise EnvironmentProblem(
            phrase("errors.audits.ray_cluster", address=address or phrase("errors.audits.this_machine")),
            expected=phrase("errors.audits.connection_with_token") if token else phrase("errors.audits.connection"),
            got=(str(error).strip().splitlines() or [type(error).__name__])[0][:200],
            remedy=remedy,
        ) from error


def _quiet() -> None:
    """Send Ray's messages about dead workers to the log: it prints them to standard output, among our results."""
    module = sys.modules.get("ray._private.worker")
    if hasattr(module, "print_to_stdstream"):
        module.print_to_stdstream = lambda data, **how: logging.getLogger(__name__).info("%s", data.get("lines"))  # type: ignore[union-attr]


def _check_versions(facts: Mapping[str, Any]) -> None:
    """Refuse a worker with other packages: its numbers would differ."""
    own, other = versions(), facts["versions"]
    for name in _COMPARED:
        if own.get(name) != other.get(name):
            raise EnvironmentProblem(
                phrase("errors.audits.worker_worker", worker=facts["worker"]),
                expected=phrase("errors.audits.here_name", name=name, name_2=own.get(name)),
                got=str(other.get(name)),
                remedy=phrase("errors.audits.install_same_packages_on_every"),
            )


def _described(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _cannot_start(error: Exception) -> EnvironmentProblem:
    return EnvironmentProblem(
        phrase("errors.audits.ray_workers"),
        expected=phrase("errors.audits.start"),
        got=phrase("errors.audits.deaths_with_error", starts=STARTS, error=str(error).splitlines()[0][:120]),
        remedy=phrase("errors.audits.fewer_workers_there_enough_memory"),
    )


@engine(remote=True)
def ray(*, address: str = "", workers: int = 2, cpus: float = 1.0, gpus: float = 0.0, retries: int = 3) -> Executor:
    """Ray actors on this machine or on a cluster (address=auto); dead workers are replaced."""
    for name, value, least in (("workers", workers, 1), ("cpus", cpus, 0), ("gpus", gpus, 0), ("retries", retries, 0)):
        if value < least:
            raise InputError(name, expected=phrase("errors.audits.at_least", least=least), got=str(value))
    return RayActors(address, workers, cpus=cpus, gpus=gpus, retries=retries)
