"""Data of another kind than the model reads are refused before anything is computed or written."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from regard.audits.audit import audit
from regard.audits.readable import check_modality
from regard.datasets.examples import Examples
from regard.errors import InputError
from regard.models.open.wrap import wrap
from regard.protocols import Model
from regard.records import Example


class Sum(nn.Module):
    """Three numbers of a row, or the numbers of words, added up for each of two classes."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.out = nn.Linear(3, 2)

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        return torch.as_tensor(self.out(given.float()[:, :3]))


def model(modality: str) -> Model:
    if modality == "text":
        return wrap(Sum(), lambda text: [len(word) for word in text.split()], labels=["a", "b"])
    return wrap(Sum(), lambda row: row, modality="tabular", columns=["x", "y", "z"], labels=["a", "b"])


TEXTS = Examples("texts", (Example("a", {"text": "a b c"}, "a"), Example("b", {"text": "d e f"}, "b")))
ROWS = Examples(
    "rows", (Example("a", {"row": np.ones(3)}, "a"), Example("b", {"row": np.zeros(3)}, "b")), (), (), ("x", "y", "z")
)  # fmt: skip
WIDE = Examples("wide", (Example("a", {"row": np.ones(4)}, "a"), Example("b", {"row": np.zeros(4)}, "b")))


@pytest.mark.parametrize(
    ("modality", "data", "words"),
    [
        ("text", ROWS, ["texts, which the model", "rows of numbers (x, y, z)", "--text-column"]),
        ("tabular", TEXTS, ["rows of numbers, which the model", "got texts"]),
        ("tabular", WIDE, ["data wide, example 'a'", "3"]),
    ],
)
def test_an_audit_of_the_wrong_data_never_starts(
    modality: str, data: Examples, words: list[str], tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        audit(model(modality), data, out=tmp_path / "run", profile="quick")
    for word in words:
        assert word in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_fitting_data_pass_and_so_does_a_model_of_no_known_kind() -> None:
    check_modality(model("text"), TEXTS)
    check_modality(model("tabular"), ROWS)
    mixed = Examples("mixed", (*WIDE.items, *ROWS.items))
    check_modality(model("tabular"), mixed)  # a bad row among good ones is a problem of its own
    own: Any = SimpleNamespace(name="own", modality="graph")
    check_modality(own, ROWS)
