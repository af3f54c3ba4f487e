"""Evidence made by hand, with known answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from regard.judge.evidence import Curves, Evidence
from regard.records import Floats

How = Literal["evidence", "random", "half", "default"]
OPERATORS = ("mask", "delete", "resample")
OTHERS = ("integrated_gradients", "gradient", "leave_one_out:mask", "leave_one_out:delete")


def made(
    n: int = 60,
    how: dict[str, How] | None = None,
    *,
    change: float = 0.4,
    flips: float = 0.3,
    route: float = 1.0,
    flat: float = 0.5,
    locked: float = 0.5,
    keys: int = 12,
    displaceable: float = 0.8,
    agreement: float = 0.6,
    ceiling: float = 0.6,
    noise: float = 0.05,
    seed: int = 0,
) -> Evidence:
    """n examples of each class. how: class -> what attention puts first there; "default": nothing can be found."""
    told = how or {"negative": "evidence", "positive": "evidence"}
    rng = np.random.default_rng(seed)
    classes = tuple(name for name in told for _ in range(n))
    total = len(classes)
    count = len(told)

    def near(value: float) -> Floats:
        return np.clip(value + noise * rng.standard_normal(total), 0, 1)

    def drawn(share: float) -> Floats:
        return (rng.permutation(total) < round(share * total)).astype(float)

    single = {
        "keys": np.full(total, float(keys)), "flat": near(flat), "locked": near(locked), "permuted": near(change),
        "permuted_flips": near(flips) if flips else np.zeros(total), "route": drawn(route),
        "displaceable": drawn(displaceable), "linear": np.ones(total), "agreement": near(agreement),
        "ceiling": near(ceiling),
    }  # fmt: skip
    kind = np.array([told[c] for c in classes])
    pointing: dict[tuple[str, str], Curves] = {}
    low = 1 / count + 0.02
    for operator in OPERATORS:
        for ranking in ("attention", *OTHERS, "random:0", "random:1"):
            finds = np.full(total, 0.0 if ranking.startswith("random") else 1.0)
            if ranking == "attention":
                finds = np.where(kind == "random", 0.0, np.where(kind == "half", 0.5, 1.0))
            finds = np.where(kind == "default", 0.0, finds)[:, None] * np.ones((1, 3))
            jitter = noise * rng.standard_normal((2, total, 3))
            top = 0.95 + 1e-3 * OPERATORS.index(operator)  # no two operators give the very same numbers
            removed = np.clip(top - (top - low) * finds + jitter[0], 0, 1)
            kept = np.clip(low + (0.95 - low) * finds + jitter[1], 0, 1)
            own = ranking == f"leave_one_out:{operator}"
            pointing[ranking, operator] = Curves(removed, None if operator == "resample" else kept, own)
    return Evidence(
        tuple(f"e{i}" for i in range(total)), classes, tuple(f"e{i}" for i in range(total)), np.full(total, 0.95),
        np.full(total, 1 / count), single, pointing, attention="by hand", labels=tuple(told),
    )  # fmt: skip


def with_attention(evidence: Evidence, ranking: str) -> Evidence:
    """The same evidence with another ranking in the place of attention."""
    pointing = dict(evidence.pointing)
    for operator in OPERATORS:
        pointing["attention", operator] = replace(pointing[ranking, operator], own=False)
    return replace(evidence, pointing=pointing)
