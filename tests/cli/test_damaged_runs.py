"""A damaged run is named in one line, whatever opens it, and nothing outside of it is read."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result
from safetensors.numpy import save

from regard.errors import InputError
from regard.store.blobs import Blobs, unpack
from regard.store.ledger import FILE
from regard.store.run import Run

Call = Callable[..., Result]
POLICY = '[[gate]]\nmetric = "entropy"\nmethod = "attention"\nmin = 0.0\n'
COMMANDS = {
    "report": "report RUN --out OUT/report.html",
    "markdown": "report RUN --format md --out OUT/report.md",
    "json": "report RUN --format json --out OUT/report.json",
    "metrics": "metrics RUN",
    "gate": "gate RUN --policy OUT/policy.toml",
    "experiments": "experiments RUN",
    "verdicts": "verdicts RUN --rules",
    "export": "export RUN --out OUT/tables",
    "view": "view RUN --html OUT/view.html",
}


@pytest.fixture
def run(audited: tuple[Path, Result], tmp_path: Path) -> Path:
    """A copy of a whole run, to be damaged."""
    (tmp_path / "policy.toml").write_text(POLICY, "utf-8")
    return Path(shutil.copytree(audited[0], tmp_path / "run"))


def words(name: str, run: Path) -> list[str]:
    return COMMANDS[name].replace("RUN", str(run)).replace("OUT", str(run.parent)).split()


def edit_book(run: Path, statement: str, *values: object) -> None:
    book = sqlite3.connect(run / FILE)
    with book:
        book.execute(statement, values)
    book.close()


def edit_fact(run: Path, name: str, change: Callable[[Any], Any]) -> None:
    book = sqlite3.connect(run / FILE)
    text = book.execute("SELECT value FROM fact WHERE name = ?", (name,)).fetchone()[0]
    book.close()
    edit_book(run, "UPDATE fact SET value = ? WHERE name = ?", json.dumps(change(json.loads(text))), name)


def at(path: tuple[Any, ...], new: Any) -> Callable[[Any], Any]:
    def change(value: Any) -> Any:
        if not path:
            return new
        inner = value
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = new
        return value

    return change


FACTS: list[tuple[str, tuple[Any, ...], Any, str]] = [
    ("manifest", (), [], "row manifest"),
    ("manifest", ("model",), None, "field model"),
    ("manifest", ("model",), {}, "field model.name"),
    ("manifest", ("model", "labels"), "ab", "field model.labels"),
    ("manifest", ("model", "spec"), ["x"], "field model.spec"),
    ("manifest", ("data", "name"), 3, "field data.name"),
    ("manifest", ("data", "n"), -1, "field data.n"),
    ("manifest", ("seed",), 10**40, "field seed"),
    ("manifest", ("methods", 0), {}, "field methods[0]"),
    ("manifest", ("settings", "explainers", 0), "attention", "field settings.explainers[0]"),
    ("manifest", ("limit",), {"machine_flops": float("nan")}, "field limit.machine_flops"),
    ("summaries", (0, "n"), "6", "field [0].n"),
    ("summaries", (0, "estimate"), [], "field [0].estimate"),
    ("summaries", (0,), None, "row summaries"),
    ("judgements", (0, "verdicts", 0, "answer"), "perhaps", "field [0].verdicts[0].answer"),
    ("judgements", (0, "verdicts", 0, "contrasts", 0, "p"), "x", "contrasts[0].p"),
    ("preconditions", ("defects",), {}, "field defects"),
    ("status", (), 7, "row status"),
    ("identity", ("specs",), [[]], "field specs[0]"),
]


@pytest.mark.parametrize(("fact", "path", "new", "says"), FACTS, ids=[f"{f}{p}" for f, p, _, _ in FACTS])
def test_a_fact_of_another_type_is_named(
    fact: str, path: tuple[Any, ...], new: Any, says: str, run: Path, regard: Call
) -> None:
    edit_fact(run, fact, at(path, new))
    for name in COMMANDS:
        result = regard(*words(name, run))
        assert result.exit_code == 2, (name, result.output)
        told = result.stderr + result.stdout  # a gate says everything on standard output
        assert f"{FILE}, table fact, row {fact}" in " ".join(told.split()), (name, told)
        assert says in " ".join(told.split())


def test_keys_that_nobody_knows_are_ignored(run: Path, regard: Call) -> None:
    edit_fact(run, "manifest", at(("new",), 1))
    edit_fact(run, "summaries", at((0, "new"), 1))
    edit_fact(run, "judgements", at((0, "verdicts", 0, "contrasts", 0, "new"), 1))
    assert regard(*words("metrics", run)).exit_code == 0
    assert regard(*words("report", run)).exit_code == 0


STATEMENTS = {
    "no manifest": "DELETE FROM fact WHERE name = 'manifest'",
    "no facts": "DROP TABLE fact",
    "no examples": "DROP TABLE example",
    "an example gone": "DELETE FROM example WHERE position = 2",
    "an example without inputs": """UPDATE example SET facts = '{"id": "' || id || '"}' WHERE position = 1""",
    "an example of another name": """UPDATE example SET facts = '{"id": "x", "inputs": {}}' WHERE position = 1""",
    "half a value": "UPDATE fact SET value = substr(value, 1, 90) WHERE name = 'manifest'",
    "deep nesting": f"UPDATE fact SET value = '{'[' * 5000}' WHERE name = 'summaries'",
    "a number of 5000 digits": f"UPDATE fact SET value = '{'9' * 5000}' WHERE name = 'summaries'",
    "no UTF-8": "UPDATE fact SET value = CAST(x'22ff22' AS TEXT) WHERE name = 'manifest'",
    "a blob outside": "UPDATE task SET blob = '../../../../etc/passwd'",
    "a blob anywhere": "UPDATE task SET blob = '/etc/passwd'",
    "another format": "PRAGMA user_version = 7",
    "another program": "PRAGMA application_id = 1",
}


@pytest.mark.parametrize("what", STATEMENTS)
def test_a_damaged_table_is_named(what: str, run: Path, regard: Call) -> None:
    edit_book(run, STATEMENTS[what])
    for name in ("verdicts", "metrics", "report", "export"):
        result = regard(*words(name, run))
        assert result.exit_code == 2, (name, result.output)
        assert result.stderr.startswith("regard: ")
        assert "internal error" not in result.stderr
        assert str(run) in result.stderr.replace("\n", "")


def repacked(run: Path, change: Callable[[dict[str, Any], Any], Any], table: str = "task") -> Path:
    """A page (or kept attention) with other content under its right hash, as somebody who means harm would do it."""
    blobs = Blobs(run / "blobs")
    book = sqlite3.connect(run / FILE)
    names = [name for (name,) in book.execute(f"SELECT blob FROM {table}")]
    name = next(name for name in names if table != "task" or unpack(blobs.get(name))[1]["rows"])
    book.close()
    arrays, facts = unpack(blobs.get(name))
    facts = change(arrays, facts) or facts
    new = blobs.put(save(arrays, metadata={"facts": json.dumps(facts)}))
    edit_book(run, f"UPDATE {table} SET blob = ? WHERE blob = ?", new, name)
    return blobs.path(new)


PAGES: dict[str, Callable[[dict[str, Any], Any], Any]] = {
    "facts are a list": lambda arrays, facts: [facts],
    "a row is text": lambda arrays, facts: at(("rows", 0), "x")(facts),
    "units are too many": lambda arrays, facts: facts["rows"][0]["units"]["names"].append("x"),
    "places are text": lambda arrays, facts: at(("rows", 0, "units", "places"), "x")(facts),
    "an unknown example": lambda arrays, facts: at(("rows", 0, "id"), "x")(facts),
    "no array": lambda arrays, facts: dict(facts, other=arrays.pop("r0.values").size),
    "offsets fall": lambda arrays, facts: arrays.update({"r0.offsets": arrays["r0.offsets"][::-1].copy()}),
    "offsets are few": lambda arrays, facts: arrays.update({"r0.offsets": arrays["r0.offsets"][:-1].copy()}),
    "values are whole numbers": lambda arrays, facts: arrays.update({"s0.values": np.zeros(6, np.int64)}),
    "a score of nobody": lambda arrays, facts: at(("scores", 0, "method"), "x")(facts),
    "a setting of another type": lambda arrays, facts: at(("findings", 0, "where", "role"), [])(facts),
    "costs of text": lambda arrays, facts: at(("costs", 0, 2), "x")(facts),
    "skipped is a list": lambda arrays, facts: at(("skipped",), [])(facts),
}


@pytest.mark.parametrize("what", PAGES)
def test_a_damaged_page_is_named(what: str, run: Path, regard: Call) -> None:
    file = repacked(run, PAGES[what])
    for name in ("verdicts", "report", "export"):
        result = regard(*words(name, run))
        assert result.exit_code == 2, (name, result.output)
        assert str(file) in result.stderr


def test_a_step_that_is_not_a_number_is_not_shown(run: Path, regard: Call) -> None:
    def change(arrays: dict[str, Any], facts: Any) -> Any:
        row = next(r for r in facts["rows"] if r.get("walks"))
        row["walks"][0]["total"] = float("nan")

    repacked(run, change)
    assert regard(*words("view", run)).exit_code == 0


def test_damaged_attention_is_named(run: Path, regard: Call) -> None:
    repacked(run, lambda arrays, facts: at((0, 4), 7)(facts), "artifact")
    result = regard(*words("view", run))
    assert result.exit_code == 2
    assert "field 0.weights: expected 7 heads" in result.stderr


def test_cut_anywhere_the_ledger_is_never_an_internal_error(run: Path) -> None:
    whole = (run / FILE).read_bytes()
    rng = np.random.default_rng(0)
    for size in (0, 1, 99, 100, 4096, *rng.integers(100, len(whole), 12).tolist()):
        (run / FILE).write_bytes(whole[:size])
        with pytest.raises(InputError, match=r"ledger\.sqlite"):
            Run(run)
    for place in rng.integers(0, len(whole), 60).tolist():
        flipped = bytearray(whole)
        flipped[place] ^= 0x41
        (run / FILE).write_bytes(bytes(flipped))
        with suppress(InputError):  # a flip inside a text may be anything; it is never another kind of error
            Run(run).examples()


def test_a_damaged_run_is_not_resumed_into(run: Path, regard: Call) -> None:
    edit_book(run, "UPDATE fact SET value = '{' WHERE name = 'manifest'")
    before = [p for p in (run / "blobs").rglob("*") if p.is_file()]
    result = regard("audit", "mine.py:make", "--data", "good.csv", "--out", str(run), "--profile", "quick")
    assert result.exit_code == 2
    assert f"{FILE}, table fact, row manifest: expected JSON" in result.stderr
    assert [p for p in (run / "blobs").rglob("*") if p.is_file()] == before  # what was committed stays
