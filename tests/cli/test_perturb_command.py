"""`regard perturb` as a user runs it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from click.testing import Result


def test_a_text_with_its_changed_words_marked(regard: Callable[..., Result]) -> None:
    result = regard("perturb", "a quiet, moving film", "--noise", "keyboard,filler", "--severity", "3", "--seed", "1")
    assert result.exit_code == 0, result.stderr
    assert "keyboard, severity 3, seed 1" in result.stdout
    assert "[" in result.stdout
    again = regard("perturb", "a quiet, moving film", "--noise", "keyboard,filler", "--severity", "3", "--seed", "1")
    assert again.stdout == result.stdout
    found = json.loads(regard("perturb", "a quiet film", "--severity", "1,5", "--json").stdout)
    assert [e["severity"] for e in found["examples"]] == [1, 5]
    assert found["examples"][0]["origin"] == [0, 1, 2]


def test_chinese_text_is_changed_and_idle_noises_are_named(regard: Callable[..., Result]) -> None:
    text = "这部电影非常好看，演员表现出色。"
    (changed,) = json.loads(regard("perturb", text, "--json").stdout)["examples"]
    assert changed["noise"] == "homophones"
    assert changed["text"] != text
    result = regard("perturb", text, "--noise", "keyboard,similar_characters")
    assert "nothing to change in these examples: keyboard\n" in result.stdout


def test_a_file_in_and_a_file_out(regard: Callable[..., Result], place: Path) -> None:
    result = regard("perturb", "good.csv", "--noise", "swap_letters", "--out", "noisy.csv")
    assert result.exit_code == 0, result.stderr
    assert "6 changed examples (seed 0)" in " ".join(result.stdout.split())
    again = json.loads(regard("perturb", "noisy.csv", "--noise", "letter_case:style=upper", "--json").stdout)
    before = json.loads(regard("perturb", "good.csv", "--noise", "swap_letters", "--json").stdout)["examples"]
    assert [e["original"]["text"] for e in again["examples"]] == [e["text"] for e in before]
    assert [str(e["label"]) for e in again["examples"]] == [str(e["label"]) for e in before]
    assert regard("perturb", "good.csv", "--out", "noisy.jsonl").exit_code == 0
    rows = [json.loads(line) for line in (place / "noisy.jsonl").read_text("utf-8").splitlines()]
    assert {"id", "text", "label", "noise", "severity", "seed", "original", "origin"} <= set(rows[0])


def test_accuracy_by_noise_and_severity(regard: Callable[..., Result]) -> None:
    result = regard(
        "perturb", "mine.py:make", "--data", "good.csv", "--noise", "keyboard,drop_words", "--severity", "1,5"
    )
    assert result.exit_code == 0, result.stderr
    shown = " ".join(result.stdout.split())
    for words in ("on 6 examples of", "Wilson 95 % interval, seed 0", "severity 1", "severity 5", "drop_words"):
        assert words in shown, words
    found = json.loads(regard("perturb", "mine.py:make", "--data", "good.csv", "--noise", "all", "--severity", "2",
                              "--json").stdout)  # fmt: skip
    assert found["rows"][0]["noise"] == "none"
    assert {"keyboard", "ocr", "word_order"} <= {row["noise"] for row in found["rows"]}
    assert all(row["n"] + row["left_out"] == 6 for row in found["rows"])


def test_a_noise_that_finds_nothing_is_not_called_harmless(regard: Callable[..., Result]) -> None:
    words = ("perturb", "mine.py:make", "--data", "good.csv", "--noise", "keyboard,homophones", "--severity", "1")
    shown = regard(*words).stdout
    assert "nothing to change in these examples: homophones" in shown
    assert {r["noise"]: r["changed"] > 0 for r in json.loads(regard(*words, "--json").stdout)["rows"][1:]} == {
        "keyboard": True, "homophones": False,
    }  # fmt: skip


def test_tests_of_behaviour_have_exit_codes(regard: Callable[..., Result], place: Path) -> None:
    text = '[[test]]\nname = "x"\nkind = "invariance"\ntemplate = "a {names} b"\nvary = "names"\nrequire = REQ\n'
    (place / "t.toml").write_text(text.replace("REQ", "0.0"))
    easy = regard("perturb", "mine.py:make", "--tests", "t.toml")
    assert easy.exit_code == 0, easy.stderr
    assert "met" in easy.stdout
    (place / "t.toml").write_text(text.replace("REQ", "1.0").replace("invariance", "invariance"))
    hard = regard("perturb", "mine.py:make", "--tests", "t.toml", "--json")
    assert hard.exit_code in (1, 3)  # no finite number of fillings shows that all pass
    assert json.loads(hard.stdout)["tests"][0]["status"] in ("failed", "open")


def test_sensitive_terms(regard: Callable[..., Result], place: Path) -> None:
    (place / "s.toml").write_text('[swap.x]\ngroups = [["good", "fine"], ["bad", "dull"]]\nsame = true\n')
    result = regard("perturb", "mine.py:make", "--data", "good.csv", "--swaps", "s.toml")
    assert result.exit_code == 0, result.stderr
    assert "placebo" in result.stdout


def test_list_and_mistakes(regard: Callable[..., Result]) -> None:
    shown = regard("perturb", "--list").stdout
    assert all(word in shown for word in ("keyboard", "frost_like", "band_limit", "time_warp", "column_noise"))
    for words, said in (
        (("perturb",), "a text, a data set or a model"),
        (("perturb", "x", "--noise", "keybord"), "keyboard"),
        (("perturb", "x", "--severity", "6"), "numbers from 1 to 5"),
        (("perturb", "none.csv"), "no such file"),
        (("perturb", ""), "an empty text"),
        (("perturb", "bilstm"), "regard perturb bilstm --data DATA"),
        (("perturb", "x y", "--text-column", "t"), "got the text"),
        (("perturb", "x y", "--noise", "neighbour"), "--model MODEL"),
        (("perturb", "mine.py:make", "--data", "good.csv", "--out", "x.csv"), "regard perturb good.csv --out x.csv"),
        (("perturb", "x y", "--out", "x.txt"), "FILE.jsonl"),
        (("perturb", "mine.py:make", "--data", "good.csv", "--swaps", "nmes"), "names"),
        (("perturb", "mine.py:make", "--tests", "none.toml"), "no such file"),
    ):
        result = regard(*words)
        assert result.exit_code == 2, words
        assert said in result.stderr, (words, result.stderr)
        assert "Traceback" not in result.stderr


def test_what_an_error_about_a_row_advises_can_be_done(regard: Callable[..., Result], place: Path) -> None:
    (place / "gap.csv").write_text("text,label\na good film,positive\n,negative\na bad film,negative\n")
    asked = ("mine.py:make", "--data", "gap.csv")
    for command in (
        ("perturb", "gap.csv"),
        ("perturb", *asked, "--severity", "1"),
        ("attack", *asked, "--attack", "greedy_char", "--no-sanity"),
    ):
        refused = regard(*command)
        assert (refused.exit_code, "--skip-bad" in refused.stderr) == (2, True)
        assert regard(*command, "--skip-bad").exit_code == 0


def test_a_model_that_gives_no_numbers_is_not_steadfast(regard: Callable[..., Result], place: Path) -> None:
    for words in (("perturb",), ("attack", "--attack", "greedy_char")):
        assert "finite weights" in regard(*words, "mine.py:broken", "--data", "good.csv").stderr
    # weights that are finite, answers that are not
    made = (place / "mine.py").read_text().replace("return self.out((h", "return float('nan') + self.out((h")
    (place / "late.py").write_text(made)
    for words in (("perturb",), ("attack", "--attack", "greedy_char")):
        result = regard(*words, "late.py:make", "--data", "good.csv")
        assert (result.exit_code, "NaN or infinite ones for 6 of 6" in result.stderr) == (2, True), result.output


def test_accuracy_counts_labelled_examples_and_its_interval_holds_it(
    regard: Callable[..., Result], place: Path
) -> None:
    rows = ["a quiet moving film,pos", "dull and far too long,neg", "warm funny and wise,pos", "a mess of a plot,"]
    (place / "half.csv").write_text("\n".join(["text,label", *rows]) + "\n", "utf-8")
    words = ("perturb", "mine.py:make", "--data", "half.csv", "--noise", "keyboard", "--severity", "1")
    clean = json.loads(regard(*words, "--json").stdout)["rows"][0]
    assert (clean["n"], clean["labelled"]) == (4, 3)
    shown = " ".join(regard(*words).stdout.split())
    assert "on 3 examples of" in shown
    for value, low, high in re.findall(r"(\d\.\d+) \[(\d\.\d+), (\d\.\d+)\]", shown):
        assert len(value) == len(low) == len(high)
        assert low <= value <= high
