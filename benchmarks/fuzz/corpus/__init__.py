"""Past failures as generated cases: the findings of an external campaign and of this one.

An entry is a name and a small function that writes the case; no binary file is committed. Entries are never removed.
"""

from __future__ import annotations

from benchmarks.fuzz.corpus import app_requests, data_files, model_files, programs, run_files, shared_code
from benchmarks.fuzz.corpus.entry import Entry

CORPUS: tuple[Entry, ...] = (
    *data_files.ENTRIES,
    *run_files.ENTRIES,
    *shared_code.ENTRIES,
    *model_files.ENTRIES,
    *programs.ENTRIES,
    *app_requests.ENTRIES,
)
"""Numbered by position; new entries go to the end of their file."""
