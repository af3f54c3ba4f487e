"""Budgets for names, calls, formatting and size (scripts/code_measures.py measures them)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

from code_measures import bare_names, clause_docstrings, format_skips, long_calls, python_files  # noqa: E402

FILES = python_files([ROOT / "src"])


def test_few_variables_are_bare_participles() -> None:
    names, assigned = bare_names(FILES)
    assert len(names) < 0.01 * assigned, "\n".join(map(str, names[:20]))


def test_few_calls_have_six_positional_arguments() -> None:
    calls, total = long_calls(FILES)
    assert len(calls) < 0.004 * total, "\n".join(map(str, calls[:20]))


def test_formatter_decides_but_for_tables_of_data() -> None:
    skips = format_skips(FILES)
    assert len(skips) <= 40, "\n".join(map(str, skips[:20]))


def test_docstrings_begin_with_an_imperative_or_a_noun() -> None:
    """No clause or pronoun first; at most one docstring in two hundred."""
    places, total = clause_docstrings(FILES)
    assert len(places) < 0.005 * total, "\n".join(map(str, places[:20]))


@pytest.mark.parametrize(
    ("source", "names", "calls", "skips"),
    [
        ("found = 1\nweights = 2\n", 1, 0, 0),
        ("for said in rows:\n    pass\n", 1, 0, 0),
        ("value = [kept for kept in rows]\n", 0, 0, 0),
        ("f(1, 2, 3, 4, 5, 6)\nf(1, 2, 3, 4, 5, x=6)\n", 0, 1, 0),
        ("x = (1,\n  2)  # fmt: skip\n", 0, 0, 1),
    ],
)
def test_measures_count_what_they_name(tmp_path: Path, source: str, names: int, calls: int, skips: int) -> None:
    file = tmp_path / "module.py"
    file.write_text(source, "utf-8")
    counts = len(bare_names([file])[0]), len(long_calls([file])[0]), len(format_skips([file]))
    assert counts == (names, calls, skips)
