"""Peers: which import beside this project, and attacks on the small ViT against torchattacks and AutoAttack.

`python -m benchmarks.peers` writes results/peers.json; with `attacks`, the stored imports stay. Directories in
REGARD_PEERS are searched after the installed packages, for peers whose requirements conflict (`pip install --no-deps
--target DIR captum inseq ferret-xai quantus lxt transformer-lens bertviz textattack foolbox torchattacks
pyautoattack`). A peer that does not import is listed with
the reason. Both sides of an attack get the same pictures, targets, ball, steps and step size. The ensembles get their
published sizes: 100 steps of APGD, 5,000 queries of Square; AutoAttack adds targeted APGD and FAB.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.__main__ import commit
from benchmarks.attacks import EPS, STEPS, vit
from benchmarks.lines import Line, peak_memory_mb, side_by_side
from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.desk.questions import attacked
from regard.records import Bools, Example, Spec, Threat

RESULT = Path(__file__).parent / "results" / "peers.json"
MODULES = {
    "captum": "captum.attr",
    "inseq": "inseq",
    "ferret-xai": "ferret",
    "quantus": "quantus",
    "lxt": "lxt.efficient",
    "transformer-lens": "transformer_lens",
    "bertviz": "bertviz",
    "textattack": "textattack",
    "foolbox": "foolbox",
    "torchattacks": "torchattacks",
    "pyautoattack": "pyautoattack",
}
"""Distribution -> the module that its users import."""
SECONDS = 240
SQUARE = 5000
ENSEMBLE = (f"apgd:eps={EPS},steps=100", f"apgd:eps={EPS},steps=100,loss=dlr", f"square:eps={EPS}")
"""The attacks of `worst_case` beside AutoAttack, each with SQUARE queries."""


def where() -> None:
    """Search the directories of peers last."""
    for folder in os.environ.get("REGARD_PEERS", "").split(os.pathsep):
        if folder and folder not in sys.path:
            sys.path.append(folder)


def importable(name: str, module: str) -> dict[str, str]:
    """Import a peer in its own process: return its version, and the reason if it fails."""
    code = f"from benchmarks.peers import where; where(); import {module}"
    try:
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=SECONDS)
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        reason = "" if done.returncode == 0 else re.sub(r" \(/[^)]*\)", "", last)  # without the path of this machine
    except subprocess.TimeoutExpired:
        reason = f"no answer in {SECONDS} s"
    try:
        release = version(name)
    except PackageNotFoundError:
        release = ""
    return {"version": release, "reason": reason if release else reason or "not installed"}


class _Unit(nn.Module):
    """The model for pictures in 0..1, as torchattacks and AutoAttack expect."""

    def __init__(self, inner: nn.Module, high: float) -> None:
        super().__init__()
        self.inner, self.high = inner, high

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.inner(images * self.high)
        return logits


def attack_lines() -> list[Line]:
    """Return success and CPU time of our attacks and of the peers that import."""
    where()
    torch.set_num_threads(1)
    model, examples = vit()
    images = torch.from_numpy(np.stack([model.encode(e).arrays["images"] for e in examples])).float()
    high = 1.0 if float(images.max()) <= 1 else 16.0
    targets = torch.tensor([int(str(t)) for t in DeskCase(Desk(model), examples).targets])
    plain = [Example(e.id, e.inputs) for e in examples]
    unit = _Unit(model.module, high).eval()
    flips: dict[str, Bools] = {}

    def ours(spec: Spec, budget: int) -> None:
        records = attacked(DeskCase(Desk(model), plain), spec, Threat(budget=budget))
        flips["ours"] = np.array([one.status == "success" for one in records])

    def pgd() -> None:
        library: Any = importlib.import_module("torchattacks")
        attack = library.PGD(unit, eps=EPS, alpha=2.5 * EPS / STEPS, steps=STEPS, random_start=False)
        changed(attack(images / high, targets))

    def apgd() -> None:
        library: Any = importlib.import_module("pyautoattack")
        attack = library.AutoAttack(unit, norm="Linf", eps=EPS, version="custom", attacks=["apgd-ce"], device="cpu")
        attack.apgd.n_iter, attack.apgd.n_restarts = STEPS, 1
        changed(attack.apgd.perturb(images / high, targets))

    def ensemble() -> None:
        library: Any = importlib.import_module("torchattacks")
        changed(library.AutoAttack(unit, norm="Linf", eps=EPS, n_classes=10, seed=0)(images / high, targets))

    def changed(adversarial: Tensor) -> None:
        inside = float((adversarial.detach() - images / high).abs().max()) <= EPS + 1e-6
        with torch.no_grad():
            flips["peer"] = (unit(adversarial).argmax(-1) != targets).numpy() & inside

    lines = []
    for peer, spec, budget, call in (
        ("torchattacks", Spec("attack", "pgd", {"eps": EPS, "steps": STEPS}), STEPS + 1, pgd),
        ("pyautoattack", Spec("attack", "apgd", {"eps": EPS, "steps": STEPS}), STEPS + 1, apgd),
        ("torchattacks", Spec("attack", "worst_case", {"attacks": [*ENSEMBLE]}), len(ENSEMBLE) * SQUARE, ensemble),
    ):
        try:
            importlib.import_module(MODULES[peer])
        except ImportError as refusal:
            print(f"  {peer}: {refusal}")
            continue
        seconds = side_by_side({"ours": partial(ours, spec, budget), peer: call}, repeats=1 + (call is not ensemble))
        detail: dict[str, float | str] = {f"{side} s": spent for side, spent in seconds.items()}
        detail |= {f"flipped, {side}": float(rows.mean()) for side, rows in flips.items()}
        detail["only ours"] = float((flips["ours"] & ~flips["peer"]).sum())
        detail |= {"only peer": float((flips["peer"] & ~flips["ours"]).sum()), "peak MB": peak_memory_mb()}
        whom = "AutoAttack of torchattacks, standard" if call is ensemble else peer
        what = f"{spec.name} on the small ViT, {len(plain)} pictures: flips, ours / {whom}"
        ratio = float(flips["ours"].mean()) / max(float(flips["peer"].mean()), 1e-9)
        lines.append(Line(what, ratio, 0.95, ">=", detail))
    return lines


def run() -> list[Line]:
    return attack_lines()


def store(lines: Sequence[Line], about: Mapping[str, Any]) -> None:
    """Write lines to results/peers.json, replacing those with the same name."""
    record = json.loads(RESULT.read_text("utf-8"))
    new = {line.what for line in lines}
    others = [one for one in record["lines"] if one["what"] not in new]
    record |= {**about, "lines": others + [line.to_json() for line in lines]}
    RESULT.write_text(json.dumps(record, indent=1) + "\n", "utf-8")


def main() -> int:
    about: dict[str, Any] = {}
    if "attacks" not in sys.argv:
        about = {"command": "python -m benchmarks.peers", "commit": commit(), "peers": {}}
        for name, module in MODULES.items():
            about["peers"][name] = importable(name, module)
            print(name, json.dumps(about["peers"][name]), flush=True)
    lines = attack_lines()
    for line in lines:
        print(line.shown())
    store(lines, about)
    return 0


if __name__ == "__main__":
    where()
    sys.exit(main())
