"""Category columns of a table: read, learned, explained, removed, and reported where unknown."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from regard.audits.explain import explain
from regard.audits.options import AuditOptions
from regard.audits.resolve import unknown_words
from regard.audits.trained_from_file import trained_from_file
from regard.datasets.read import read
from regard.errors import InputError
from regard.measures.intervals import wilson
from regard.measures.keyed_random import keyed_rng
from regard.models.adapter import TorchModel
from regard.models.open.load import load
from regard.networks.categories import Categories
from regard.networks.tabular import TabularTransformer
from regard.records import Example, Message, Text
from regard.training.train import read_splits, train

HOUSING = ("free", "own", "rent")


def table(path: Path, n: int = 400) -> str:
    """Rows whose label is `yes` exactly for housing=rent; age, income and job say nothing."""
    rng = keyed_rng(0, "category columns")
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "housing", "income", "job title", "late"])
        for _ in range(n):
            home = HOUSING[int(rng.integers(3))]
            job = ("skilled worker", "no job")[int(rng.integers(2))]
            late = "yes" if home == "rent" else "no"
            writer.writerow([int(rng.integers(18, 70)), home, int(rng.integers(1000, 9000)), job, late])
    return str(path)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Example]]:
    folder = tmp_path_factory.mktemp("loans")
    source = table(folder / "loans.csv")
    splits = read_splits(source, lambda split: read(source, label_column="late", table=True, split=split))
    settings = {"epochs": 8, "rate": 5e-3}
    result = train("tabular:size=16,layers=1", splits, out=folder / "model", settings=settings)
    assert result.members[0]["test_accuracy"] == 1.0
    return folder / "model", list(splits.test)


def test_words_that_repeat_are_categories_and_other_words_are_skipped(tmp_path: Path) -> None:
    rows = [{"n": i, "kind": "ab"[i % 2], "name": f"person{i}", "y": i % 2} for i in range(30)]
    data = read(rows, label_column="y")
    assert data.columns == ("n", "kind")
    assert data[1].inputs["categories"] == ("b",)
    assert data[1].inputs["row"].tolist() == [1.0]
    note = next(n for n in data.notes if getattr(n, "key", "") == "data.mixed_row")
    assert "name" in str(note)


def test_words_with_spaces_that_repeat_beside_numbers_are_no_text() -> None:
    jobs = ("skilled worker", "no job")
    rows = [{"n": i, "job": jobs[i % 2], "y": i % 2} for i in range(30)]
    assert read(rows, label_column="y")[1].inputs["categories"] == ("no job",)
    rows = [{"n": i, "job": f"job number {i} of many", "y": i % 2} for i in range(30)]
    assert "text" in read(rows, label_column="y")[1].inputs


def test_an_empty_cell_is_a_category_of_its_own() -> None:
    rows = [{"n": i, "kind": ("a", "b", None)[i % 3], "y": i % 2} for i in range(30)]
    assert read(rows, label_column="y")[2].inputs["categories"] == ("",)


def test_every_explainer_points_to_the_column_that_decides(trained: tuple[Path, list[Example]]) -> None:
    directory, examples = trained
    methods = ("leave_one_out", "integrated_gradients", "input_x_gradient")
    explained = explain(str(directory), examples[:12], methods)
    names = list(explained.units[0].names)
    assert names == ["[CLS]", "age", "income", "housing", "job title"], "one unit for each column"
    for method in methods:
        strength = np.abs([explained.relevance[method][i] for i in range(12)]).mean(0)
        assert names[int(np.argmax(strength))] == "housing", method


def test_a_removed_category_becomes_the_most_frequent_or_one_of_another_row(
    trained: tuple[Path, list[Example]],
) -> None:
    model = load(trained[0])
    assert isinstance(model, TorchModel)
    about = json.loads((trained[0] / "regard.json").read_text("utf-8"))
    background = np.array(about["background"])
    item = model.reader.encode(trained[1][0])
    drop = np.array([name == "housing" for name in item.units.names])
    own = item.arrays["rows"]
    removed = model.reader.remove(item, drop, "mean", np.random.default_rng(0)).arrays["rows"]
    assert removed[2:5].tolist() == (np.arange(3) == background[:, 2:5].sum(0).argmax()).astype(float).tolist()
    np.testing.assert_array_equal(np.delete(removed, [2, 3, 4]), np.delete(own, [2, 3, 4]))
    drawn = [model.reader.remove(item, drop, "resample", np.random.default_rng(i)).arrays["rows"] for i in range(60)]
    assert {row[2:5].sum() for row in drawn} == {1.0}, "always one category, never a mixture"
    shares = np.mean([row[2:5] for row in drawn], 0)
    assert np.abs(shares - background[:, 2:5].mean(0)).max() < 0.25


def test_unknown_categories_are_counted_and_reported(trained: tuple[Path, list[Example]]) -> None:
    model = load(trained[0])
    known = trained[1][0]
    odd = Example("odd", {**known.inputs, "categories": ("castle", "no job")})
    assert unknown_words(model, [known]) == []
    (note,) = unknown_words(model, [known, odd])
    assert dict(note.params)["n"] == 1  # type: ignore[union-attr]
    assert note.key == "data.unknown_categories"  # type: ignore[union-attr]
    with pytest.raises(InputError, match="2 category columns"):
        model.encode(Example("short", {"row": known.inputs["row"], "categories": ("rent",)}))


def test_category_token_is_the_vector_of_its_category() -> None:
    torch.manual_seed(0)
    network = TabularTransformer(columns=1, classes=2, size=8, categories=[3, 2]).eval()
    known = Categories((("a", "b", "c"), ("x", "y")))
    row = torch.tensor([[0.5, *known.encode(["c", "x"])]], dtype=torch.float32)
    captured: list[torch.Tensor] = []
    network.token.register_forward_hook(lambda module, inputs, output: captured.append(inputs[0]))
    network(row)
    expected = torch.stack([0.5 * network.weight[0], network.vectors[2], network.vectors[3]]) + network.bias
    torch.testing.assert_close(captured[0][0], expected)


def test_one_command_reads_categories_and_states_accuracy_with_its_interval(tmp_path: Path) -> None:
    lines: list[Text] = []
    source = table(tmp_path / "loans.csv", 120)
    directory, test = trained_from_file("tabular", source, tmp_path, AuditOptions(label_column="late"), lines.append)
    assert json.loads((Path(directory) / "regard.json").read_text("utf-8"))["categories"][0] == list(HOUSING)
    told = next(line for line in lines if isinstance(line, Message) and line.key == "training_note.tested_share")
    facts: dict[str, Any] = dict(told.params)
    low, high = wilson(round(facts["score"] * len(test)), len(test))
    assert (facts["n"], facts["low"], facts["high"]) == (len(test), pytest.approx(low), pytest.approx(high))
