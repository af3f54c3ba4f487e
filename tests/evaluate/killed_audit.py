"""Run as a program: an audit of the toy that says when it has begun, and may be killed at any moment."""

from __future__ import annotations

import sys

from torch_toy import Texts, TorchToy, sentences

from regard.evaluate.audit import audit

TEXTS = sentences(40, longest=8)
OPTIONS = {
    "keep": 5, "profile": "quick", "explainers": ["attention", "leave_one_out", "input_x_gradient", "random"],
    "metrics": ["comprehensiveness", "agreement"],
}  # fmt: skip


def main(out: str, workers: str) -> None:
    def progress(done: int, total: int, eta: float | None) -> None:
        print(done, flush=True)

    run = audit(TorchToy(delay=0.01), Texts(TEXTS), out=out, workers=int(workers), progress=progress, **OPTIONS)
    print("complete", run.manifest["status"], flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
