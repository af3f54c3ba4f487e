"""The terminal and heads.csv say the same about the same heads, and every name survives a reader of CSV files."""

from __future__ import annotations

import csv
import io
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hand_built_heads import induction_head
from rich.console import Console

from regard.cli.commands.heads import _show, _write
from regard.errors import UnknownName
from regard.present.terminal.heads_view import heads_table, roles_told
from regard.records import Site
from regard.surveys.heads.findings import HeadSurvey
from regard.surveys.heads.naming import chosen_heads, named_heads
from regard.surveys.heads.survey import heads


def printed(table: Any) -> str:
    console = Console(width=400, file=io.StringIO())
    console.print(table)
    return str(console.file.getvalue())  # type: ignore[attr-defined]


def survey_of(roles: list[tuple[str, bool, float]]) -> dict[str, Any]:
    """A survey with these heads: (role, whether it rests, drop); ten to a layer."""
    rows = [
        {
            "name": f"L{i // 10}H{i % 10}", "kind": "causal", "spread": "", "group": None, "slope": None,
            "role": {"name": role, "others": [], "confidence": 0.9, "score": None, "resting": resting},
            "drop": {"estimate": drop, "low": drop, "high": drop},
        }
        for i, (role, resting, drop) in enumerate(roles)
    ]  # fmt: skip
    return {"heads": rows, "scores": [], "model": "m", "data": "d", "n": 3, "clusters": 3, "seed": 0}


def test_no_head_that_does_something_is_hidden() -> None:
    roles = [("sink", True, 1.0 + i) for i in range(150)] + [("", False, 9.0)] * 85
    roles += [("previous token", False, 0.5)] * 31 + [("induction", False, 0.0)] * 4
    table, hidden = heads_table(survey_of(roles), everything=False)
    shown = printed(table)
    assert shown.count("induction") == 4
    assert shown.count("previous token") == 31
    assert len(hidden) == 270 - 40
    said = roles_told(survey_of(roles), hidden)
    assert said[0] == "185 of 270 heads have a role: sink 150, previous token 31, induction 4; 85 have none"
    assert "230 heads, of which 145 only rest" in said[1]
    assert "85 have no role" in said[1]


def test_more_busy_heads_than_the_table_usually_holds_are_all_shown() -> None:
    roles = [("previous token", False, 0.0)] * 60 + [("", False, 9.0)] * 10
    table, hidden = heads_table(survey_of(roles), everything=False)
    assert printed(table).count("previous token") == 60
    assert [row["role"]["name"] for row in hidden] == [""] * 10
    assert heads_table(survey_of(roles), everything=True)[1] == []


@pytest.fixture(scope="module")
def survey() -> HeadSurvey:
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{w}" for w in rng.integers(2, 40, size=12)) for _ in range(12)]
    return heads(induction_head(), texts, ablate=0)


def test_terminal_and_csv_count_the_same_roles(
    survey: HeadSurvey, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _write(survey, tmp_path)
    rows = list(csv.DictReader((tmp_path / "heads.csv").read_text("utf-8").splitlines()))
    in_csv = Counter({row["head"]: row["role"] for row in rows}.values())
    _show(survey, False, None)
    shown = " ".join(capsys.readouterr().out.split())
    with_role = sum(n for role, n in in_csv.items() if role)
    assert 0 < with_role < 4
    assert f"{with_role} of 4 heads have a role" in shown
    for role, n in in_csv.items():
        assert (f"{role} {n}" if role else f"{n} have none") in shown
    assert in_csv["induction"] == 1


def test_names_in_csv_are_no_numbers(survey: HeadSurvey) -> None:
    for row in survey.records():
        assert row["head"] == f"stack{0 if 'first' in row['site'] else 1}.L{row['layer']}H{row['number']}"
        assert isinstance(row["layer"], int)
        assert isinstance(row["number"], int)
    names = [head.name for head in named_heads([Site("layer.0", 0, "self", 0, 12)])]
    assert names[1] == "L0H1"
    assert names[10] == "L0H10"
    for name in names:
        with pytest.raises(ValueError, match="could not convert"):
            float(name)


def test_former_names_are_still_understood(survey: HeadSurvey) -> None:
    known = named_heads([Site("layer.0", 0, "self", 0, 12)])
    assert [head.number for head in chosen_heads("0.1, 0.10, L0H2, L0H1", known)] == [1, 10, 2]
    assert survey.role("stack1.0.0") == survey.role("stack1.L0H0")
    assert survey.score("stack1.0.0", "entropy") == survey.score("stack1.L0H0", "entropy")
    with pytest.raises(UnknownName):
        chosen_heads("0.12", known)
