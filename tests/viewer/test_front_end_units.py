"""The unit tests of the front end (viewer/test), run by a real browser. Each is a test here, under its own name."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

VIEWER = Path(__file__).resolve().parents[2] / "viewer"
BUILT = VIEWER / "node_modules" / ".units" / "units.js"
"""Where scripts/viewer_units.sh (part of `make test`) puts them: its Node may be gone when these tests run."""


def _names() -> list[str]:
    """Names as they stand in the sources; one that holds ${name} is there for each theme."""
    found: list[str] = []
    for path in sorted((VIEWER / "test").glob("*.test.ts")):
        for name in re.findall(r'^ *test\(\s*["`](.+)["`],', path.read_text("utf-8"), re.M):
            found += [name.replace("${name}", theme) for theme in ("light", "dark")] if "${name}" in name else [name]
    return found


NAMES = _names()


@pytest.fixture(scope="module")
def outcomes(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """name -> what went wrong, "" if nothing did."""
    if shutil.which("node") and (VIEWER / "node_modules" / "esbuild").exists():
        script = tmp_path_factory.mktemp("units") / "units.js"
        subprocess.run(["node", str(VIEWER / "build.mjs"), "--tests", str(script)], check=True, cwd=VIEWER)
    else:
        script = BUILT
        sources = [p for room in ("src", "test") for p in (VIEWER / room).rglob("*.ts*")]
        if not script.exists() or script.stat().st_mtime < max(p.stat().st_mtime for p in sources):
            pytest.skip("NOT RUN: the front end's tests are not bundled; scripts/viewer_units.sh does it")
    context = chromium.new_context(offline=True)
    context.set_default_timeout(240_000)  # a safety net for busy machines
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.add_script_tag(content=script.read_text("utf-8"))
    found = page.evaluate("() => unitTests()")
    context.close()
    assert not problems, problems
    return {one["name"]: one["problem"] for one in found}


def test_every_unit_test_of_the_sources_was_run(outcomes: dict[str, str]) -> None:
    assert sorted(outcomes) == sorted(NAMES)
    assert len(set(NAMES)) == len(NAMES) >= 25


@pytest.mark.parametrize("name", NAMES)
def test_front_end(name: str, outcomes: dict[str, str]) -> None:
    assert not outcomes[name], f"{name}: {outcomes[name]}"
