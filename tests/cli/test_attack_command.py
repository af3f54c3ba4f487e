"""`regard attack` as a user runs it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from click.testing import Result


def test_a_table_with_denominators_and_sanity_lines(regard: Callable[..., Result], place: Path) -> None:
    result = regard("attack", "bilstm", "--attack", "greedy_word,hotflip", "--n", "6", "--budget", "40", "--out", "atk")
    assert result.exit_code == 0, result.stderr
    shown = " ".join(result.stdout.split())
    for words in ("predicted correctly before any attack", "threat: goal untargeted; at most 40 queries",
                  "no stop words", "95 % interval", "worst case", "Wilson", "success by query",
                  "character n-gram overlap", "least changed", "stronger than noise", "white box at least",
                  "written:", "seed 0"):  # fmt: skip
        assert words in shown, words
    lines = [json.loads(text) for text in (place / "atk" / "attacks.jsonl").read_text("utf-8").splitlines()]
    assert lines[0]["threat"]["budget"] == 40
    assert len(lines) == 1 + 2 * 6
    assert {"original", "adversarial", "queries", "status", "label"} <= set(lines[1])


def test_json_and_a_model_of_ones_own(regard: Callable[..., Result]) -> None:
    result = regard("attack", "mine.py:make", "--data", "good.csv", "--n", "4", "--budget", "30", "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout, parse_constant=lambda name: 1 / 0)
    assert found["n"] == 4
    assert [r["attack"] for r in found["attacks"]] == ["greedy_char", "input_reduction"]
    assert found["threat"]["budget"] == 30
    assert len(found["sanity"]) == 3


def test_attack_mistakes_are_one_line(regard: Callable[..., Result]) -> None:
    for words, said in (
        (("attack", "bilstm", "--attack", "greedy_wrd"), "greedy_word"),
        (("attack", "bilstm", "--attack", "hotflip:mny=3"), "many"),
        (("attack", "bilstm", "digits"), "several with --transfer"),
        (("attack", "bilstm", "--target", "happy", "--n", "2"), "class 'happy'"),
        (("attack", "digits", "--attack", "hotflip", "--n", "2"), "an attack on image"),
        (("attack", "bilstm", "--max-share", "2"), "share of words"),
    ):
        result = regard(*words)
        assert result.exit_code == 2, words
        assert said in result.stderr, result.stderr
        assert "Traceback" not in result.stderr
