"""What cannot be run is said in the last line, and fails where somebody relies on it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import pytest

def test_fine():
    pass

def test_needs_a_browser(browser):
    pass

def test_needs_something_else():
    pytest.importorskip("nothing_of_that_name", reason="NOT RUN: no such package")
"""


@pytest.mark.parametrize("strict", [False, True])
def test_tests_that_were_not_run_are_the_last_line(tmp_path: Path, strict: bool) -> None:
    shutil.copy(Path(__file__).parents[1] / "conftest.py", tmp_path)
    (tmp_path / "test_some.py").write_text(TESTS, "utf-8")
    # under CI the browser fixture fails by itself; the package that is missing must fail too
    environment = {k: v for k, v in os.environ.items() if k not in ("CI", "REGARD_BROWSER")}
    environment |= {"PATH": str(tmp_path)} | ({"CI": "true", "REGARD_BROWSER": "there"} if strict else {})
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "test_some.py"]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    last = done.stdout.strip().splitlines()[-1]
    assert last.startswith("NOT RUN")
    assert "test_needs_something_else" in last
    assert done.returncode == (1 if strict else 0)
    if not strict:
        assert last == (
            "NOT RUN, 2 tests (no browser; no such package): test_some.py::test_needs_a_browser, "
            "test_some.py::test_needs_something_else"
        )
