"""Pictures on the command line: folders, files, and what can be wrong with them, each in one clear line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import Result
from PIL import Image
from transformers import ViTConfig, ViTForImageClassification, ViTImageProcessor

Call = Callable[..., Result]
METHODS = "attention,rollout,lrp,integrated_gradients,leave_one_out"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pictures")
    torch.manual_seed(0)
    labels = {0: "cat", 1: "dog"}
    config = ViTConfig(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=24,
        image_size=32,
        patch_size=8,
        id2label=labels,
        label2id={name: i for i, name in labels.items()},
        initializer_range=0.4,
    )
    ViTForImageClassification(config).save_pretrained(root / "vit")
    ViTImageProcessor(size={"height": 32, "width": 32}).save_pretrained(root / "vit")
    rng = np.random.default_rng(0)
    for i in range(8):
        file = root / "data" / ("cat" if i % 2 else "dog") / f"{i}.{'png' if i % 3 else 'jpg'}"
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (40, 48, 3), np.uint8)).save(file)
    return root


def test_audit_of_a_folder(home: Path, regard: Call, tmp_path: Path) -> None:
    out = tmp_path / "run"
    options = (
        "--explainers",
        METHODS,
        "--metrics",
        "comprehensiveness",
        "--limit",
        "2",
        "--profile",
        "quick",
        "--out",
        str(out),
    )
    told = regard("audit", str(home / "vit"), "--data", str(home / "data"), *options)
    assert told.exit_code == 0, told.output
    page = (out / "report.html").read_text("utf-8")
    assert "cat/" in page
    assert page.count("data:image/png;base64,") >= 6 * 2  # the picture alone and under each of five methods


def test_explain_and_view_of_a_file(home: Path, regard: Call, tmp_path: Path) -> None:
    file = str(home / "data" / "cat" / "1.png")
    told = regard("explain", str(home / "vit"), "--image", file, "--method", METHODS, "--json")
    assert told.exit_code == 0, told.output
    (example,) = json.loads(told.stdout)["examples"]
    assert set(example["relevance"]) == set(METHODS.split(","))
    assert len(example["units"]["names"]) == 17
    shown = regard("explain", str(home / "vit"), "--image", file)
    assert "1.png" in shown.output.splitlines()[0] + shown.output.splitlines()[1]
    assert example["answer"] in shown.output
    page = tmp_path / "view.html"
    told = regard("view", str(home / "vit"), "--image", file, "--html", str(page))
    assert told.exit_code == 0, told.output
    assert "1.png" in page.read_text("utf-8")


def test_attack_goes_through_the_resize(home: Path, regard: Call) -> None:
    options = ("--attack", "pgd:eps=0.2", "--limit", "4", "--json")
    told = regard("attack", str(home / "vit"), "--data", str(home / "data"), *options)
    assert told.exit_code == 0, told.output
    rows = json.loads(told.stdout)
    assert "success" in json.dumps(rows)


WRONG = {
    "an empty directory": ("empty", "an empty"),
    "a corrupt JPEG": ("corrupt", "broken.jpg"),
    "labels that the model does not have": ("foreign", "horse"),
}


@pytest.mark.parametrize("what", WRONG)
def test_bad_folder_is_one_clear_line(home: Path, regard: Call, tmp_path: Path, what: str) -> None:
    kind, word = WRONG[what]
    folder = tmp_path / kind
    folder.mkdir()
    if kind == "corrupt":
        whole = (home / "data" / "cat" / "3.jpg").read_bytes()
        (folder / "broken.jpg").write_bytes(whole[: len(whole) // 2])
    if kind == "foreign":
        (folder / "horse").mkdir()
        Image.fromarray(np.zeros((8, 8, 3), np.uint8)).save(folder / "horse" / "1.png")
    told = regard("audit", str(home / "vit"), "--data", str(folder), "--out", str(tmp_path / "run"))
    assert told.exit_code == 2, told.output
    lines = [line for line in told.stderr.splitlines() if line.startswith("regard:")]
    assert len(lines) == 1
    assert word in lines[0]


def test_image_that_is_no_file(home: Path, regard: Call) -> None:
    told = regard("explain", str(home / "vit"), "--image", str(home / "nowhere.png"))
    assert told.exit_code == 2
    assert "no such file" in told.stderr
    told = regard("explain", str(home / "vit"), "--image", str(home / "data"))
    assert "--data DIR" in told.stderr
