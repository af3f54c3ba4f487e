"""Data files: csv, tsv, json, jsonl, Parquet, arrow directories, sounds; damaged bytes and hostile cells."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.fuzz import mutations
from benchmarks.fuzz.case import Case
from benchmarks.fuzz.materials import AUDIT, Materials, rows

FILES = ("good.csv", "good.tsv", "good.jsonl", "good.json", "good.parquet", "numbers.csv")
COLUMNS = ("--text-column", "--label-column", "--pair-column")


def case(rng: Random, originals: Materials, folder: Path) -> Case:
    data = rng.choice((_bytes, _bytes, _cells, _cells, _directory, _sounds))(rng, originals, folder)
    return Case([command(rng, originals, folder, data)])


def command(rng: Random, originals: Materials, folder: Path, data: Path) -> list[str]:
    """Return a command that reads the file, mostly the fastest one."""
    options = ["--skip-bad"] if rng.random() < 0.3 else []
    if rng.random() < 0.15:
        options += [rng.choice(COLUMNS), rng.choice(("text", "label", mutations.string(rng)))]
    way = rng.random()
    if way < 0.75 or data.suffix == ".wav":
        noise = rng.choice(("keyboard", "all", "gain"))
        return ["perturb", str(data), "--limit", "3", "--noise", noise, *options]
    if way < 0.9:
        out = ["--out", str(folder / "run")]
        return ["audit", str(originals.network), "--data", str(data), *AUDIT, "--limit", "2", *out, *options]
    chosen = ["--set", "size=4", "--set", "hidden=2", "--epochs", "1"]
    return ["train", "classifier", "--data", str(data), *chosen, "--out", str(folder / "trained"), *options]


def _bytes(rng: Random, originals: Materials, folder: Path) -> Path:
    name = rng.choice(FILES)
    damaged = mutations.data((originals.root / name).read_bytes(), rng)
    if rng.random() < 0.1 and not name.endswith(".parquet"):
        path = folder / f"{name}.gz"
        packed = gzip.compress(damaged, mtime=0)
        path.write_bytes(mutations.data(packed, rng) if rng.random() < 0.7 else packed)
        return path
    path = folder / name
    path.write_bytes(damaged)
    return path


def _cells(rng: Random, originals: Materials, folder: Path) -> Path:
    """Write well-formed files with hostile content."""
    table = mutations.json_value(rows()[:8], rng)
    kind = rng.choice((".csv", ".jsonl", ".json"))
    path = folder / f"cells{kind}"
    if kind == ".csv":
        path.write_bytes(_as_csv(table).encode("utf-8", "surrogatepass"))
    elif kind == ".jsonl":
        lines = table if isinstance(table, list) else [table]
        text = "\n".join(mutations.dumps(line) for line in lines)
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
    else:
        path.write_bytes(mutations.dumps(table).encode("utf-8", "surrogatepass"))
    return path


def _as_csv(table: Any) -> str:
    if not isinstance(table, list):
        return str(table)
    lines = []
    header = [row for row in table if isinstance(row, dict)][:1]
    for row in [*([list(header[0])] if header else []), *table]:
        cells = row.values() if isinstance(row, dict) else row if isinstance(row, list) else [row]
        lines.append(",".join('"' + mutations.dumps(cell).strip('"') + '"' for cell in cells))
    return "\n".join(lines) + "\n"


def _directory(rng: Random, originals: Materials, folder: Path) -> Path:
    """A `datasets` directory with damaged JSON or arrow."""
    path = folder / "datasets"
    shutil.copytree(originals.root / "datasets", path)
    file = rng.choice(sorted(path.iterdir()))
    if file.suffix == ".json" and rng.random() < 0.7:
        damaged = mutations.json_value(json.loads(file.read_text("utf-8")), rng)
        file.write_bytes(mutations.dumps(damaged).encode("utf-8", "surrogatepass"))
    elif rng.random() < 0.1:
        file.unlink()
    else:
        file.write_bytes(mutations.data(file.read_bytes(), rng))
    return path


def _sounds(rng: Random, originals: Materials, folder: Path) -> Path:
    original = (originals.root / "sounds" / "low" / "tone.wav").read_bytes()
    path = folder / "sounds" / "low" / "tone.wav"
    path.parent.mkdir(parents=True)
    head = mutations.data(original[:60], rng) if rng.random() < 0.8 else original[:60]
    path.write_bytes(head + original[60 : 60 + rng.choice((0, 1, 100, 1600))])
    return path if rng.random() < 0.5 else folder / "sounds"
