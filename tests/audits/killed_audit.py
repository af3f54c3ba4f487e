"""Run as a program: an audit of the toy, or of a named model, that reports its progress and may be killed any time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from torch_toy import Texts, TorchToy, sentences

from regard.audits.audit import audit

TEXTS = sentences(40, longest=8)
OPTIONS = {
    "keep": 5, "profile": "quick", "budget": "none",
    "explainers": ["attention", "leave_one_out", "input_x_gradient", "random"],
    "metrics": ["comprehensiveness", "agreement"],
}  # fmt: skip


def start(out: Path, workers: int | str, model: str = "") -> subprocess.Popen[str]:
    """This program as a process of its own; what it prints can be read. workers: how many, or an engine."""
    places = os.pathsep.join(
        [
            str(Path(__file__).parent),
            str(Path(__file__).parents[1] / "shared"),
            *filter(None, [os.environ.get("PYTHONPATH")]),
        ]
    )
    return subprocess.Popen(
        [sys.executable, __file__, str(out), str(workers), model],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": places},
    )


def main(out: str, workers: str, model: str = "") -> None:
    def progress(done: int, total: int, eta: float | None) -> None:
        print(done, flush=True)

    opened = model or TorchToy(delay=0.01)
    where = {"workers": int(workers)} if workers.isdecimal() else {"engine": workers}
    run = audit(opened, Texts(TEXTS), out=out, progress=progress, **where, **OPTIONS)
    print("complete", run.manifest["status"], flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
