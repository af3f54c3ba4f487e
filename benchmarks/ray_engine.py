"""The Ray engine on this machine: speed of many workers, cost of a task, and a worker killed every few seconds.

Simulated workers sleep, so that many of them run on few cores: what is measured is the engine. Wall time, not CPU time:
a busy machine lowers the figures. Bars: k workers are at least 0.9 k times as fast as one; every task has exactly one
outcome although workers are killed; two real workers on two cores are at least 1.5 times as fast as one.

    python -m benchmarks.ray_engine [4] [8] [32] [killed] [real]     all of them without names, about 4 minutes
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.lines import Line
from regard.audits.engines.ray import RayActors
from regard.protocols import Task

SETUP, WORK = "benchmarks.ray_engine:prepare", "benchmarks.ray_engine:sleep"
SECONDS, ROUNDS = 2.0, 4
KILLED_TASKS, KILLED_SECONDS, KILL_EVERY = 160, 0.25, 3.0


def prepare(payload: Mapping[str, Any]) -> None:
    """Empty stand-in: simulated workers have no model."""


def sleep(state: None, payload: Mapping[str, Any]) -> int:
    time.sleep(float(payload["seconds"]))
    return os.getpid()


def _tasks(count: int, seconds: float) -> list[Task]:
    return [Task(f"t{i}", {"seconds": seconds}) for i in range(count)]


def simulated(workers: int) -> Line:
    """Time sleeping tasks, after every worker has started."""
    with RayActors(workers=workers, cpus=0.01).keeping() as engine:
        started: set[str] = set()
        while len(started) < workers:  # until each has done something
            started |= {o.worker for o in engine.run(SETUP, {}, WORK, _tasks(2 * workers, 0.2))}
        begin = time.monotonic()
        outcomes = [*engine.run(SETUP, {}, WORK, _tasks(ROUNDS * workers, SECONDS))]
        wall = time.monotonic() - begin
    assert len(outcomes) == ROUNDS * workers
    alone = ROUNDS * workers * SECONDS
    overhead = 1000 * (wall - ROUNDS * SECONDS) / ROUNDS
    detail = {"workers": float(workers), "seconds": wall, "overhead ms per task": overhead, "load": os.getloadavg()[0]}
    return Line(
        f"speed of {workers} simulated workers against one, over {workers}", alone / wall / workers, 0.9, ">=", detail
    )


def killed() -> Line:
    """Kill a random worker every few seconds."""
    moments, kills = random.Random(0), 0
    seen: Counter[str] = Counter()
    begin = last = time.monotonic()
    tasks = _tasks(KILLED_TASKS, KILLED_SECONDS)
    workers: list[int] = []
    for outcome in RayActors(workers=4, cpus=0.01).run(SETUP, {}, WORK, tasks):
        seen[outcome.key] += outcome.status == "ok"
        workers = [*workers[-8:], int(outcome.result)]
        if time.monotonic() - last > KILL_EVERY:
            last = time.monotonic()
            try:
                os.kill(moments.choice(workers), signal.SIGKILL)
                kills += 1
            except ProcessLookupError:
                continue
    once = sum(count == 1 for count in seen.values())
    detail = {"kills": float(kills), "tasks": float(KILLED_TASKS), "seconds": time.monotonic() - begin}
    return Line("tasks done exactly once while workers are killed, share", once / KILLED_TASKS, 1.0, ">=", detail)


def real() -> Line:
    """Run the same audit with one worker and with two; their start is not measured."""
    from regard.audits.audit import audit

    seconds = {}
    with tempfile.TemporaryDirectory() as folder:
        for workers in (1, 2):
            rates: list[dict[str, Any]] = []
            run = audit(
                "bilstm",
                out=Path(folder) / str(workers),
                engine=f"ray:workers={workers}",
                budget="none",
                limit=160,
                explainers=["leave_one_out", "integrated_gradients"],
                metrics=["comprehensiveness", "sufficiency"],
                watch=rates.append,
            )
            assert len(run.relevance("leave_one_out").ids) == 160
            # the slowest worker decides when all is done
            seconds[workers] = max(w["seconds"] for w in rates[-1]["workers"].values())
    detail = {"seconds of one": seconds[1], "seconds of two": seconds[2], "load": os.getloadavg()[0]}
    return Line("speed of two real workers against one", seconds[1] / seconds[2], 1.5, ">=", detail)


PARTS: dict[str, Callable[[], Line]] = {
    **{str(workers): partial(simulated, workers) for workers in (4, 8, 32)},
    "killed": killed,
    "real": real,
}


def run(parts: Sequence[str] = ()) -> list[Line]:
    root = str(Path(__file__).parents[1])
    os.environ["PYTHONPATH"] = os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])  # for the workers
    return [PARTS[part]() for part in parts or PARTS]


if __name__ == "__main__":
    lines = run(sys.argv[1:])
    for line in lines:
        print(line.shown())
    sys.exit(not all(line.met for line in lines))
