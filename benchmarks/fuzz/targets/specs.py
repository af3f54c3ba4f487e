"""Shared edits of attention (`regard view MODEL --spec FILE`)."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

from benchmarks.fuzz import mutations
from benchmarks.fuzz.case import Case, evil_module
from benchmarks.fuzz.materials import Materials

SITE = "attention"
"""The one attention of the small network."""


def spec(rng: Random) -> dict[str, Any]:
    """Return a valid Spec with a few edits."""
    edits: list[dict[str, Any]] = [
        {"what": "uniform", "site": SITE},
        {"what": "knock_out", "site": SITE, "queries": [0], "keys": [1]},
        {"what": "scale", "site": SITE, "keys": [0], "factor": 0.5},
        {"what": "permute", "site": SITE, "seed": 3},
        {"what": "move", "site": SITE, "from": 0, "to": 1, "share": 0.5},
        {"what": "replace", "site": SITE, "values": [[[0.5, 0.25, 0.25]]]},
        {"what": "mask_heads", "site": SITE, "heads": [0]},
    ]
    params = {
        "model": "network",
        "text": "a quiet film",
        "methods": ["attention", "leave_one_out"],
        "edits": rng.sample(edits, rng.randrange(4)),
    }
    return {"kind": "edits", "name": "attention", "params": params}


def case(rng: Random, originals: Materials, folder: Path) -> Case:
    evil_module(folder)
    damaged = mutations.dumps(mutations.json_value(spec(rng), rng))
    content = damaged.encode("utf-8", "surrogatepass")
    if rng.random() < 0.2:
        content = mutations.data(content, rng)
    file = folder / "spec.json"
    file.write_bytes(content)
    target = originals.run if rng.random() < 0.3 else originals.network
    return Case([["view", str(target), "--spec", str(file), "--html", str(folder / "view.html")]])
