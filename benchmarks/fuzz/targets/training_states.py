"""Interrupted trainings: a damaged state may be refused or trained from scratch, but never change the weights."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from random import Random

from benchmarks.fuzz import mutations
from benchmarks.fuzz.case import Case
from benchmarks.fuzz.materials import TRAIN, Materials
from benchmarks.fuzz.outcome import Said

WEIGHTS = "model.safetensors"


def case(rng: Random, originals: Materials, folder: Path) -> Case:
    out = folder / "training"
    shutil.copytree(originals.interrupted, out, ignore=shutil.ignore_patterns("lock"))
    files = sorted(path for path in out.rglob("*") if path.is_file())
    file = rng.choice(files)
    if rng.random() < 0.1:
        file.unlink()
    elif file.suffix == ".json" and rng.random() < 0.7:
        damaged = mutations.json_value(json.loads(file.read_text("utf-8")), rng)
        file.write_bytes(mutations.dumps(damaged).encode("utf-8", "surrogatepass"))
    else:
        file.write_bytes(mutations.data(file.read_bytes(), rng))
    return resumed(originals, out)


def resumed(originals: Materials, out: Path) -> Case:
    """Continue the training; if it succeeds, its weights must equal those of an undisturbed one."""
    right = (originals.trained / WEIGHTS).read_bytes()

    def check(said: Sequence[Said]) -> str:
        if said[-1].code != 0:
            return ""
        file = out / WEIGHTS
        if not file.is_file():
            return "the training says that it is finished, and there are no weights"
        return "" if file.read_bytes() == right else "other weights than those of an undisturbed training"

    return Case([[*TRAIN, "--data", str(originals.csv), "--out", str(out)]], check=check)
