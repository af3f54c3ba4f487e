"""Old documented module names import their new home, with a warning."""

from __future__ import annotations

import importlib
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from regard.moved import MOVED

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

from moved_modules import FIRST, modules_here, modules_of, problems, table  # noqa: E402

DOCUMENTED = (
    "regard.evaluate",
    "regard.evaluate.attack",
    "regard.evaluate.audit",
    "regard.evaluate.explain",
    "regard.gate.pytest_plugin",
    "regard.live.words_and_patches",
    "regard.models.health_callback",
    "regard.models.load",
    "regard.models.watching",
    "regard.present.as_markdown",
    "regard.present.exhibits.reliance",
    "regard.present.redacted",
    "regard.present.viewer_block",
)
"""Old modules that the documentation showed."""


@pytest.mark.parametrize("old", DOCUMENTED)
def test_old_name_is_the_new_module(old: str) -> None:
    sys.modules.pop(old, None)
    with warnings.catch_warnings(record=True, action="always") as recorded:  # a package that moved warns too
        module = importlib.import_module(old)
    assert any(MOVED[old] in str(warning.message) for warning in recorded)
    assert module is importlib.import_module(MOVED[old])
    assert module.__spec__ is not None
    assert module.__spec__.name == MOVED[old]


def test_every_redirect_leads_to_a_module() -> None:
    assert problems(set(), modules_here(), table()) == []


def test_every_earlier_module_imports_or_is_redirected() -> None:
    try:
        earlier = modules_of(FIRST)
    except subprocess.CalledProcessError:
        pytest.skip(f"NOT RUN: needs the git history with {FIRST}")
    assert problems(earlier, modules_here(), table()) == []


def test_old_name_in_the_pack_package_warns() -> None:
    from regard.present.pack.pack import pack_of_capture

    with pytest.warns(DeprecationWarning, match="pack_of_capture"):
        from regard.present.pack import pack_of_capture as old
    assert old is pack_of_capture
