"""Run directories: damaged bytes of the ledger, hostile facts in it, damaged blobs and marks."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path
from random import Random

from benchmarks.fuzz import mutations
from benchmarks.fuzz.case import Case, evil_module
from benchmarks.fuzz.materials import AUDIT, Materials
from benchmarks.fuzz.outcome import INPUT_CODES


def case(rng: Random, originals: Materials, folder: Path) -> Case:
    run = folder / "run"
    shutil.copytree(originals.run, run, ignore=shutil.ignore_patterns("report.html", "lock"))
    rng.choice((_book_bytes, _facts, _facts, _facts, _rows, _blob, _marks))(rng, run)
    evil_module(folder)
    chosen = command(rng, originals, folder, run)
    codes = INPUT_CODES | {1} if chosen[0] == "gate" else INPUT_CODES
    return Case([chosen], codes, silent=chosen[0] == "gate")


def command(rng: Random, originals: Materials, folder: Path, run: Path) -> list[str]:
    """Return a command that opens the run."""
    page = str(folder / "page.html")
    ways: tuple[tuple[str, ...], ...] = (
        ("report", str(run), "--out", page),
        ("report", str(run), "--out", page, "--lang", "zh", "--redact"),
        ("report", str(run), "--out", str(folder / "page.md"), "--format", "md"),
        ("report", str(run), "--out", str(folder / "page.json"), "--format", "json"),
        ("metrics", str(run)),
        ("metrics", str(run), "--json"),
        ("metrics", str(run), "--metric", "decision_flip"),
        ("verdicts", str(run), "--rules"),
        ("experiments", str(run)),
        ("export", str(run), "--out", str(folder / "tables")),
        ("gate", str(run), "--policy", str(originals.root / "policy.toml")),
        ("gate", str(originals.run), "--policy", str(originals.root / "policy.toml"), "--baseline", str(run)),
        ("view", str(run), "--html", page),
        ("view", str(run), "--text", "a quiet film", "--html", page),
        ("audit", str(originals.network), "--data", str(originals.csv), *AUDIT, "--out", str(run)),
    )
    return list(rng.choice(ways))


def _book_bytes(rng: Random, run: Path) -> None:
    for name in rng.choice((("ledger.sqlite",), ("ledger.sqlite", "ledger.sqlite-wal"))):
        file = run / name
        before = file.read_bytes() if file.is_file() else b"\x37\x7f\x06\x82" + bytes(60)
        file.write_bytes(mutations.data(before, rng))


def _facts(rng: Random, run: Path) -> None:
    """Write well-formed rows with hostile JSON."""
    with sqlite3.connect(run / "ledger.sqlite") as book:
        table, key, column = rng.choice(
            (("fact", "name", "value"), ("fact", "name", "value"), ("example", "id", "facts"))
        )
        names = [row[0] for row in book.execute(f"SELECT {key} FROM {table} ORDER BY {key}")]
        name = rng.choice(names)
        (text,) = book.execute(f"SELECT {column} FROM {table} WHERE {key} = ?", (name,)).fetchone()
        damaged = mutations.dumps(mutations.json_value(json.loads(text), rng))
        if rng.random() < 0.1:
            damaged = mutations.data(damaged.encode("utf-8", "replace"), rng).decode("utf-8", "replace")
        safe = damaged.encode("utf-8", "replace").decode("utf-8")
        book.execute(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", (safe, name))
    book.close()


def _rows(rng: Random, run: Path) -> None:
    """Remove, duplicate or rename rows and tables."""
    ways = (
        "DELETE FROM fact", "DELETE FROM fact WHERE name = 'manifest'", "DELETE FROM fact WHERE name = 'identity'",
        "DELETE FROM example", "DELETE FROM example WHERE position = 0", "DELETE FROM artifact", "DELETE FROM task",
        "DROP TABLE task", "DROP TABLE fact", "DROP TABLE problem", "DROP TABLE artifact", "DROP TABLE example",
        "UPDATE task SET blob = NULL", "UPDATE task SET blob = '../../up'", "UPDATE task SET blob = ''",
        "UPDATE artifact SET blob = 'x'", "UPDATE artifact SET example = example || '?'", "PRAGMA user_version = 99",
        "PRAGMA application_id = 1", "ALTER TABLE fact RENAME COLUMN value TO other",
        "INSERT INTO problem VALUES ('t', 'e0', char(27) || '[31m', char(8232) || char(0))",
        "UPDATE fact SET value = 'null'", "UPDATE fact SET value = ''", "UPDATE example SET id = id || char(27)",
        "UPDATE fact SET value = '\"no such status\"' WHERE name = 'status'",
        "UPDATE task SET status = 'split'",
    )  # fmt: skip
    with sqlite3.connect(run / "ledger.sqlite") as book:
        book.execute(rng.choice(ways))
    book.close()


def _blob(rng: Random, run: Path) -> None:
    files = sorted(path for path in (run / "blobs").rglob("*") if path.is_file())
    file = rng.choice(files)
    if rng.random() < 0.2:
        file.unlink()
    else:
        file.write_bytes(mutations.data(file.read_bytes(), rng))


def _marks(rng: Random, run: Path) -> None:
    line = {
        "id": "e0", "text": "a good film", "rationale": [[0, 1]], "author": "Anna\u2028Ben",
        "date": "2026-01-01T00:00:00Z",
    }  # fmt: skip
    damaged = mutations.dumps(mutations.json_value(line, rng) if rng.random() < 0.8 else line)
    (run / "rationales.jsonl").write_bytes((damaged + "\n").encode("utf-8", "surrogatepass"))
