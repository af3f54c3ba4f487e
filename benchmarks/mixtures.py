"""`python -m benchmarks.mixtures [--runs N]`: how often one population of inputs is called two, and two are found.

One population: eleven distributions of shares with a single peak, with effects, noise and clusters of several kinds.
Two populations: 20, 30 and 40 % wrong inputs. Counted are drafts before the correction for other questions ("called")
and the rule for "right on most" at a tenth of the level ("found", a correction for ten questions). Writes
results/mixtures.json (command, commit). An error rate above 5 % makes the exit code 1.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from benchmarks.__main__ import commit
from benchmarks.simulated_shares import ONE_POPULATION, Draw, simulated, two_populations
from regard.judge.margins import LEVEL
from regard.judge.mixture import MOST, mixture

RESULTS = Path(__file__).parent / "results" / "mixtures.json"
SIZES, NOISES, UNITS, CLUSTERS = (60, 100, 200), (0.01, 0.04, 0.1), (8, 30), (1, 4)
FAMILY = 10


def share(draw: Draw, n: int, runs: int, *, noise: float, units: int, clusters: int, found: bool) -> float:
    """Return the share of runs that are called two populations, or found right on most inputs."""
    count = 0
    for seed in range(runs):
        draft = mixture(simulated(draw, n, seed, noise=noise, units=units, clusters=clusters))
        assert draft is not None
        called = draft.answer in ("fails", "mixed")
        count += called and (not found or (draft.rule == MOST and FAMILY * draft.p < LEVEL))
    return count / runs


def measurements(runs: int) -> Iterator[dict[str, object]]:
    for n, noise, units, clusters in product(SIZES, NOISES, UNITS, CLUSTERS):
        setting = {"n": n, "noise": noise, "units": units, "clusters": clusters}
        for name, draw in ONE_POPULATION.items():
            rate = share(draw, n, runs, noise=noise, units=units, clusters=clusters, found=False)
            yield {"population": name, **setting, "called": rate}
    for n, noise, wrong in product(SIZES, NOISES, (0.2, 0.3, 0.4)):
        rate = share(two_populations(wrong), n, runs, noise=noise, units=15, clusters=1, found=True)
        yield {"population": "two", "wrong": wrong, "n": n, "noise": noise, "found": rate}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    runs = parser.parse_args().runs
    table = list(measurements(runs))
    errors = [float(str(row["called"])) for row in table if "called" in row]
    for row in table:
        if "found" in row or float(str(row["called"])) > 0:
            print(row)
    print(f"one population called two: mean {sum(errors) / len(errors):.4f}, worst setting {max(errors):.3f}")
    about = {"command": f"python -m benchmarks.mixtures --runs {runs}", "commit": commit(), "runs": runs}
    figures = {"mean": sum(errors) / len(errors), "worst": max(errors), "settings": len(errors)}
    called = [row for row in table if row.get("called")]
    found = [row for row in table if "found" in row]
    rows_json = [json.dumps(row) for row in (*called, *found)]
    head = json.dumps({**about, "one_population_called_two": figures}, indent=1)[:-2]
    RESULTS.write_text(head + ',\n "rows": [\n  ' + ",\n  ".join(rows_json) + "\n ]\n}\n")
    return int(max(errors) > LEVEL)


if __name__ == "__main__":
    sys.exit(main())
