"""kill -9 at random moments of audit, train, attack, improve and report; then the same command to its end.

Its outputs must equal those of an undisturbed command byte for byte, except seconds and dates. One process imports
torch once and forks a child for every command. The moment of a kill is a share of the CPU time that the undisturbed
command took, so that kills fall everywhere, however busy the machine is.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, NoReturn

from benchmarks.fuzz.contents import (
    Contents,
    attack_contents,
    audit_contents,
    improve_contents,
    page_contents,
    train_contents,
)
from benchmarks.fuzz.materials import AUDIT, Materials
from benchmarks.fuzz.pool import ROOT, environment

KILLS_AT_MOST = 4
"""Kills of one command before it may end."""


@dataclass(frozen=True)
class Job:
    """A command to kill, with placeholders in capitals. share: its part of all kills."""

    line: str
    contents: Callable[[Path], Contents]
    share: int

    @property
    def name(self) -> str:
        return self.line.partition(" ")[0]

    def words(self, originals: Materials, out: Path) -> list[str]:
        places = {"NETWORK": originals.network, "CSV": originals.csv, "RUN": originals.run, "OUT": out}
        places["PAGE"] = out / "page.html"
        return [str(places.get(word, word)) for word in self.line.split()]


JOBS = (
    Job(f"audit NETWORK --data CSV {' '.join(AUDIT)} --limit 40 --out OUT", audit_contents, 30),
    Job(
        "train classifier --data CSV --set size=16 --set hidden=8 --epochs 20 --batch-size 4 --seeds 2 --out OUT",
        train_contents,
        20,
    ),
    Job(
        "attack NETWORK --data CSV --n 40 --budget 60 --attack greedy_word,greedy_char --no-sanity --out OUT",
        attack_contents,
        20,
    ),
    Job(
        "improve NETWORK --with noise --data CSV --seeds 2 --examples 10 --budget 20 --set epochs=3 --out OUT",
        improve_contents,
        15,
    ),
    Job("report RUN --out PAGE", page_contents, 15),
)


def figures(originals: Path, folder: Path, seed: int, count: int) -> dict[str, Any]:
    """Run in its own process; the last line is the result."""
    command = [sys.executable, "-m", "benchmarks.fuzz.kills", str(originals), str(folder), str(seed), str(count)]
    done = subprocess.run(command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, text=True)
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        return {"met": False, "totals": {}, "problems": [f"the process ended with {done.returncode}"]}
    found: dict[str, Any] = json.loads(lines[-1])
    return found


def main() -> None:
    originals, folder = Materials(Path(sys.argv[1])), Path(sys.argv[2])
    seed, count = int(sys.argv[3]), int(sys.argv[4])
    _import_everything(originals, folder)
    jobs, problems = dict[str, dict[str, int]](), list[str]()
    for job in JOBS:
        wanted = max(1, round(count * job.share / sum(j.share for j in JOBS)))
        jobs[job.name], wrong = _killed_often(job, originals, folder / job.name, Random(f"{seed}/{job.name}"), wanted)
        problems += wrong
        print(f"{job.name}: {jobs[job.name]}", file=sys.stderr, flush=True)
    totals = {
        name: sum(one[name] for one in jobs.values()) for name in ("kills", "commands", "lost", "twice", "different")
    }
    met = not problems and not any(totals[name] for name in ("lost", "twice", "different"))
    print(json.dumps({"met": met, "totals": totals, "jobs": jobs, "problems": problems[:20]}))


def _killed_often(
    job: Job, originals: Materials, folder: Path, rng: Random, wanted: int
) -> tuple[dict[str, int], list[str]]:
    """Run commands of one kind, each killed some times and then completed, until there are enough kills."""
    counts = {"kills": 0, "commands": 0, "lost": 0, "twice": 0, "different": 0}
    problems: list[str] = []
    # a directory has the same name each time: it may stand in what is written
    place, undisturbed = folder / "out", folder / "undisturbed"
    place.mkdir(parents=True)
    seconds = _run(job.words(originals, place), None)
    if seconds is None:
        return counts, [f"{job.name}: the undisturbed command failed"]
    counts["cpu_ms_undisturbed"] = round(1000 * seconds)
    right = job.contents(place)
    shutil.move(place, undisturbed)
    while counts["kills"] < wanted and counts["commands"] < 20 * wanted:
        place.mkdir(parents=True)
        known: set[str] = set()
        for _ in range(rng.randint(1, min(KILLS_AT_MOST, wanted - counts["kills"]))):
            if _run(job.words(originals, place), rng.uniform(0.0, 1.0) * seconds) is not None:
                break  # it was faster than the kill
            counts["kills"] += 1
            now = _committed(job, place)
            if not known <= now:
                counts["lost"] += 1
                problems.append(f"{job.name}: lost {sorted(known - now)[:3]}")
            known = now
        if _run(job.words(originals, place), None) is None:
            problems.append(f"{job.name}: it could not be resumed")
            counts["lost"] += 1
        else:
            _compared(job, right, place, known, counts, problems)
        counts["commands"] += 1
        shutil.rmtree(place)
    return counts, problems


def _committed(job: Job, place: Path) -> set[str]:
    """Return the committed contents of a killed command; a directory that was not begun has none."""
    try:
        return job.contents(place).committed
    except Exception:
        return set()


def _compared(
    job: Job, right: Contents, place: Path, known: set[str], counts: dict[str, int], problems: list[str]
) -> None:
    end = job.contents(place)
    if not known <= end.committed:
        counts["lost"] += 1
        problems.append(f"{job.name}: lost {sorted(known - end.committed)[:3]}")
    if end.twice or end.work != right.work:
        counts["twice"] += 1
        problems.append(f"{job.name}: twice {end.twice[:3]}, work {end.work} instead of {right.work}")
    different = sorted(name for name in {*end.parts, *right.parts} if end.parts.get(name) != right.parts.get(name))
    if different:
        counts["different"] += 1
        problems.append(f"{job.name}: different {', '.join(different)[:200]}")


def _run(words: Sequence[str], kill_after: float | None) -> float | None:
    """Return the CPU seconds of a successful command; None if it was killed or failed."""
    pid = os.fork()
    if pid == 0:
        _child(words)
    if kill_after is not None:
        while _cpu_seconds(pid) < kill_after and not _ended(pid):
            time.sleep(0.002)
        os.kill(pid, signal.SIGKILL)
    _, status, used = os.wait4(pid, 0)
    return used.ru_utime + used.ru_stime if status == 0 else None


def _child(words: Sequence[str]) -> NoReturn:
    from regard.cli.root import root

    code = 70
    try:
        _quiet()
        root.main(list(words), prog_name="regard")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    finally:
        os._exit(code)


def _ended(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] == "Z"


def _cpu_seconds(pid: int) -> float:
    """Return CPU time in nanoseconds: jiffies are too coarse for a command of a tenth of a second."""
    return int(Path(f"/proc/{pid}/schedstat").read_text("utf-8").split()[0]) / 1e9


def _import_everything(originals: Materials, folder: Path) -> None:
    """Import the modules of the commands here, so that a kill hits their work.

    A child runs each command once and reports its modules: this process itself never runs a model, because a model's
    threads do not survive a fork.

    A child runs each command once and tells which modules it has: this process itself never runs a model, because the
    threads of one do not survive a fork.
    """
    heard, tells = os.pipe()
    pid = os.fork()
    if pid == 0:
        _child_that_tells(originals, folder, tells)
    os.close(tells)
    with os.fdopen(heard, "r", encoding="utf-8") as lines:
        names = lines.read().split()
    os.waitpid(pid, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            with suppress(Exception):
                importlib.import_module(name)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _child_that_tells(originals: Materials, folder: Path, tells: int) -> NoReturn:
    from regard.cli.root import root

    _quiet()
    try:
        for job in JOBS:
            place = folder / "once" / job.name
            place.mkdir(parents=True)
            with suppress(SystemExit):
                root.main(job.words(originals, place), prog_name="regard")
        names = [name for name in sys.modules if name != "__main__" and not name.startswith("benchmarks")]
        os.write(tells, " ".join(names).encode())
    finally:
        os._exit(0)


def _quiet() -> None:
    quiet = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(quiet, stream)


if __name__ == "__main__":
    main()
