"""Read-only access to the ledger of a run, also in a read-only directory."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from pathlib import Path
from urllib.parse import quote


def opened_for_reading(file: Path) -> sqlite3.Connection:
    """Open a connection that never changes the run.

    SQLite keeps an index beside a write-ahead log, which it cannot create in a read-only directory. Nobody writes
    there, so read the file directly; if a killed writer left a log with committed work, read a temporary copy of both.
    """
    place = quote(str(file.resolve()))
    connection = sqlite3.connect(f"file:{place}?mode=ro", uri=True, isolation_level=None)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        connection.close()
        log = file.with_name(f"{file.name}-wal")
        if log.is_file() and log.stat().st_size:
            return _copied(file, log)
        return sqlite3.connect(f"file:{place}?immutable=1", uri=True, isolation_level=None)
    except (sqlite3.DatabaseError, UnicodeDecodeError):  # UnicodeDecodeError: a damaged schema
        pass  # not a database: the caller reports it
    return connection


def _copied(file: Path, log: Path) -> sqlite3.Connection:
    """Copy the ledger and its log into memory."""
    memory = sqlite3.connect(":memory:", isolation_level=None)
    with tempfile.TemporaryDirectory(prefix="regard-") as folder:
        for part in (file, log):
            shutil.copyfile(part, Path(folder) / part.name)
        copy = sqlite3.connect(Path(folder) / file.name, isolation_level=None)
        try:
            copy.backup(memory)
            # a backup copies the file format but not the two numbers that identify a ledger
            for name in ("application_id", "user_version"):
                memory.execute(f"PRAGMA {name} = {copy.execute(f'PRAGMA {name}').fetchone()[0]}")
        finally:
            copy.close()
    return memory
