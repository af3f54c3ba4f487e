"""`python -m benchmarks.translators [DATA ...]`: both translators on generated texts whose alignment is known.

Trains each one as `regard train translator` does, then writes every test sentence greedily (exact match, with a Wilson
interval) and compares its cross-attention with the known alignment (alignment error rate; the site is chosen on dev).
Part of `make quality`; writes results/translators.json. A bar that is not met makes the exit code 1.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.__main__ import commit
from regard.datasets.read import read
from regard.measures.intervals import wilson
from regard.networks.checkpoint import load_checkpoint
from regard.networks.vocabulary import Vocabulary
from regard.training.train import train
from regard.training.train_one import Splits
from regard.training.translation import exact, pair_rows

HERE = Path(__file__).parent
DATA = {"dates": 8000, "phrases": 6000, "number_words": 8000, "sequences": 8000}
"""Data -> how many pairs are learned from."""
ENCODERS = ("recurrent", "transformer")
EXACT, ERROR = 0.98, 0.35
BARRED = ("dates", "phrases")
DEV, TEST = 400, 2000


def quality(data: str, encoder: str, *, seed: int = 0) -> dict[str, object]:
    """Train one translator and evaluate it on unseen sentences."""
    sizes = (("train", DATA[data]), ("dev", DEV), ("test", TEST))
    splits = Splits(*(read(f"{data}:n={n}", split=split, limit=None) for split, n in sizes))
    start = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        (facts,) = train(f"translator:encoder={encoder}", splits, out=Path(folder) / "model", seed=seed).members
        network, about = load_checkpoint(Path(folder) / "model")
    spent = time.process_time() - start
    source, target = (Vocabulary.from_json(about[name]) for name in ("source_vocabulary", "target_vocabulary"))
    right = exact(network, pair_rows(splits.test, source, target))  # type: ignore[arg-type]
    low, high = wilson(sum(right), len(right))
    aligned = facts["alignment"]
    row: dict[str, object] = {
        "data": data, "encoder": encoder, "learned_from": DATA[data], "n": len(right), "seed": seed,
        "exact_match": float(np.mean(right)), "low": float(low), "high": float(high),
        "alignment_error_rate": aligned["error_rate"], "site": aligned["site"], "diagonal": aligned["diagonal"],
        "epochs": len(facts["epochs"]), "cpu_seconds": round(spent),
    }  # fmt: skip
    if data in BARRED:
        row |= {"bar": EXACT, "met": float(np.mean(right)) >= EXACT and float(aligned["error_rate"]) <= ERROR}
    return row


def shown(row: dict[str, object]) -> str:
    mark = {True: "ok  ", False: "MISS", None: "    "}[row.get("met")]  # type: ignore[index]
    return (
        f"{mark} {row['data']:12} {row['encoder']:11} exact match {row['exact_match']:.3f} "
        f"[{row['low']:.3f}, {row['high']:.3f}] n={row['n']}"
        + (f" (bar {row['bar']})" if "bar" in row else "")
        + f"; alignment error rate {row['alignment_error_rate']:.3f} ({row['site']}; diagonal {row['diagonal']:.3f}); "
        f"{row['epochs']} epochs, {row['cpu_seconds']} s of one core"
    )


def main() -> int:
    rows = []
    for data in sys.argv[1:] or BARRED:
        for encoder in ENCODERS:
            rows.append(quality(data, encoder))
            print(shown(rows[-1]), flush=True)
    (HERE / "results").mkdir(exist_ok=True)
    record = {"command": f"python -m benchmarks.translators {' '.join(sys.argv[1:])}".strip(), "commit": commit()}
    (HERE / "results" / "translators.json").write_text(json.dumps({**record, "rows": rows}, indent=1) + "\n", "utf-8")
    return 0 if all(row.get("met", True) for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
