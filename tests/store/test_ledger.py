from __future__ import annotations

import sqlite3
import stat
from pathlib import Path

import pytest

from regard.errors import EnvironmentProblem, InputError
from regard.store.ledger import FILE, Ledger, Problem, canonical, task_key

BLOB, OTHER = "a" * 64, "b" * 64


def test_keys_follow_what_is_computed_and_for_whom() -> None:
    one = task_key({"seed": 0, "model": "a"}, ["x", "y"])
    assert one == task_key({"model": "a", "seed": 0}, ["x", "y"])
    others = [({"seed": 1, "model": "a"}, ["x", "y"]), ({"seed": 0, "model": "a"}, ["x"]), ({}, ["x", "y"])]
    assert len({one, *(task_key(i, s) for i, s in others)}) == 4


def test_canonical_refuses_what_has_no_json() -> None:
    with pytest.raises(ValueError, match="JSON"):
        canonical({"x": float("nan")})


def test_a_task_is_entered_once_and_whole(tmp_path: Path) -> None:
    with Ledger.write(tmp_path) as book:
        book.begin({"identity": {}}, [{"id": "a", "inputs": {}}, {"id": "b", "inputs": {}}])
        assert book.enter("k", "done", BLOB, problems=[Problem("a", "encode", "no")], artifacts={"a": OTHER})
        assert not book.enter("k", "done", "other", problems=[Problem("b", "encode", "no")])
    with Ledger.read(tmp_path) as book:
        assert [(t.key, t.blob) for t in book.tasks()] == [("k", BLOB)]
        assert book.problems() == [Problem("a", "encode", "no")]
        assert book.artifacts() == {"a": OTHER}
        assert [e["id"] for e in book.examples()] == ["a", "b"]


def test_readers_see_what_is_committed_while_it_is_written(tmp_path: Path) -> None:
    with Ledger.write(tmp_path) as book:
        book.note(status="running")
        with Ledger.read(tmp_path) as reader:
            assert reader.facts() == {"status": "running"}
        book.note(status="complete")
        with Ledger.read(tmp_path) as reader:
            assert reader.facts() == {"status": "complete"}


def test_there_is_one_writer(tmp_path: Path) -> None:
    with Ledger.write(tmp_path), pytest.raises(InputError, match="no other process"):
        Ledger.write(tmp_path)
    Ledger.write(tmp_path).close()


def test_a_failed_transaction_leaves_nothing(tmp_path: Path) -> None:
    with Ledger.write(tmp_path) as book:
        book.begin({"a": 1}, [{"id": "x", "inputs": {}}])
        with pytest.raises(sqlite3.IntegrityError):
            book.begin({"a": 2}, [{"id": "y", "inputs": {}}, {"id": "y", "inputs": {}}])
        assert book.facts() == {"a": 1}
        assert [e["id"] for e in book.examples()] == ["x"]


def test_a_full_disk_keeps_what_was_committed(tmp_path: Path) -> None:
    with Ledger.write(tmp_path) as book:
        book.enter("before", "done", None)
        pages = book._connection.execute("PRAGMA page_count").fetchone()[0]
        book._connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(EnvironmentProblem, match="free disk space"):
            _fill(book)
        done = [t.key for t in book.tasks()]
    assert done[0] == "before"
    with Ledger.write(tmp_path) as book:
        assert [t.key for t in book.tasks()] == done
        assert book._connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert book.enter("more", "done", None)


def _fill(book: Ledger) -> None:
    for i in range(1000):
        book.enter(f"after {i}", "done", BLOB, artifacts={f"{i} {'x' * 500}": OTHER})


def _nothing(path: Path) -> None:
    path.rmdir()


def _empty(path: Path) -> None:
    """Nothing in it."""


def _text(path: Path) -> None:
    (path / FILE).write_text("this is not a database, but it is long enough to be taken for one" * 20)


def _foreign(path: Path) -> None:
    book = sqlite3.connect(path / FILE)
    book.execute("CREATE TABLE t (x)")
    book.close()


def _newer(path: Path) -> None:
    with Ledger.write(path) as book:
        book._connection.execute("PRAGMA user_version = 99")


@pytest.mark.parametrize("make", [_nothing, _empty, _text, _foreign, _newer])
def test_what_is_not_a_run_is_an_input_error(tmp_path: Path, make: object) -> None:
    path = tmp_path / "run"
    path.mkdir()
    make(path)  # type: ignore[operator]
    with pytest.raises(InputError, match="run"):
        Ledger.read(path)


@pytest.mark.parametrize("make", [_text, _foreign, _newer])
def test_what_is_not_a_run_is_not_written_to(tmp_path: Path, make: object) -> None:
    make(tmp_path)  # type: ignore[operator]
    before = (tmp_path / FILE).read_bytes()
    with pytest.raises(InputError, match="run"):
        Ledger.write(tmp_path)
    assert (tmp_path / FILE).read_bytes() == before


def test_a_directory_that_nobody_may_write_to_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.mkdir()
    with Ledger.write(path) as book:
        book.note(status="complete")
    path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        with Ledger.read(path) as book:
            assert book.facts() == {"status": "complete"}
    finally:
        path.chmod(stat.S_IRWXU)
