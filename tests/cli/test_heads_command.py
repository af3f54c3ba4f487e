"""`regard heads` and `regard prune` as a user runs them."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

from click.testing import Result


def test_a_table_with_baseline_interval_legend_and_caveat(regard: Callable[..., Result], place: Path) -> None:
    result = regard("heads", "mine.py:make", "--data", "good.csv", "--ablate", "3", "--out", "found")
    assert result.exit_code == 0, result.stderr
    shown = " ".join(result.stdout.split())
    for words in ("1 head of Small on 6 examples", "score [95 %]", "base", "Holm's correction", "pruning curve",
                  "health of attention", "conicity", "null space", "not what the model does with it"):  # fmt: skip
        assert words in shown, words
    rows = list(csv.DictReader((place / "found" / "heads.csv").read_text("utf-8").splitlines()))
    assert {"head", "score", "estimate", "low", "high", "n", "baseline", "role", "confidence", "seed"} <= set(rows[0])
    assert json.loads((place / "found" / "heads.json").read_text())["n"] == 6


def test_json_has_no_numbers_that_json_does_not_know(regard: Callable[..., Result]) -> None:
    result = regard("heads", "mine.py:make", "--data", "good.csv", "--limit", "4", "--ablate", "0", "--json")
    found = json.loads(result.stdout, parse_constant=lambda name: 1 / 0)
    assert found["n"] == 4
    assert found["curve"] == []
    assert found["heads"][0]["drop"] is None
    assert found["heads"][0]["role"]["name"] == ""


def test_mistakes_are_one_line(regard: Callable[..., Result]) -> None:
    for words, said in (
        (("heads", "mine.py:without_attention", "--data", "good.csv"), "has no attention"),
        (("heads", "mine.py:make", "--data", "no_such.csv"), "no_such.csv"),
        (("prune", "digits", "--out", "x"), "expected --heads or --fraction; got neither"),
        (("prune", "mine.py:make", "--heads", "0.0", "--out", "x"), "a model from a directory"),
        (("prune", "digits", "--heads", "9.9", "--out", "x", "--limit", "2"), "head '9.9'"),
    ):
        result = regard(*words)
        assert result.exit_code == 2, result.output
        assert said in result.stderr
        assert "Traceback" not in result.output


def test_prune_says_what_was_done_and_what_it_cost(regard: Callable[..., Result], place: Path) -> None:
    result = regard("prune", "digits", "--heads", "0.1", "--out", "pruned-digits", "--limit", "12")
    assert result.exit_code == 0, result.stderr
    shown = " ".join(result.stdout.split())
    for words in ("without 1 of", "silenced, not dropped, because", "accuracy", "agreement", "bytes of weights",
                  "read again", "12 examples of digits"):  # fmt: skip
        assert words in shown, words
    again = regard("heads", str(place / "pruned-digits"), "--data", "digits", "--limit", "4", "--ablate", "2", "--json")
    assert again.exit_code == 0, again.stderr
    drops = {row["name"]: row["drop"]["estimate"] for row in json.loads(again.stdout)["heads"]}
    assert abs(drops["L0H1"]) < 1e-6 < max(map(abs, drops.values()))
