"""`regard improve`: the table for people, the JSON for programs, what is refused, and Ctrl-C."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Call = Callable[..., Result]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of reviews and a network that was trained on it."""
    from regard.training.train import train

    folder = tmp_path_factory.mktemp("small")
    words = ("good", "fine", "lovely", "great"), ("bad", "poor", "dreadful", "dull")
    lines = ["text,label,split"]
    for i in range(80):
        split = ("train", "train", "dev", "test")[i % 4]
        told = words[i // 4 % 2][i // 8 % 4]
        lines.append(f"the film number {i % 7} was {told} i say,{'low' if i // 4 % 2 else 'high'},{split}")
    (folder / "reviews.csv").write_text("\n".join(lines) + "\n", "utf-8")
    train(
        "classifier:encoder=average,size=8,hidden=4,min_count=1", folder / "reviews.csv", out=folder / "base",
        settings={"epochs": 2, "batch_size": 16, "rate": 0.02},
    )  # fmt: skip
    return folder


def words(small: Path, out: Path, *more: str) -> list[str]:
    data = ["--data", str(small / "reviews.csv"), "--out", str(out), "--examples", "6", "--budget", "5"]
    return ["improve", str(small / "base"), *data, *more]


def test_the_table_and_then_the_json(regard: Call, small: Path, tmp_path: Path) -> None:
    call = words(small, tmp_path / "out", "--with", "attention-adversarial", "--seeds", "1", "--set", "epochs=1")
    result = regard(*call)
    assert result.exit_code == 0, result.stderr
    assert "attention scores moved against the label by" in result.stderr
    for said in (
        "trained again from scratch, one seed", "before = the same training without it", "clean accuracy",
        "before = its control (attention scores moved at random", "95 % interval", "Holm's correction",
        "one seed: no conclusion about other trainings", "training cost of attention-adversarial",
        f"look closer: regard audit {tmp_path / 'out/attention-adversarial'}",
    ):  # fmt: skip
        assert said in result.stdout, said
    again = regard(*call, "--json")
    told = json.loads(again.stdout)
    assert told["format"] == "regard-improvement"
    assert told["seeds"] == [0]
    assert [(c["arm"], c["against"]) for c in told["comparisons"]] == [
        ("attention-adversarial", "plain"), ("attention-adversarial", "attention-adversarial-control"),
        ("attention-adversarial-control", "plain"),
    ]  # fmt: skip
    row = told["comparisons"][0]["rows"][0]
    assert row["verdict"] in ("better", "worse", "no significant change")
    assert {"low", "high", "p", "corrected", "n", "seeds"} <= set(row)


REFUSED = {
    "a recipe that is not": (["--with", "adverserial"], "Try: adversarial"),
    "a parameter that is not": (["--with", "noise:shar=0.1"], "Try: share"),
    "a value that is not": (["--with", "adversarial:how=fgmm"], "fgm"),
    "a setting that is not": (["--with", "noise", "--set", "epoch=2"], "Try: epochs"),
    "a setting without value": (["--with", "noise", "--set", "epochs"], "name=value"),
    "no recipe": ([], "--with"),
    "a noise that is not": (["--with", 'noise:noises=["keyboardd"]'], "keyboard"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_in_one_line(regard: Call, small: Path, tmp_path: Path, name: str) -> None:
    more, said = REFUSED[name]
    result = regard(*words(small, tmp_path / "out", *more))
    assert result.exit_code == 2
    assert len(result.stderr.strip().splitlines()) <= 2
    assert said in result.stderr
    assert "Traceback" not in result.stderr


def test_ctrl_c_says_how_to_go_on(regard: Call, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*given: object, **more: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("regard.improve.improve.improve", interrupted)
    result = regard(*words(small, tmp_path / "out", "--with", "noise"))
    assert result.exit_code == 130
    assert f"finished work is stored in {tmp_path / 'out'}. Resume with: regard improve" in result.stderr
