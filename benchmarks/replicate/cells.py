"""One cell = one seed of one setting: trained, measured and stored, so that an interrupted run continues."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.replicate import measures, models, vectors
from regard.measures.divergence import jsd, tvd
from regard.registry import build
from regard.training.directory import write_json
from regard.training.reference import TrainedReference
from regard.training.train_one import Splits

SEEDS = (0, 1, 2, 3, 4)
"""Fixed before anything was run, and all reported."""
SCALE = 0.3
"""Standard deviation of the pretrained vectors."""
PROBE, PRINTED = 1e-3, 5e-4
"""Weight of KL: of the adversary whose attention is imposed, and of the one in the printed table."""


@dataclass(frozen=True, slots=True)
class Cell:
    """kind: "agreement" (Jain & Wallace), "diagnostic" and "adversary" (Wiegreffe & Pinter).

    Word vectors start at random in "agreement", as in the runs that its bands come from. They are pretrained in all
    others, as they were in the papers; "pretrained" is the agreement of such a model.
    """

    kind: str
    seed: int
    encoder: str = "bilstm"
    attention: str = "additive"

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.encoder}-{self.attention}-{self.seed}"


def every() -> Iterator[Cell]:
    """Order cells seed by seed, so that every row has a value early; cells of the bands come first."""
    for seed in SEEDS:
        yield from (Cell("agreement", seed, encoder) for encoder in ("average", "bilstm"))
        yield Cell("pretrained", seed)
        yield Cell("diagnostic", seed)
        yield Cell("agreement", seed, "cnn")
        yield from (Cell("agreement", seed, encoder, "dot") for encoder in ("bilstm", "cnn", "average"))
        yield Cell("pretrained", seed, "average")
        yield Cell("adversary", seed)


def done(home: Path, cell: Cell) -> dict[str, Any] | None:
    path = home / "cells" / f"{cell.name}.json"
    if not path.is_file():
        return None
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def run(splits: Splits, home: Path, cell: Cell) -> dict[str, Any]:
    """Return the values of a cell, from the store or computed now."""
    before = done(home, cell)
    if before is not None:
        return before
    (home / "cells").mkdir(parents=True, exist_ok=True)
    start = time.process_time()
    kinds = {"agreement": _agreement, "pretrained": _agreement, "diagnostic": _diagnostic, "adversary": _adversary}
    values = kinds[cell.kind](splits, home, cell)
    record = {
        "cell": cell.name, "kind": cell.kind, "encoder": cell.encoder, "attention": cell.attention, "seed": cell.seed,
        "n": len(splits.test), "values": values, "cpu_seconds": round(time.process_time() - start),
    }  # fmt: skip
    write_json(home / "cells" / f"{cell.name}.json", record)
    return record


def _agreement(splits: Splits, home: Path, cell: Cell) -> dict[str, float]:
    given = vectors.pretrained(splits.train, home, SCALE) if cell.kind == "pretrained" else None
    folder = models.plain(splits, home, cell.encoder, cell.attention, cell.seed, vectors=given)
    found = measures.texts(folder, splits.test)
    label, p = np.array([t.label for t in found]), np.array([t.p for t in found])
    np.savez(home / "cells" / f"{cell.name}.npz", alpha=np.concatenate([t.alpha for t in found]), p=p,
             length=np.array([len(t.alpha) for t in found]))  # fmt: skip
    return {
        **measures.quality(label, p), **measures.agreement(found), **measures.permutation(found, cell.seed),
        **measures.adversaries(found, cell.seed),
    }  # fmt: skip


def _diagnostic(splits: Splits, home: Path, cell: Cell) -> dict[str, float]:
    """F1 of the base, its uniform control and the adversary; and of a bag of words under four attention settings."""
    s, given = cell.seed, vectors.pretrained(splits.train, home, SCALE)
    base = models.plain(splits, home, "bilstm", "additive", s, vectors=given)
    adversary = models.adversary(splits, home, base, PROBE, s, given)
    guided = {
        "probe_trained": models.plain(splits, home, "average", "additive", s, vectors=given),
        "probe_uniform": models.plain(splits, home, "average", "uniform", s, vectors=given),
        "probe_base": models.plain(splits, home, "average", "frozen", s, vectors=given, like=base),
        "probe_adversary": models.plain(splits, home, "average", "frozen", s, vectors=given, like=adversary),
    }
    uniform = models.plain(splits, home, "bilstm", "uniform", s, vectors=given)
    found = {f"f1_{name}": _f1(splits, folder) for name, folder in guided.items()}
    return {**found, "f1_uniform": _f1(splits, uniform), **_compared(splits, base, adversary)}


def _adversary(splits: Splits, home: Path, cell: Cell) -> dict[str, float]:
    given = vectors.pretrained(splits.train, home, SCALE)
    base = models.plain(splits, home, "bilstm", "additive", cell.seed, vectors=given)
    return _compared(splits, base, models.adversary(splits, home, base, PRINTED, cell.seed, given))


def _compared(splits: Splits, base: Path, other: Path) -> dict[str, float]:
    """F1 of both, and the mean distances of their predictions and attention over the test texts."""
    learner = build(models.spec("bilstm", "additive"))(splits.train)
    one, two = TrainedReference(base), TrainedReference(other)
    answers = [np.stack([row.numpy() for row in r.predictions(splits.test, learner)]) for r in (one, two)]
    maps = zip(one.attention(splits.test, learner), two.attention(splits.test, learner), strict=True)
    return {
        "f1_base": _f1(splits, base), "f1_adversary": _f1(splits, other), "tvd": float(tvd(*answers).mean()),
        "jsd": float(np.mean([jsd(a.double().numpy(), b.double().numpy()) for a, b in maps])),
    }  # fmt: skip


def _f1(splits: Splits, folder: Path) -> float:
    learner = build(models.spec("bilstm", "additive"))(splits.train)
    p = np.array([float(row[1]) for row in TrainedReference(folder).predictions(splits.test, learner)])
    return measures.quality(np.array([int(str(e.label)) for e in splits.test]), p)["f1"]


def between_seeds(home: Path, encoder: str, attention: str) -> dict[str, float]:
    """Divergence of attention and change of predictions between seeds: over texts, then over pairs of seeds."""
    found = [home / "cells" / f"{Cell('agreement', s, encoder, attention).name}.npz" for s in SEEDS]
    loaded = [dict(np.load(path)) for path in found if path.is_file()]
    apart, moved = [], []
    for i, one in enumerate(loaded):
        for two in loaded[:i]:
            cuts = np.cumsum(one["length"])[:-1]
            pairs = zip(np.split(one["alpha"], cuts), np.split(two["alpha"], cuts), strict=True)
            apart.append(float(np.median([jsd(a, b) for a, b in pairs])))
            moved.append(float(np.abs(one["p"] - two["p"]).mean()))
    if not apart:
        return {}
    return {"pairs": len(apart), "jsd": float(np.mean(apart)), "jsd_most": max(apart), "tvd": float(np.mean(moved))}
