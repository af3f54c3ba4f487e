"""Policies of `regard gate`: hostile TOML, and TOML with hostile values."""

from __future__ import annotations

import tomllib
from pathlib import Path
from random import Random

from benchmarks.fuzz import mutations, toml
from benchmarks.fuzz.case import Case, evil_module
from benchmarks.fuzz.materials import POLICY, Materials
from benchmarks.fuzz.outcome import INPUT_CODES

DRIFT = '\n[[drift]]\nmin = 0.5\nmethod = "attention"\nmeasure = "kendall"\nk = 3\n'


def case(rng: Random, originals: Materials, folder: Path) -> Case:
    evil_module(folder)
    text = POLICY + (DRIFT if rng.random() < 0.3 else "")
    if rng.random() < 0.6:
        content = toml.dumps(mutations.json_value(tomllib.loads(text), rng)).encode("utf-8", "surrogatepass")
    else:
        content = mutations.data(text.encode(), rng)
    file = folder / "policy.toml"
    file.write_bytes(content)
    words = ["gate", str(originals.run), "--policy", str(file)]
    if rng.random() < 0.4:
        words += ["--baseline", str(originals.run)]
    if rng.random() < 0.2:
        words += ["--junit", str(folder / "j.xml"), "--summary", str(folder / "s.md")]
    return Case([words], INPUT_CODES | {1}, silent=True)
