"""`python -m benchmarks.fuzz.worker ORIGINALS FOLDER`: run cases in one process, one JSON line in, one out.

torch is imported once. The parent watches the CPU time of each case and replaces a worker that hangs or dies.
"""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import json
import os
import resource
import shutil
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.fuzz import self_check
from benchmarks.fuzz.case import CANARY, Case, generator
from benchmarks.fuzz.corpus import CORPUS
from benchmarks.fuzz.materials import Materials
from benchmarks.fuzz.outcome import Outcome, Said, call, judged, watch_errors
from benchmarks.fuzz.targets import TARGETS

MEMORY = 6 << 30
"""Bytes of address space of one worker; the libraries alone take 3 GB of it."""
LARGEST_FILE = 2 << 30


PR_SET_PDEATHSIG = 1


def limit_this_process() -> None:
    """Limit memory, so that a bomb raises MemoryError here; nothing outlives the campaign."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, resource.RLIM_INFINITY))


def prepare_this_process() -> None:
    """Open no browser, and end the app of `regard view` as soon as it runs."""
    import webbrowser

    from regard.live import server

    warnings.simplefilter("ignore")
    webbrowser.open = lambda *args, **kwargs: True
    server.Server.wait = server.Server.close  # type: ignore[method-assign]


def play(target: str, seed: int, number: int, originals: Materials, folder: Path) -> tuple[Case | None, Outcome]:
    """Run one case of a target, or one entry of the corpus by its number."""
    try:
        case = made(target, seed, number, originals, folder)
    except Exception as error:
        raise RuntimeError(f"case {number} of {target} (seed {seed}) cannot be made: {error}") from error
    outcome = run_case(case, folder)
    if any(place.exists() for place in (folder / CANARY, folder / "model" / CANARY, folder / "run" / CANARY)):
        outcome = Outcome("code executed", f"the canary was written; {outcome.kind}: {outcome.detail}")
    return case, outcome


def made(target: str, seed: int, number: int, originals: Materials, folder: Path) -> Case:
    """Return the files and commands of one case."""
    if target == "corpus":
        return CORPUS[number].make(originals, folder)
    if target == "self_check":
        return Case(play=self_check.expected(folder)[number][1])
    return TARGETS[target](generator(seed, target, number), originals, folder)


def run_case(case: Case, folder: Path) -> Outcome:
    """Run the commands of a case, up to the first bad end."""
    with _surroundings(case):
        if case.play is not None:
            return case.play()
        said: list[Said] = []
        outcome = Outcome("ok")
        for words in case.commands:
            said.append(call(words, folder))
            outcome = judged(said[-1], case.codes, silent=case.silent)
            if not outcome.good:
                return outcome
    wrong = "" if case.check is None else case.check(said)
    return Outcome("wrong result", wrong) if wrong else outcome


@contextmanager
def _surroundings(case: Case) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in case.environment}
    os.environ.update(case.environment)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    if case.largest_file is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (case.largest_file, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def main() -> None:
    originals, folder = Materials(Path(sys.argv[1])), Path(sys.argv[2])
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)  # what libraries print must not come between the answers
    os.dup2(quiet, 2)
    faulthandler.disable()
    limit_this_process()
    prepare_this_process()
    watch_errors()
    answers.write("ready\n")
    for count, line in enumerate(sys.stdin):
        asked = json.loads(line)
        home = folder / "case"
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        os.environ["TMPDIR"] = str(home)
        try:
            case, outcome = play(asked["target"], asked["seed"], asked["number"], originals, home)
            commands = [] if case is None else [list(words) for words in case.commands]
            answer = {"kind": outcome.kind, "detail": outcome.detail, "commands": commands}
        except BaseException:
            answer = {"kind": "broken case", "detail": traceback.format_exc(), "commands": []}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
        if count % 50 == 0:
            gc.collect()


if __name__ == "__main__":
    main()
