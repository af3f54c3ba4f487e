"""`python -m benchmarks.reversed_catalogue [PATH ...]`: the suite with every English message reversed.

A test that is not about wording must still pass; if it fails, the code reads its own prose somewhere. Tests about
wording are those marked so, and those whose failed assertion itself compares a text that holds an English word with a
value that holds it reversed (`tests/catalogues.py`); both are counted. Each directory runs in a process of its own.
Writes results/reversed_catalogue.json, with the results of the directories that were not named as they were; exits with
1 if a test failed in a named one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

from benchmarks.__main__ import commit

ROOT = Path(__file__).resolve().parents[1]
RESULT = ROOT / "benchmarks" / "results" / "reversed_catalogue.json"
SKIPPED = ("plug_in", "shared", "__pycache__")
"""Directories below `tests` without tests."""


def places() -> list[str]:
    """Return every directory of tests, the tests beside them, and the doctests of the package."""
    folders = [p for p in sorted((ROOT / "tests").iterdir()) if p.is_dir() and p.name not in SKIPPED]
    files = sorted((ROOT / "tests").glob("test_*.py"))
    return [*(str(p.relative_to(ROOT)) for p in (*folders, *files)), "src/regard"]


def outcome(place: str) -> dict[str, Any]:
    """Run the tests of one place; count passed tests and skips by reason, and name failures."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "tests.xml"
        options = ["--reversed-catalogue", "-p", "no:cacheprovider", "--tb=short", "-vv", "-n0", f"--junitxml={page}"]
        environment = dict(os.environ)
        if place.startswith("src"):  # doctests know the option and the fixtures of tests/conftest.py only as a plug-in
            options += ["-p", "conftest"]
            environment["PYTHONPATH"] = os.pathsep.join([str(ROOT / "tests"), environment.get("PYTHONPATH", "")])
        command = [sys.executable, "-m", "pytest", *options, place]
        run = subprocess.run(command, cwd=ROOT, env=environment, check=False)
        if not page.exists():
            return {"failed": [f"pytest ended with {run.returncode}"]}
        cases = ET.parse(page).getroot().iter("testcase")
        counts: dict[str, Any] = {"passed": 0, "about wording": 0, "compares wording": 0, "not run": 0, "failed": []}
        for case in cases:
            skip = case.find("skipped")
            if case.find("failure") is not None or case.find("error") is not None:
                counts["failed"].append(f"{case.get('classname')}::{case.get('name')}")
            elif skip is None:
                counts["passed"] += 1
            else:
                reason = str(skip.get("message"))
                marked = "wording: marked" in reason
                kind = "about wording" if marked else "compares wording" if "wording: " in reason else "not run"
                counts[kind] += 1
    return counts


def main() -> int:
    """Run the named places, or all."""
    record = json.loads(RESULT.read_text("utf-8")) if RESULT.exists() else {}
    results: dict[str, Any] = dict(record.get("places", {}))
    named = sys.argv[1:] or places()
    for place in named:
        results[place] = {"commit": commit(), **outcome(place)}
        print(place, json.dumps(results[place]), flush=True)
        RESULT.write_text(json.dumps({"places": dict(sorted(results.items()))}, indent=1) + "\n", "utf-8")
    return int(any(results[place]["failed"] for place in named))


if __name__ == "__main__":
    sys.exit(main())
