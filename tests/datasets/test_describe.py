"""The few lines about a data set say what is in it."""

from __future__ import annotations

import numpy as np
import pytest

from regard.datasets.builtin.planted_segments import planted_segments
from regard.datasets.describe import describe
from regard.datasets.examples import Examples
from regard.records import Example, Json


@pytest.mark.parametrize(
    ("labels", "names", "said"),
    [
        ([0, 1, 1], ("neg", "pos"), "neg 1, pos 2"),
        (["b", "a", None], ("a", "b"), "a 1, b 1, without 1"),
        ([None, None], (), "none"),
        ([i / 7 for i in range(60)], (), "60 different values"),
        ([3, 3], (), "3 2"),
    ],
)
def test_labels_are_counted_by_name(labels: list[Json], names: tuple[str, ...], said: str) -> None:
    items = tuple(Example(str(i), {"text": "a b"}, label) for i, label in enumerate(labels))
    assert dict(describe(Examples("d", items, names)))["labels"] == said


def test_lengths_groups_and_rationales() -> None:
    texts = [{"text": "a"}, {"text": "a b", "text_pair": "c"}, {"text": "a b c d e"}]
    items = [Example(str(i), inputs, 0, group=f"g{i // 2}") for i, inputs in enumerate(texts)]
    rows = dict(describe(Examples("d", tuple(items))))
    assert (rows["words"], rows["groups"]) == ("1 to 5, median 3", "2")
    assert "with rationale" not in rows
    image = Example("i", {"image": np.zeros((4, 6, 3))})
    assert dict(describe(Examples("d", (image,))))["pixels"] == "24"
    series = dict(describe(planted_segments(n=5)))
    assert (series["steps"], series["with rationale"], series["labels"]) == ("64", "5", "hill 3, wave 2")
