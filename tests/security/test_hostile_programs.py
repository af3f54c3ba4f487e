"""Programs hidden in what is opened, and code that tries to end regard as if it were regard."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from regard.cli.root import root
from regard.errors import InputError, Stopped
from regard.foreign_code import contained
from regard.models.open.stored_model import file_digest
from regard.records import Spec
from regard.store.ledger import Ledger
from regard.store.shapes import Mismatch
from regard.store.stored_shapes import FACTS

ENDLESS = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t)"
PROGRAMS = {
    "a view in the place of a table": (
        "ALTER TABLE fact RENAME TO fact0;"
        f"CREATE VIEW fact AS {ENDLESS} SELECT 'x' || n AS name, '1' AS value FROM t WHERE n < 0"
    ),
    "a trigger": (
        f"CREATE TRIGGER slow AFTER INSERT ON fact BEGIN DELETE FROM task WHERE key IN ({ENDLESS} SELECT n FROM t); END"
    ),
    "another table": "CREATE TABLE more (x)",
    "an index of an expression": "CREATE INDEX odd ON fact (length(value))",
}


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    with Ledger.write(tmp_path) as book:
        book.note(status="complete")
    return tmp_path


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
@pytest.mark.parametrize("opened", [Ledger.read, Ledger.write])
def test_a_ledger_holds_tables_and_no_programs(ledger: Path, program: str, opened: Callable[[Path], Ledger]) -> None:
    book = sqlite3.connect(ledger / "ledger.sqlite")
    book.executescript(program)
    book.close()
    with pytest.raises(InputError, match="that regard does not write"):
        opened(ledger)


def test_a_signal_passes_through_foreign_code() -> None:
    with pytest.raises(Stopped), contained("factory", expected="a model"):
        raise Stopped

    class Own(KeyboardInterrupt):
        pass

    with pytest.raises(InputError), contained("factory", expected="a model"):
        raise Own


def test_code_that_ends_through_a_library_of_ours_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.py").write_text(
        "import click\nfrom regard.models.open.load import load\n"
        "def make():\n    model = load('bilstm')\n"
        "    model.module.forward = lambda *a, **k: click.Command('x', callback=lambda: None).main([])\n"
        "    return model\n"
    )
    with pytest.raises(SystemExit) as ended:
        root.main(["explain", f"{tmp_path / 'mine.py'}:make", "--text", "a good film", "--method", "leave_one_out"])
    assert ended.value.code in (2, 4)
    assert "sys.exit" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["[" * 100_000, "[1]", "7", '"text"', "{"])
def test_a_malformed_adapter_has_no_digest(tmp_path: Path, content: str) -> None:
    (tmp_path / "adapter_config.json").write_text(content)
    assert file_digest(Spec("model", str(tmp_path))) is None


@pytest.mark.parametrize("words", [{}, {"COMP_WORDS": "regard a", "COMP_CWORD": "xx"}])
def test_completion_called_wrongly_is_one_line(
    words: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("COMP_WORDS", "COMP_CWORD"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"_REGARD_COMPLETE": "bash_complete", **words}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as ended:
        root.main([], prog_name="regard")
    assert ended.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_refusal_cannot_be_lifted_by_one_word() -> None:
    told = {"repeats": False, "kinds": ["keeps state"], "sentence": "The model keeps state."}
    FACTS["repeatability"](told, "repeatability")
    with pytest.raises(Mismatch, match="repeats"):
        FACTS["repeatability"]({**told, "repeats": True}, "repeatability")


def test_a_drawing_on_standard_output_is_safe(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SystemExit) as ended:
        root.main(["view", "bilstm", "--text", "a \x9b2J film \u202eevil", "--svg", "-"])
    out = capsys.readouterr().out
    assert ended.value.code == 0
    assert "<svg" in out
    assert not {"\x9b", "\u202e", "\x1b"} & set(out)
