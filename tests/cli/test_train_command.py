"""`regard train`: what a person sees, what a program gets, what is refused, and Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Call = Callable[..., Result]
SMALL = "--epochs 2 --batch-size 32 --rate 0.01"


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of 60 short reviews, with the columns of somebody else."""
    file = tmp_path_factory.mktemp("data") / "reviews.csv"
    words = ("good", "fine", "lovely"), ("bad", "poor", "dreadful")
    lines = ["review,stars,split"]
    for i in range(60):
        split = ("train", "train", "dev", "test")[i % 4]
        lines.append(f"film {i} was {words[i % 3 == 0][i % 3]} i say,{'low' if i % 3 == 0 else 'high'},{split}")
    file.write_text("\n".join(lines) + "\n", "utf-8")
    return file


def words(text: str, data: Path, out: Path) -> list[str]:
    columns = f"--data {data} --text-column review --label-column stars --out {out}"
    return [*text.split(), *columns.split(), *SMALL.split()]


def test_a_family_from_a_file(regard: Call, reviews: Path, tmp_path: Path) -> None:
    call = words(
        "train classifier --set size=8 --set hidden=4 --encoder cnn --attention dot --seeds 2",
        reviews,
        tmp_path / "out",
    )
    result = regard(*call)
    assert result.exit_code == 0, result.stderr
    assert "epoch 1/2: loss " in result.stderr
    assert "dev accuracy" in result.stderr
    assert "loss = cross_entropy" in result.stderr
    assert "over 2 seeds" in result.stdout
    assert "test was evaluated once" in result.stdout
    about = json.loads((tmp_path / "out/seed-1/regard.json").read_text())
    assert (about["config"]["encoder"], about["config"]["attention"], about["labels"]) == (
        "cnn",
        "dot",
        ["high", "low"],
    )
    again = regard(*call, "--json")
    told = json.loads(again.stdout)
    assert told["trained_before"]
    assert (told["metric"], told["test"]["n"], len(told["members"])) == ("accuracy", 2, 2)
    assert [m["settings"]["seed"] for m in told["members"]] == [0, 1]


def test_terms_from_another_model(regard: Call, reviews: Path, tmp_path: Path) -> None:
    assert regard(*words("train classifier", reviews, tmp_path / "base")).exit_code == 0
    terms = f"--term prediction_distance=1 --term attention_distance=-1 --from {tmp_path}/base"
    result = regard(*words(f"train classifier {terms}", reviews, tmp_path / "adversary"))
    assert result.exit_code == 0, result.stderr
    assert "loss = prediction_distance - attention_distance" in result.stderr
    frozen = f"train classifier --encoder average --attention frozen --from {tmp_path}/base"
    result = regard(*words(frozen, reviews, tmp_path / "frozen"))
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "frozen/imposed.safetensors").is_file()


REFUSED = {
    "a kind that is not": ("train clasifier", "Try: classifier"),
    "an encoder that is not": ("train classifier --encoder bilstn", "expected one of bilstm, cnn"),
    "an option that is not": ("train classifier --set sise=8", "Try: size"),
    "a term that is not": ("train classifier --term concity=1", "Try: conicity"),
    "a term without weight": ("train classifier --term conicity", "name=weight"),
    "frozen alone": ("train classifier --attention frozen", "Try: --from"),
    "a class that is not": ("train classifier --class-weights high=1,lo=2", "Try: low"),
    "a class forgotten": ("train classifier --class-weights high=1", "none for low"),
    "columns for pixels": ("train vision", "an input 'image'; got text"),
    "a directory for pixels": ("train vision --from-directory .", "regard train classifier"),
    "not a directory": ("train classifier --from-directory nowhere", "no such directory"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_mistakes_are_one_line(what: str, regard: Call, reviews: Path, tmp_path: Path) -> None:
    text, says = REFUSED[what]
    result = regard(*words(text, reviews, tmp_path / "out"))
    assert result.exit_code == 2
    last = result.stderr.strip().splitlines()[-1]
    assert last.startswith("regard: ")
    assert says in last
    assert not (tmp_path / "out/regard.json").exists()


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (
            ["text,label,split", "a,1,train", "b,1,train", "c,1,dev", "d,1,test"],
            "expected at least two classes; got only",
        ),
        (["text,label,split", "a,1,train", "b,0,train", "c,1,test"], "dev split of"),
        (["text,label,split", "a,x,train", "b,y,train", "c,x,dev", "d,,test"], "expected one of x, y; got none"),
        (["text,stars", "a,1"], "label"),
    ],
    ids=["one class", "no dev", "no label", "no label column"],
)
def test_data_that_nothing_can_be_learned_from(lines: list[str], says: str, regard: Call, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("\n".join(lines) + "\n", "utf-8")
    label = ["--label-column", "label"]
    result = regard("train", "classifier", "--data", str(tmp_path / "data.csv"), *label, "--out", str(tmp_path / "out"))
    assert result.exit_code == 2, result.stdout
    assert says in result.stderr


def test_ctrl_c_leaves_something_to_go_on_with(reviews: Path, tmp_path: Path) -> None:
    text = words("train classifier", reviews, tmp_path / "out")
    text[text.index("--epochs") + 1] = "100000"
    child = subprocess.Popen(
        [sys.executable, "-m", "regard", *text, "--patience", "100000"], stderr=subprocess.PIPE, text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert child.stderr is not None
    for line in child.stderr:
        if line.startswith("epoch 3/"):
            break
    child.send_signal(signal.SIGINT)
    rest = child.stderr.read()
    child.stderr.close()
    assert child.wait() == 130
    assert f"the training state is stored in {tmp_path}/out. Resume with: regard train classifier" in rest
    state = json.loads((tmp_path / "out/state/seed-0/state.json").read_text())
    assert state["epoch"] >= 3
    assert not (tmp_path / "out/regard.json").exists()


def test_options_of_a_network_stand_behind_its_name() -> None:
    from regard.cli.commands.train import _learner

    assert _learner("vision:patch=4", {}, ["layers=3"], None) == _learner("vision", {}, ["patch=4", "layers=3"], None)
