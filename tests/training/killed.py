"""Run as a script: trains a family again and again, killed with SIGKILL at random moments, until it is done.

Prints how often it was killed. Forks here rather than in the tests, whose process may have threads.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import toy_examples as toy  # beside this file

from regard.measures.keyed_random import keyed_rng
from regard.training import train_one
from regard.training.loop import Settings
from regard.training.progress import Report, reporting
from regard.training.train import Trained, train

OPTIONS = {"epochs": 3, "batch_size": 16, "rate": 0.01}
LEARNER = "classifier:size=16,hidden=8"


def family(out: Path) -> Trained:
    return train(LEARNER, toy.splits(toy.text), out=out, seeds=3, settings=OPTIONS)


def child(out: Path, pipe: int) -> None:
    def tell(report: Report) -> None:
        os.write(pipe, b".")

    with reporting(tell):
        family(out)


def main(out: Path) -> None:
    # every step is saved, so that many kills fall into the writing of a state
    fit = train_one.fit

    def saving(network, train, dev, terms, settings: Settings, **rest):  # type: ignore[no-untyped-def]
        return fit(network, train, dev, terms, replace(settings, save_seconds=0.0), **rest)

    train_one.fit = saving  # type: ignore[assignment]
    with tempfile.TemporaryDirectory() as warm:  # what torch imports at first use is not imported in every child
        train(LEARNER, toy.splits(toy.text, 16), out=warm, settings={"epochs": 1})
    rng, kills = keyed_rng(0, "kills"), 0
    while True:
        ends = os.pipe()
        pid = os.fork()
        if pid == 0:
            child(out, ends[1])
            os._exit(0)
        os.close(ends[1])
        for _ in range(int(rng.integers(1, 16))):
            if not os.read(ends[0], 1):
                break
        os.kill(pid, signal.SIGKILL)
        os.close(ends[0])
        if os.waitpid(pid, 0)[1] == 0:
            break
        kills += 1
    print(kills)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
