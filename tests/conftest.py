"""What every test shares: one cache of trained models, one thread, no network, a browser if there is one."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

# doctests are collected from every file, but several folders have a conftest.py
collect_ignore_glob = ["conftest.py", "*/conftest.py"]

ROOT = Path(__file__).resolve().parents[1]
os.environ.setdefault("REGARD_CACHE", str(ROOT / ".cache" / "regard"))
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture(scope="session")
def browser() -> str:
    """Path of a Chromium. Without one the test is listed as NOT RUN, and fails under CI=true."""
    found = os.environ.get("REGARD_BROWSER") or shutil.which("chromium") or shutil.which("google-chrome")
    if not found:
        if os.environ.get("CI") == "true":
            pytest.fail("no browser found, and CI=true: browser tests must run")
        pytest.skip("NOT RUN: no browser")
    return found


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = [r for r in terminalreporter.stats.get("skipped", []) if "NOT RUN" in str(r.longrepr)]
    if skipped:
        names = ", ".join(sorted({r.nodeid for r in skipped}))
        terminalreporter.write_line(f"NOT RUN ({len(skipped)} tests need a browser): {names}")
