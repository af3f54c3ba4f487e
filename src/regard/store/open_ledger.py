"""Opening the ledger of a run for reading, also where nobody can write."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from pathlib import Path
from urllib.parse import quote


def opened_for_reading(file: Path) -> sqlite3.Connection:
    """A connection that never changes the run.

    SQLite keeps an index beside a write-ahead log, which it cannot make in a directory that is read-only. There
    nobody is writing, so the file is read as it is; where a killed writer left a log that holds committed work, a
    temporary copy of both is read instead.
    """
    place = quote(str(file.resolve()))
    book = sqlite3.connect(f"file:{place}?mode=ro", uri=True, isolation_level=None)
    try:
        book.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        book.close()
        log = file.with_name(f"{file.name}-wal")
        if log.is_file() and log.stat().st_size:
            return _copied(file, log)
        return sqlite3.connect(f"file:{place}?immutable=1", uri=True, isolation_level=None)
    except (sqlite3.DatabaseError, UnicodeDecodeError):  # the second: what SQLite says about a damaged schema
        pass  # not a database: the caller says so
    return book


def _copied(file: Path, log: Path) -> sqlite3.Connection:
    """The ledger with its log, in memory."""
    memory = sqlite3.connect(":memory:", isolation_level=None)
    with tempfile.TemporaryDirectory(prefix="regard-") as folder:
        for part in (file, log):
            shutil.copyfile(part, Path(folder) / part.name)
        copy = sqlite3.connect(Path(folder) / file.name, isolation_level=None)
        try:
            copy.backup(memory)
            # a backup carries the format of the file, but not the two numbers that tell whose it is
            for name in ("application_id", "user_version"):
                memory.execute(f"PRAGMA {name} = {copy.execute(f'PRAGMA {name}').fetchone()[0]}")
        finally:
            copy.close()
    return memory
