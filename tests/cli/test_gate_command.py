"""`regard gate`: the last line, the exit code and the files say the same."""

from __future__ import annotations

import json
import os
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from regard.gate.gate import VERDICTS

Call = Callable[..., Result]
FEWER = "fewest = 6\n"
ENTROPY = '[[gate]]\nname = "spread"\nmetric = "entropy"\nmethod = "attention"\n'
CASES = {
    "passed": (FEWER + ENTROPY + "min = 0.01", 0),
    "failed": (FEWER + ENTROPY + "max = 0.01", 1),
    "mistyped": (FEWER + ENTROPY.replace("entropy", "entrpy") + "min = 0.01", 2),
    "not toml": ("min 3", 2),
    "inconclusive": (ENTROPY + "min = 0.01", 3),  # six examples are too few to say
    "baseline gone": ('baseline = "nowhere"\n' + FEWER + ENTROPY + "drop = 0.1", 4),
}


@pytest.mark.parametrize("name", CASES)
def test_one_verdict_everywhere(regard: Call, audited: tuple[Path, Result], tmp_path: Path, name: str) -> None:
    text, code = CASES[name]
    policy = tmp_path / "policy.toml"
    policy.write_text(text, "utf-8")
    words = ("gate", str(audited[0]), "--policy", str(policy))
    files = ("--junit", str(tmp_path / "out" / "gate.xml"), "--summary", str(tmp_path / "out" / "gate.md"))
    result = regard(*words, *files)
    assert result.exit_code == code, result.output
    last = result.stdout.strip().splitlines()[-1]
    assert last.startswith(f"{VERDICTS[code].upper()} (exit {code})")
    assert "Traceback" not in result.output
    suite = ET.parse(tmp_path / "out" / "gate.xml").getroot().find("testsuite")
    assert suite.find("properties/property[@name='exit_code']").get("value") == str(code)
    assert f"(exit {code})" in (tmp_path / "out" / "gate.md").read_text("utf-8")
    again = regard(*words, "--json")
    assert again.exit_code == code
    told = json.loads(again.stdout)
    assert (told["exit_code"], told["line"]) == (code, last)


def test_a_run_against_itself(regard: Call, audited: tuple[Path, Result], tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(FEWER + "[[drift]]\nmin = 0.5\n" + ENTROPY + "change = 0.01\n", "utf-8")
    result = regard("gate", str(audited[0]), "--policy", str(policy), "--baseline", str(audited[0]))
    assert result.exit_code == 0, result.output
    assert "predictions unchanged since the baseline: 6 of 6" in result.stderr
    assert "the very same weights" in result.stderr


def test_what_is_allowed_to_fail_and_what_is_open(regard: Call, audited: tuple[Path, Result], tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(FEWER + ENTROPY + "max = 0.01", "utf-8")
    words = ("gate", str(audited[0]), "--policy", str(policy))
    assert regard(*words, "--allow-fail", "spread").exit_code == 0
    assert "Try: spread" in regard(*words, "--allow-fail", "spraed").output
    policy.write_text(ENTROPY + "min = 0.01", "utf-8")
    assert regard(*words, "--inconclusive", "fail").exit_code == 1
    assert regard(*words, "--inconclusive", "warn").exit_code == 0


def test_not_a_run_and_a_report_that_cannot_be_written(
    regard: Call, audited: tuple[Path, Result], tmp_path: Path
) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(FEWER + ENTROPY + "min = 0.01", "utf-8")
    result = regard("gate", str(tmp_path), "--policy", str(policy))
    assert result.exit_code == 2
    assert "(exit 2)" in result.stdout
    (tmp_path / "file").write_text("x", "utf-8")
    words = ("gate", str(audited[0]), "--policy", str(policy), "--junit", os.path.join(tmp_path, "file", "x.xml"))
    result = regard(*words)
    assert result.exit_code == 4
    assert "(exit 4)" in result.stdout
