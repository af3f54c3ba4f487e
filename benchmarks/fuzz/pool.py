"""Workers and their watchdog: a case that burns CPU or sleeps forever ends its worker, and a new one replaces it.

No result depends on the speed of the machine: a hang is CPU time of the case, or a process in which nothing runs,
nothing waits for a processor or a disk, and no CPU time passes.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

CPU_SECONDS = 60.0
"""CPU time of one case, children included."""
ASLEEP = 150
"""Looks, half a second apart, at which nobody ran: the case waits for something that never comes."""
CASES_PER_WORKER = 1500
ROOT = Path(__file__).resolve().parents[2]


def environment() -> dict[str, str]:
    """Environment of every process of the campaign: this source, one thread, no network, English."""
    fixed = {
        "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT))),
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "PYTHONHASHSEED": "0",
        "NO_COLOR": "1",
        "REGARD_LANG": "en",
    }
    return {**os.environ, **fixed}


def build_originals(place: Path) -> Path:
    """Build the originals in another process, so that this one stays small."""
    command = [sys.executable, "-m", "benchmarks.fuzz.materials", str(place)]
    subprocess.run(command, check=True, cwd=ROOT, env=environment())
    return place


@dataclass(frozen=True)
class Task:
    target: str
    seed: int
    number: int


@dataclass(frozen=True)
class Result:
    task: Task
    kind: str
    detail: str
    commands: list[list[str]] = field(default_factory=list)

    @property
    def good(self) -> bool:
        return self.kind in ("ok", "clear error")


class Worker:
    """One process that runs cases."""

    def __init__(
        self, originals: Path, folder: Path, *, cpu_seconds: float = CPU_SECONDS, asleep: int = ASLEEP
    ) -> None:
        self.originals, self.folder = originals, folder
        self._cpu_seconds, self._asleep = cpu_seconds, asleep
        self._process: subprocess.Popen[str] | None = None
        self._done = 0

    def run(self, task: Task) -> Result:
        if self._process is None or self._done >= CASES_PER_WORKER:
            self.close()
            self._start()
        assert self._process is not None
        assert self._process.stdin is not None
        asked = {"target": task.target, "seed": task.seed, "number": task.number}
        try:
            self._process.stdin.write(json.dumps(asked) + "\n")
            self._process.stdin.flush()
            answer = self._watched(self._process)
        except BrokenPipeError:
            answer = None
        self._done += 1
        if answer is None:
            code = self._process.poll()
            self.close()
            return Result(task, "crash", f"the process died ({code})")
        if answer["kind"] == "hang":
            self.close()
        return Result(task, answer["kind"], answer["detail"], answer.get("commands", []))

    def close(self) -> None:
        if self._process is None:
            return
        with_children = _group(self._process.pid)
        self._process.kill()
        for process in with_children:
            try:
                process.kill()
            except psutil.Error:
                continue
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except BrokenPipeError:
                    continue
        self._process = None
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "benchmarks.fuzz.worker", str(self.originals), str(self.folder)]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**environment(), "TMPDIR": str(self.folder)},
            start_new_session=True,
        )
        self._done = 0
        assert self._process.stdout is not None
        if self._process.stdout.readline() != "ready\n":
            raise RuntimeError(f"a worker could not start: {' '.join(command)}")

    def _watched(self, process: subprocess.Popen[str]) -> dict[str, Any] | None:
        """Return the answer, {"kind": "hang"}, or None if the process died."""
        assert process.stdout is not None
        began: float | None = None
        before, asleep = -1.0, 0
        while True:
            ready, _, _ = select.select([process.stdout], [], [], 0.5)
            if ready:
                line = process.stdout.readline()
                return json.loads(line) if line.endswith("\n") else None
            used, sleeping = _looked(process.pid)
            began = used if began is None else began
            asleep = asleep + 1 if sleeping and used == before else 0
            before = used
            if used - began > self._cpu_seconds:
                return {"kind": "hang", "detail": f"more than {self._cpu_seconds:.0f} s of CPU time"}
            if asleep >= self._asleep:
                return {"kind": "hang", "detail": "asleep: it waits for something that never comes"}


def _group(pid: int) -> list[psutil.Process]:
    try:
        whole = psutil.Process(pid)
        return [whole, *whole.children(recursive=True)]
    except psutil.Error:
        return []


def _looked(pid: int) -> tuple[float, bool]:
    """Return (CPU seconds of the process and its children, whether all of them sleep)."""
    used, sleeping = 0.0, True
    for process in _group(pid):
        try:
            times = process.cpu_times()
            used += times.user + times.system + times.children_user + times.children_system
            states = [_state(pid, thread.id) for thread in process.threads()]
            sleeping = sleeping and all(state == "S" for state in states)
        except psutil.Error:
            continue
    return used, sleeping


def _state(pid: int, thread: int) -> str:
    try:
        return Path(f"/proc/{pid}/task/{thread}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return "S"


def run_all(
    tasks: Iterable[Task], originals: Path, folder: Path, workers: int = 2, stop: Callable[[], bool] | None = None
) -> Iterator[Result]:
    """Yield results in order of completion; call `stop` before each task."""
    todo, lock, done = iter(tasks), threading.Lock(), list[Result | BaseException | None]()
    news = threading.Condition()

    def work(number: int) -> None:
        worker = Worker(originals, folder / f"worker-{number}-{os.getpid()}")
        try:
            while not (stop is not None and stop()):
                with lock:
                    task = next(todo, None)
                if task is None:
                    break
                _tell(news, done, worker.run(task))
        except BaseException as error:  # told to whoever waits for results
            _tell(news, done, error)
        finally:
            worker.close()
            _tell(news, done, None)

    threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(workers)]
    for thread in threads:
        thread.start()
    running = len(threads)
    while running:
        with news:
            news.wait_for(lambda: bool(done))
            arrived = list(done)
            done.clear()
        for one in arrived:
            if one is None:
                running -= 1
            elif isinstance(one, BaseException):
                raise one
            else:
                yield one


def _tell(
    news: threading.Condition, done: list[Result | BaseException | None], one: Result | BaseException | None
) -> None:
    with news:
        done.append(one)
        news.notify_all()


def stopped_at(deadline: float | None) -> Callable[[], bool]:
    """Return a test whether `time.monotonic` has passed the deadline; always False without one."""
    return lambda: deadline is not None and time.monotonic() > deadline
