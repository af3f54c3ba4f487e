"""Ledger of a run: which tasks are done and where their results are. SQLite, one writer, many readers.

One transaction enters a task after its blobs are on disk, under the sha256 of its inputs as the key; so a task is
recorded once and whole, or not at all.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from regard.errors import EnvironmentProblem, InputError, Text, phrase
from regard.message import from_column, to_column
from regard.records import Json
from regard.store.blobs import UNWRITABLE, damaged, room_on_disk
from regard.store.open_ledger import opened_for_reading
from regard.store.shapes import Mismatch, Shape, choice, decoded
from regard.store.stored_shapes import EXAMPLE, FACTS, blob

FILE = "ledger.sqlite"
APPLICATION = 0x52474144  # "RGAD": marks a ledger among SQLite files
SCHEMA_VERSION = 1
Status = Literal["done", "split"]

_SCHEMA = """
CREATE TABLE fact (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE example (position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, facts TEXT NOT NULL) STRICT;
CREATE TABLE task (
    key TEXT PRIMARY KEY,
    status TEXT NOT NULL CHECK (status IN ('done', 'split')),
    blob TEXT
) STRICT;
CREATE TABLE artifact (
    example TEXT PRIMARY KEY,
    task TEXT NOT NULL REFERENCES task (key),
    blob TEXT NOT NULL
) STRICT;
CREATE TABLE problem (task TEXT NOT NULL, id TEXT NOT NULL, stage TEXT NOT NULL, message TEXT NOT NULL) STRICT;
"""


_TABLES = frozenset(re.findall(r"CREATE TABLE (\w+)", _SCHEMA))


def canonical(value: Json | Mapping[str, Json]) -> str:
    """Serialize equal JSON values to equal texts.

    >>> canonical({"b": 1, "a": [1.0, None]})
    '{"a":[1.0,null],"b":1}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def task_key(identity: Mapping[str, Json], shard: Sequence[str]) -> str:
    """sha256 of the identity of a run and the examples of a shard."""
    text = canonical({"identity": dict(identity), "shard": list(shard)})
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Entry:
    """Task in the ledger."""

    key: str
    status: Status
    blob: str | None


@dataclass(frozen=True, slots=True)
class Problem:
    """A failure on one example that did not stop the run."""

    id: str
    stage: str
    message: Text


class Ledger:
    """An open ledger: `Ledger.write` for the one writer, `Ledger.read` for any number of readers meanwhile."""

    def __init__(self, root: Path, connection: sqlite3.Connection, lock: sqlite3.Connection | None) -> None:
        self.root, self._connection, self._lock = root, connection, lock

    @property
    def file(self) -> Path:
        return self.root / FILE

    @staticmethod
    def exists(root: Path) -> bool:
        return (root / FILE).is_file()

    @staticmethod
    def write(root: Path) -> Ledger:
        """Open the ledger for its one writer, creating it if needed."""
        lock = _hold(root)
        connection = sqlite3.connect(root / FILE, isolation_level=None)
        try:
            with room_on_disk(root):
                new = not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
                if not new:
                    _check(root, connection)  # before writing to it
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute("PRAGMA foreign_keys = ON")
                if new:
                    # in one transaction: a kill leaves an empty file, which counts as new
                    connection.executescript(
                        f"BEGIN; {_SCHEMA} PRAGMA application_id = {APPLICATION}; "
                        f"PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;"
                    )
        except BaseException as error:
            lock.close()
            connection.close()
            if isinstance(error, sqlite3.DatabaseError | UnicodeDecodeError):
                raise _unusable(root, error) from error
            raise
        return Ledger(root, connection, lock)

    @staticmethod
    def read(root: Path) -> Ledger:
        """Open the ledger for reading only."""
        if not Ledger.exists(root):
            raise not_a_run(
                root,
                phrase("errors.store.file_missing", file=FILE)
                if root.is_dir()
                else phrase("errors.common.no_such_directory"),
            )
        try:
            connection = opened_for_reading(root / FILE)
        except (sqlite3.DatabaseError, UnicodeDecodeError, OSError) as error:
            raise not_a_run(root, phrase("errors.store.that_cannot_read", file=FILE, error=error)) from error
        try:
            _check(root, connection)
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            connection.close()
            raise not_a_run(root, phrase("errors.store.that_cannot_read", file=FILE, error=error)) from error
        except BaseException:
            connection.close()
            raise
        return Ledger(root, connection, None)

    def close(self) -> None:
        if self._lock is not None:
            with suppress(sqlite3.Error):  # a reader keeps the log; the next writer removes it
                self._connection.execute("PRAGMA journal_mode = DELETE")
        self._connection.close()
        if self._lock is not None:
            self._lock.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def facts(self) -> dict[str, Any]:
        """Return every fact after checking its shape."""
        rows = self._rows("SELECT name, value FROM fact")
        return {name: self._value("fact", name, text, FACTS.get(name)) for name, text in rows}

    def note(self, **facts: Json) -> None:
        """Set facts about the run, all of them or none."""
        rows = [(name, json.dumps(value, ensure_ascii=False)) for name, value in facts.items()]
        self._commit(("INSERT OR REPLACE INTO fact VALUES (?, ?)", rows))

    def begin(self, facts: Mapping[str, Json], examples: Sequence[Mapping[str, Json]]) -> None:
        """Store the facts and examples of a new run in one transaction."""
        self._commit(
            ("DELETE FROM example", [()]),
            (
                "INSERT INTO example VALUES (?, ?, ?)",
                [(i, str(e["id"]), json.dumps(dict(e), ensure_ascii=False)) for i, e in enumerate(examples)],
            ),
            (
                "INSERT OR REPLACE INTO fact VALUES (?, ?)",
                [(name, json.dumps(value, ensure_ascii=False)) for name, value in facts.items()],
            ),
        )

    def enter(
        self,
        key: str,
        status: Status,
        blob: str | None,
        *,
        problems: Iterable[Problem] = (),
        artifacts: Mapping[str, str] | None = None,
    ) -> bool:
        """Enter a task; return False and change nothing if it is already entered."""
        if self._connection.execute("SELECT 1 FROM task WHERE key = ?", (key,)).fetchone():
            return False
        self._commit(
            ("INSERT INTO task VALUES (?, ?, ?)", [(key, status, blob)]),
            ("INSERT INTO problem VALUES (?, ?, ?, ?)", [(key, p.id, p.stage, to_column(p.message)) for p in problems]),
            ("INSERT OR REPLACE INTO artifact VALUES (?, ?, ?)", [(e, key, b) for e, b in (artifacts or {}).items()]),
        )
        return True

    def examples(self) -> list[dict[str, Any]]:
        """Return every example after checking its shape."""
        examples = []
        for position, name, text in self._rows("SELECT position, id, facts FROM example ORDER BY position"):
            example = self._value("example", position, text, EXAMPLE)
            self._fits("example", position, "id", example["id"], choice(name))
            examples.append(example)
        return examples

    def tasks(self) -> list[Entry]:
        """Return every task after checking its blob name, so that none leads out of the run."""
        entries = [Entry(*row) for row in self._rows("SELECT key, status, blob FROM task ORDER BY rowid")]
        for number, entry in enumerate(entries, 1):
            if entry.blob is not None:
                self._fits("task", number, "blob", entry.blob, blob)
        return entries

    def blob_of(self, key: str) -> str | None:
        """Blob of one task; None if it has none."""
        row = self._connection.execute("SELECT blob FROM task WHERE key = ?", (key,)).fetchone()
        if row is None or row[0] is None:
            return None
        self._fits("task", key, "blob", row[0], blob)
        return str(row[0])

    def counts(self) -> dict[str, int]:
        """Number of examples ("example"), and of tasks by status, without reading any of them."""
        (examples,) = self._rows("SELECT count(*) FROM example")
        tasks = dict(self._rows("SELECT status, count(*) FROM task GROUP BY status"))
        return {"example": int(examples[0]), **{name: int(tasks.get(name, 0)) for name in ("done", "split")}}

    def problems(self) -> list[Problem]:
        rows = self._rows("SELECT id, stage, message FROM problem ORDER BY rowid")
        return [Problem(name, stage, from_column(message)) for name, stage, message in rows]

    def artifacts(self) -> dict[str, str]:
        """Map each example with stored attention to its blob."""
        blobs: dict[str, str] = dict(self._rows("SELECT example, blob FROM artifact"))
        for name, stored in blobs.items():
            self._fits("artifact", name, "blob", stored, blob)
        return blobs

    def _rows(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a query; report a page that SQLite cannot read like any other damage."""
        try:
            return self._connection.execute(statement).fetchall()
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise damaged(self.file, "", phrase("errors.store.tables_run"), str(error)) from error

    def _value(self, table: str, name: object, text: Any, shape: Shape | None) -> Any:
        try:
            value = decoded(text)
            if shape is not None:
                shape(value, "")
        except Mismatch as error:
            place = phrase("errors.store.table_row", table=table, row=name)
            raise damaged(self.file, place, error.expected, error.got, error.place) from error
        return value

    def _fits(self, table: str, name: object, column: str, value: Any, shape: Shape) -> None:
        try:
            shape(value, column)
        except Mismatch as error:
            place = phrase("errors.store.table_row", table=table, row=name)
            raise damaged(self.file, place, error.expected, error.got, error.place) from error

    def _commit(self, *statements: tuple[str, Sequence[tuple[object, ...]]]) -> None:
        with room_on_disk(self.root):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                for statement, rows in statements:
                    self._connection.executemany(statement, rows)
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise


def not_a_run(root: Path, reason: Text) -> InputError:
    remedy = phrase("errors.store.pass_directory_that_regard_audit")
    return InputError(
        phrase("errors.common.run_run", run=root),
        expected=phrase("errors.store.directory_written_by_regard_audit"),
        got=reason,
        remedy=remedy,
    )


def _check(root: Path, connection: sqlite3.Connection) -> None:
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION:
        raise not_a_run(root, phrase("errors.store.something_else", file=FILE))
    if version != SCHEMA_VERSION:
        remedy = phrase("errors.store.open_with_version_regard")
        raise InputError(
            phrase("errors.common.run_run", run=root),
            expected=phrase("errors.store.format_schema_version", schema_version=SCHEMA_VERSION),
            got=phrase("errors.store.format_schema_version", schema_version=version),
            remedy=remedy,
        )
    # a view or a trigger is a program that may never end
    for kind, name, sql in connection.execute("SELECT type, name, sql FROM sqlite_master"):
        own_table = kind == "table" and name in _TABLES and not str(sql).upper().startswith("CREATE VIRTUAL")
        if not own_table and not (kind == "index" and str(name).startswith("sqlite_autoindex_")):
            raise not_a_run(root, phrase("errors.store.with_that_regard_does_not_write", file=FILE, kind=kind))


def _hold(root: Path) -> sqlite3.Connection:
    """Take an exclusive lock, which the system releases however the process ends."""
    try:
        lock = sqlite3.connect(root / "lock", isolation_level=None, timeout=0)
    except sqlite3.OperationalError as error:
        raise _unusable(root, error) from error
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.DatabaseError as error:
        lock.close()
        if error.sqlite_errorname == "SQLITE_NOTADB":
            damage, remedy = (
                phrase("errors.store.damage_root", root=root / "lock"),
                phrase("errors.store.remove_holds_no_results", root=root / "lock"),
            )
            raise InputError(
                phrase("errors.common.run_run", run=root),
                expected=phrase("errors.store.lock"),
                got=damage,
                remedy=remedy,
            ) from error
        if not error.sqlite_errorname.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            raise _unusable(root, error) from error
        raise InputError(
            phrase("errors.common.run_run", run=root),
            expected=phrase("errors.store.no_other_process_writing"),
            got=str(error),
            remedy=phrase("errors.store.wait_for_other_audit_end"),
        ) from error
    return lock


def _unusable(root: Path, error: sqlite3.DatabaseError | UnicodeDecodeError) -> InputError | EnvironmentProblem:
    """Explain why the ledger cannot be written: an unwritable directory or a damaged file."""
    if isinstance(error, sqlite3.Error) and error.sqlite_errorname.startswith((*UNWRITABLE, "SQLITE_IOERR")):
        remedy = phrase("errors.store.copy_run_elsewhere_or_choose")
        return EnvironmentProblem(
            phrase("errors.common.run_run", run=root),
            expected=phrase("errors.store.writable_directory"),
            got=str(error),
            remedy=remedy,
        )
    return not_a_run(root, phrase("errors.store.that_cannot_read", file=FILE, error=error))
