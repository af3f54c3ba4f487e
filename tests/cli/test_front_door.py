"""The front door is light, and everything on its list is there."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import regard
from regard.moved import ONCE_AT_THE_TOP

HELLO = "import click\n@click.command()\ndef hello():\n    'Say hello.'\nhello(['--help'])"
HELP = "import sys; sys.argv = ['regard', '--help']\nfrom regard.cli import main\nmain()"


def modules(code: str) -> set[str]:
    told = "atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))"
    listing = f"import sys, json, atexit\n{told}\n{code}"
    done = subprocess.run([sys.executable, "-c", listing], check=True, capture_output=True, text=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


def test_all_is_what_can_be_imported() -> None:
    assert sorted(regard.__all__) == sorted({*regard._HOMES, "errors", "__version__"})
    assert len(regard._HOMES) <= 18
    for name in regard.__all__:
        assert getattr(regard, name) is not None
    assert set(regard.__all__) <= set(dir(regard))


@pytest.mark.parametrize("name", sorted(ONCE_AT_THE_TOP))
def test_names_that_moved_still_work_with_a_warning(name: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"from {ONCE_AT_THE_TOP[name]} import {name}"):
        assert getattr(regard, name) is getattr(importlib.import_module(ONCE_AT_THE_TOP[name]), name)


def test_the_docs_list_the_public_names() -> None:
    text = (Path(__file__).parents[2] / "docs" / "python.md").read_text("utf-8")
    assert set(re.findall(r"^\| `regard\.(\w+)", text, re.M)) == {*regard._HOMES, "errors"}


def test_what_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'lod'"):
        regard.lod  # noqa: B018


def test_version_is_the_installed_one() -> None:
    assert regard.__version__ == importlib.metadata.version("regard")


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import regard", {"torch", "numpy", "click", "rich", "regard.records"}),
        (HELP, {"torch", "numpy", "rich", "regard.records", "regard.cli.commands.audit"}),
        ("from regard.registry import names; names('explainer')", {"torch", "transformers"}),
        ("import sys; sys.argv = ['regard', 'list', 'explainer']\nfrom regard.cli import main\nmain()", {"torch"}),
        ("import regard.present.report.as_json, regard.present.terminal.results", {"torch", "transformers"}),
    ],
)
def test_nothing_heavy_is_imported(code: str, absent: set[str]) -> None:
    assert absent.isdisjoint(modules(code))


def test_help_imports_little_more_than_its_library() -> None:
    """The seconds are in `python -m benchmarks startup`; what decides them is how much is imported."""
    ours = {name for name in modules(HELP) - modules(HELLO) if name.startswith("regard")}
    assert len(ours) <= 13, sorted(ours)
