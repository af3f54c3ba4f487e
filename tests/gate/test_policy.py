"""Policies: what is read, and what is refused with a near miss."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard.errors import InputError
from regard.gate.policy import parse_policy, read_policy

BAD = {
    "": "at least one [[gate]], [[drift]] or [[require]]",
    "gate = 3": "[[gate]] tables",
    "[[gate]]\nmin = 0.8": "metric = NAME",
    '[[gate]]\nmetric = "accuracy"': "one of min, max, drop, change",
    '[[gate]]\nmetric = "accuracy"\nmim = 0.8': "Try: min",
    '[[gate]]\nmetric = "accuracy"\nmin = "0.8"': "a number",
    '[[gate]]\nmetric = "accuracy"\nmin = true': "a number",
    '[[gate]]\nmetric = "accuracy"\nmin = 0.9\nmax = 0.1': "min below max",
    '[[gate]]\nmetric = "accuracy"\ndrop = -0.1': "0 or more",
    '[[gate]]\nmetric = "accuracy"\nmin = 0.8\nlevel = "wran"': "Try: warn",
    '[[gate]]\nmetric = "accuracy"\nmin = 0.8\nwhere = "keyboard"': "{ setting = value }",
    '[[gate]]\nmetric = "accuracy"\nmin = 0.8\nmethod = []': "a name or a list of names",
    "[[drift]]": "min = NUMBER",
    '[[drift]]\nmin = 0.8\nmeasure = "kendal"': "Try: kendall",
    "[[drift]]\nmin = 1.2": "from -1 to 1",
    'inconclusive = "fial"\n[[drift]]\nmin = 0.8': "Try: fail",
    "confidnce = 0.9\n[[drift]]\nmin = 0.8": "Try: confidence",
    "confidence = 1.0\n[[drift]]\nmin = 0.8": "from 0.5 to 0.9999",
    "fewest = 1\n[[drift]]\nmin = 0.8": "a number from 2",
    "not toml at all": "TOML",
    'run = 3\n[[drift]]\nmin = 0.8': "the directory of a run",
}  # fmt: skip


@pytest.mark.parametrize("text", BAD)
@pytest.mark.wording
def test_what_is_wrong_is_refused_and_said(text: str) -> None:
    with pytest.raises(InputError) as error:
        parse_policy(text, Path("policy.toml"))
    assert BAD[text] in str(error.value)
    assert "policy.toml" in str(error.value)
    assert error.value.exit_code == 2


def test_a_whole_policy(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(
        'confidence = 0.9\nfewest = 20\ninconclusive = "fail"\ncorrection = "holm"\nbaseline = "last"\n'
        '[[gate]]\nname = "clean"\nmetric = "accuracy"\nmin = 0.8\nmax = 0.99\n'
        '[[gate]]\nmetric = "ece"\nmethod = ["a", "b"]\nwhere = { noise = "any" }\ndrop = 0\nlevel = "warn"\n'
        '[[drift]]\nmin = 0.5\nmeasure = "top_k"\nk = 3\n',
        "utf-8",
    )
    policy = read_policy(path)
    assert policy.gates[0].bounds == [("min", 0.8), ("max", 0.99)]
    assert policy.gates[1].method == ("a", "b")
    assert policy.gates[1].bounds == [("drop", 0.0)]
    assert (policy.confidence, policy.fewest, policy.inconclusive) == (0.9, 20, "fail")
    assert policy.baseline == str(tmp_path / "last"), "relative to the policy, not to where one stands"
    assert policy.drifts[0].k == 3
    assert policy.needs_baseline


def test_a_policy_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_policy(tmp_path / "no.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="UTF-8 text"):
        read_policy(tmp_path / "binary.toml")
