"""One suite that every engine passes; what only separate processes can survive is marked so."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from regard.audits.engines.processes import processes
from regard.audits.engines.serial import serial
from regard.errors import EnvironmentProblem, InputError
from regard.protocols import Executor, Task
from regard.registry import names

ENGINES: dict[str, Callable[[], Executor]] = {"serial": serial, "processes": lambda: processes(workers=2)}


def prepare(payload: dict[str, str]) -> dict[str, str]:
    """A worker's state: says who it is, and notes that it was made."""
    if payload.get("refuse"):
        raise InputError("model", expected="a good one", got="a bad one")
    if payload.get("die"):
        os.kill(os.getpid(), signal.SIGKILL)
    if payload.get("log"):
        with open(payload["log"], "a") as log:
            log.write(f"{os.getpid()}\n")
    return payload


def act(state: dict[str, str], payload: dict[str, object]) -> object:
    if payload.get("raise"):
        raise ValueError("no")
    if payload.get("die"):
        grave = payload.get("grave")
        if not (isinstance(grave, str) and Path(grave).exists()):
            if isinstance(grave, str):
                Path(grave).touch()
            os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(float(payload.get("sleep", 0.0)))  # type: ignore[arg-type]
    return {"double": 2 * int(payload["x"]), "worker": os.getpid()}  # type: ignore[call-overload]


SETUP, WORK = "test_engines:prepare", "test_engines:act"


def _tasks(n: int, **extra: object) -> list[Task]:
    return [Task(f"k{i}", {"x": i, **extra}) for i in range(n)]  # type: ignore[dict-item]


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Executor:
    return ENGINES[request.param]()


def test_every_engine_is_tested() -> None:
    assert set(names("engine")) == {*ENGINES, "ray"}  # test_ray_engine: a worker of Ray takes seconds to start


def test_every_task_has_exactly_one_outcome(engine: Executor, tmp_path: Path) -> None:
    log = tmp_path / "log"
    outcomes = list(engine.run(SETUP, {"log": str(log)}, WORK, _tasks(7)))
    assert sorted(o.key for o in outcomes) == [f"k{i}" for i in range(7)]
    assert {o.key: o.result["double"] for o in outcomes} == {f"k{i}": 2 * i for i in range(7)}
    made = log.read_text().split()
    assert len(made) == len(set(made)) <= 2  # the state is made once per worker
    assert {str(o.result["worker"]) for o in outcomes} <= set(made)


def test_tasks_are_read_as_workers_become_free(engine: Executor) -> None:
    read: list[str] = []

    def stream() -> Iterator[Task]:
        for task in _tasks(50):
            read.append(task.key)
            yield task

    run = engine.run(SETUP, {}, WORK, stream())
    assert next(run).status == "ok"
    assert len(read) <= 6  # two workers, one task ahead, and one that was just given out
    run.close()  # type: ignore[attr-defined]


def test_no_tasks_no_outcomes(engine: Executor) -> None:
    assert list(engine.run(SETUP, {}, WORK, [])) == []


def test_a_task_that_raises_is_reported_and_the_others_go_on(engine: Executor) -> None:
    tasks = [*_tasks(3), Task("bad", {"x": 9, "raise": True})]
    outcomes = {o.key: o for o in engine.run(SETUP, {}, WORK, tasks)}
    assert outcomes["bad"].status == "error"
    assert outcomes["bad"].message == "ValueError: no"
    assert [outcomes[f"k{i}"].status for i in range(3)] == ["ok"] * 3


def test_a_state_that_cannot_be_made_is_an_error_with_its_reason(engine: Executor) -> None:
    with pytest.raises(InputError, match="a bad one"):
        list(engine.run(SETUP, {"refuse": "yes"}, WORK, _tasks(2)))


def test_an_engine_may_be_left_in_the_middle(engine: Executor) -> None:
    run = engine.run(SETUP, {}, WORK, _tasks(5))
    assert next(run).status == "ok"
    run.close()  # type: ignore[attr-defined]


def test_a_killed_worker_is_replaced_and_nothing_is_lost(tmp_path: Path) -> None:
    tasks = [*_tasks(4), Task("deadly", {"x": 4, "die": True, "grave": str(tmp_path / "grave")})]
    outcomes = list(processes(workers=2).run(SETUP, {}, WORK, tasks, retries=1))
    assert sorted((o.key, o.status) for o in outcomes) == sorted((t.key, "ok") for t in tasks)


def test_a_task_that_kills_every_worker_is_dead_and_the_others_go_on() -> None:
    tasks = [Task("deadly", {"x": 4, "die": True}), *_tasks(3)]
    outcomes = {o.key: o for o in processes(workers=2).run(SETUP, {}, WORK, tasks, retries=1)}
    assert outcomes["deadly"].status == "dead"
    assert "SIGKILL" in str(outcomes["deadly"].message)
    assert [outcomes[f"k{i}"].result["double"] for i in range(3)] == [0, 2, 4]


def test_workers_that_never_start_are_an_environment_problem() -> None:
    with pytest.raises(EnvironmentProblem, match="SIGKILL"):
        list(processes(workers=2).run(SETUP, {"die": "yes"}, WORK, _tasks(2)))


def test_a_worker_killed_from_outside_while_busy() -> None:
    killed = False
    done = []
    for outcome in processes(workers=2).run(SETUP, {}, WORK, _tasks(6, sleep=0.05)):
        done.append(outcome)
        if not killed:
            killed = True
            os.kill(outcome.result["worker"], signal.SIGKILL)
    assert sorted((o.key, o.status) for o in done) == [(f"k{i}", "ok") for i in range(6)]
    assert len({o.result["worker"] for o in done}) >= 2


@pytest.mark.parametrize("workers", [0, -1])
def test_fewer_than_one_worker_is_refused(workers: int) -> None:
    with pytest.raises(InputError, match="at least 1"):
        processes(workers=workers)


BUSY = """
import os, signal, sys, time

def prepare(payload):
    return None

def act(state, payload):
    os.kill(os.getpid(), signal.SIGTERM)  # a signal to the whole group is the coordinator's business
    print("busy", flush=True)
    time.sleep(600)

if __name__ == "__main__":
    from regard.audits.engines.processes import Processes
    from regard.protocols import Task

    for outcome in Processes(1).run("busy:prepare", {}, "busy:act", [Task("a", {})]):
        print(outcome, flush=True)
"""


def test_no_worker_outlives_its_coordinator(tmp_path: Path) -> None:
    (tmp_path / "busy.py").write_text(BUSY, "utf-8")
    words = [sys.executable, str(tmp_path / "busy.py")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, cwd=tmp_path) as coordinator:
        assert coordinator.stdout is not None
        assert coordinator.stdout.readline() == b"busy\n"
        coordinator.kill()
        # the worker holds the other end of this pipe: it ends when the worker does
        assert coordinator.communicate(timeout=120)[0] == b""
