"""Damaged runs, training states and templates, and full disks."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

from benchmarks.fuzz.case import Case
from benchmarks.fuzz.corpus.entry import Entries
from benchmarks.fuzz.materials import AUDIT, Materials
from benchmarks.fuzz.outcome import INPUT_CODES
from benchmarks.fuzz.targets.training_states import resumed

ENTRIES = Entries()
FINE, REFUSED = frozenset({0}), frozenset({2})


def _copy(originals: Materials, folder: Path) -> Path:
    run = folder / "run"
    shutil.copytree(originals.run, run, ignore=shutil.ignore_patterns("lock", "report.html"))
    return run


def readers_of(run: Path, folder: Path) -> list[list[str]]:
    """Every command that opens a run."""
    return [
        ["report", str(run), "--out", str(folder / "page.html")],
        ["metrics", str(run)],
        ["verdicts", str(run)],
        ["experiments", str(run)],
        ["export", str(run), "--out", str(folder / "tables")],
        ["view", str(run), "--html", str(folder / "view.html")],
    ]


def _cut(share: float) -> None:
    @ENTRIES.past(f"a ledger cut to {share:.0%}")
    def make(originals: Materials, folder: Path) -> Case:
        run = _copy(originals, folder)
        book = (run / "ledger.sqlite").read_bytes()
        (run / "ledger.sqlite").write_bytes(book[: int(len(book) * share)])
        return Case(readers_of(run, folder))


for _share in (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99):
    _cut(_share)


def _fact(name: str, value: Any) -> None:
    @ENTRIES.past(f"the fact {name} of a ledger is {str(value)[:30]}")
    def make(originals: Materials, folder: Path) -> Case:
        run = _copy(originals, folder)
        with sqlite3.connect(run / "ledger.sqlite") as book:
            book.execute("INSERT OR REPLACE INTO fact VALUES (?, ?)", (name, json.dumps(value)))
        book.close()
        audit = ["audit", str(originals.network), "--data", str(originals.csv), *AUDIT, "--out", str(run)]
        return Case([*readers_of(run, folder), audit])


for _name in ("manifest", "identity", "summaries", "status", "judgements", "preconditions", "resumed"):
    for _value in (None, 7, "x", [], [7], {}, {"model": None}):
        _fact(_name, _value)


def _statement(statement: str) -> None:
    @ENTRIES.past(f"a ledger after {statement}")
    def make(originals: Materials, folder: Path) -> Case:
        run = _copy(originals, folder)
        with sqlite3.connect(run / "ledger.sqlite") as book:
            book.execute(statement)
        book.close()
        return Case([*readers_of(run, folder), ["metrics", str(run), "--metric", "decision_flip"]])


for _line in (
    "DROP TABLE task",
    "DROP TABLE fact",
    "DROP TABLE example",
    "DROP TABLE problem",
    "DROP TABLE artifact",
    "UPDATE example SET facts = '{}'",
    "UPDATE example SET facts = '[]'",
    "UPDATE example SET facts = json_set(facts, '$.inputs.text', json_array('a', 'list'))",
    "UPDATE example SET facts = json_set(facts, '$.inputs.text', json('[[1], [2, 3]]'))",
    "UPDATE example SET facts = json_set(facts, '$.inputs.text', 'short')",
    "UPDATE fact SET value = '{'",
    "UPDATE task SET blob = '../../up'",
    "ALTER TABLE task RENAME COLUMN blob TO other",
):
    _statement(_line)


@ENTRIES.past("a mark with U+2028 in it")
def _mark(originals: Materials, folder: Path) -> Case:
    run = _copy(originals, folder)
    line = {"id": "e0", "text": "a\u2028b\x85c", "rationale": [[0, 1]], "author": "Anna\u2028Ben", "date": "2026-01-01"}
    (run / "rationales.jsonl").write_text(json.dumps(line, ensure_ascii=False) + "\n", "utf-8")
    commands = [["report", str(run), "--out", str(folder / "page.html")], ["metrics", str(run)]]
    return Case(commands, FINE)


@ENTRIES.past("a full disk while report.html is written")
def _full(originals: Materials, folder: Path) -> Case:
    run = _copy(originals, folder)
    return Case([["report", str(run), "--out", str(folder / "page.html")]], frozenset({4}), largest_file=4096)


@ENTRIES.past("a full disk while an audit begins")
def _full_audit(originals: Materials, folder: Path) -> Case:
    words = ["audit", str(originals.network), "--data", str(originals.csv), *AUDIT, "--out", str(folder / "run")]
    return Case([words], frozenset({4}), largest_file=2048)


@ENTRIES.past("a full disk while a training is saved")
def _full_training(originals: Materials, folder: Path) -> Case:
    words = ["train", "classifier", "--data", str(originals.csv), "--epochs", "1", "--out", str(folder / "t")]
    return Case([words], frozenset({4}), largest_file=1024)


def _state(name: str, damage: str) -> None:
    @ENTRIES.past(name)
    def make(originals: Materials, folder: Path) -> Case:
        out = folder / "training"
        shutil.copytree(originals.interrupted, out, ignore=shutil.ignore_patterns("lock"))
        (facts,) = (out / "state").rglob("state.json")
        tensors = facts.parent / json.loads(facts.read_text("utf-8"))["tensors"]
        content = bytearray(tensors.read_bytes())
        if damage == "cut":
            tensors.write_bytes(content[: len(content) // 2])
        elif damage == "flip":  # in every 16th number, so that the last weights and the best ones are hit
            for at in range(8 + int.from_bytes(content[:8], "little") + 2, len(content), 64):
                content[at] ^= 32
            tensors.write_bytes(content)
        elif damage == "empty":
            tensors.write_bytes(b"")
        else:
            facts.write_text(damage, "utf-8")
        return resumed(originals, out)


_state("a training state that was cut", "cut")
_state("a training state with flipped bits", "flip")
_state("an empty training state", "empty")
_state("facts of a training state that are a list", "[]")
_state("facts of a training state that are a number", "7")
_state("facts of a training state that are empty", "{}")
_state("facts of a training state that were cut", '{"epoch": 1, "st')


@ENTRIES.past("a template with 60^7 fillings")
def _fillings(originals: Materials, folder: Path) -> Case:
    words = json.dumps([f"w{n}" for n in range(60)])
    lists = "".join(f"s{n} = {words}\n" for n in range(7))
    slots = " ".join(f"{{s{n}}}" for n in range(7))
    test = f'[[test]]\nname = "all"\nkind = "minimum functionality"\ntemplate = "{slots}"\nlabel = "pos"\nmost = 20\n'
    (folder / "tests.toml").write_text(f"[lists]\n{lists}\n{test}", "utf-8")
    return Case([["perturb", str(originals.network), "--tests", str(folder / "tests.toml")]], INPUT_CODES)


def _hostile_text(name: str, file: str, content: str, *words: str) -> None:
    """A policy, a template or a Spec that its parser cannot read."""

    @ENTRIES.past(f"{name} in {file}")
    def make(originals: Materials, folder: Path) -> Case:
        (folder / file).write_text(content, "utf-8")
        places = {"NETWORK": originals.network, "RUN": originals.run, "FILE": folder / file, "CSV": originals.csv}
        places["PAGE"] = folder / "page.html"
        return Case([[str(places.get(word, word)) for word in words]], REFUSED, silent=True)


for _word, _content in (("deep lists", "a = " + "[" * 5000 + "]" * 5000), ("a huge number", "a = " + "9" * 5000)):
    _hostile_text(_word, "policy.toml", _content, "gate", "RUN", "--policy", "FILE")
    _hostile_text(_word, "tests.toml", _content, "perturb", "NETWORK", "--tests", "FILE")
    _hostile_text(_word, "swaps.toml", _content, "perturb", "NETWORK", "--data", "CSV", "--swaps", "FILE")
for _word, _content in (("deep lists", "[" * 100_000), ("a huge number", '{"kind": ' + "9" * 5000 + "}")):
    _hostile_text(_word, "spec.json", _content, "view", "NETWORK", "--spec", "FILE", "--html", "PAGE")
