"""Stored summaries are shown only where they follow from the tables of the run."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from regard.audits.stored_summaries import checked_summaries, summaries_from_tables
from regard.errors import InputError
from regard.present.report.as_json import run_json
from regard.present.report.redaction import Redacted
from regard.present.run_reader import Material
from regard.store.run import Run, summary_to_json

Call = Callable[..., Result]
Rows = list[dict[str, Any]]
EDITED = 0.98765
SHOWING = (
    ("metrics",), ("metrics", "--json"), ("metrics", "--no-classes"), ("export", "--out", "{out}"),
    ("report", "--out", "{out}"), ("report", "--format", "md", "--out", "{out}"),
    ("report", "--format", "json", "--out", "{out}"), ("report", "--redact", "--out", "{out}"),
)  # fmt: skip


def _edit(run: Path, change: Callable[[Rows], Any]) -> None:
    with sqlite3.connect(run / "ledger.sqlite") as book:
        (text,) = book.execute("SELECT value FROM fact WHERE name = 'summaries'").fetchone()
        rows = json.loads(text)
        change(rows)
        book.execute("UPDATE fact SET value = ? WHERE name = 'summaries'", (json.dumps(rows),))


@pytest.fixture
def copied(audited: tuple[Path, Result], tmp_path: Path) -> Path:
    return Path(shutil.copytree(audited[0], tmp_path / "run"))


@pytest.mark.parametrize("line", SHOWING, ids=lambda line: " ".join(line[:3]))
def test_no_command_shows_an_edited_estimate(regard: Call, copied: Path, tmp_path: Path, line: tuple[str, ...]) -> None:
    _edit(copied, lambda rows: rows[0].update(estimate=EDITED))
    verb, *options = line
    done = regard(verb, str(copied), *(option.format(out=tmp_path / "out") for option in options))
    assert done.exit_code == 2, done.output
    assert "summaries of run" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert f"estimate {EDITED:g} stored" in done.stderr
    assert str(EDITED) not in done.stdout
    assert not (tmp_path / "out").exists() or not (tmp_path / "out").is_file()


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows[1].update(low=rows[1]["low"] + 1e-6),
        lambda rows: rows[1].update(high=rows[1]["high"] - 1e-6),
        lambda rows: rows[1].update(n=rows[1]["n"] + 1),
        lambda rows: rows[1].update(clusters=rows[1]["clusters"] - 1),
        lambda rows: rows[1].update(undefined=1),
        lambda rows: rows[1].update(seed=7),
        lambda rows: rows[1].update(level=0.5),
        lambda rows: rows[1].update(better="none"),
        lambda rows: rows[1].update(role="ceiling" if rows[1]["role"] != "ceiling" else "method"),
        lambda rows: rows[1].update(estimate=None),
        lambda rows: rows[1].update(where={**rows[1]["where"], "class": "positive"}),
        lambda rows: rows[1].update(method="leave_two_out"),
        lambda rows: next(r for r in rows if "null_sd" in r["where"])["where"].update(null_sd=0.01),
        lambda rows: rows.pop(1),
        lambda rows: rows.append(rows[1]),
        lambda rows: rows.clear(),
    ],
)
def test_every_field_is_compared(copied: Path, change: Callable[[Rows], Any]) -> None:
    _edit(copied, change)
    with pytest.raises(InputError, match="expected the numbers that follow from the tables"):
        checked_summaries(Run(copied))


def test_the_library_is_no_way_around(copied: Path) -> None:
    _edit(copied, lambda rows: rows[0].update(estimate=EDITED))
    run = Run(copied)
    for show in (run_json, lambda r: Material(r).summaries, lambda r: Material(Redacted(r)).summaries):
        with pytest.raises(InputError, match="summaries of run"):
            show(run)


def test_summaries_as_they_were_written_pass(audited: tuple[Path, Result]) -> None:
    run = Run(audited[0])
    stored = [summary_to_json(s) for s in run.summaries()]
    assert [summary_to_json(s) for s in checked_summaries(run)] == stored
    assert [summary_to_json(s) for s in summaries_from_tables(run)] == stored
