"""One function is enough to wrap a module; what cannot be inferred is asked for with the line to add."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import regard
from regard.errors import InputError, UnknownName
from regard.models.open.wrap import wrap
from regard.records import Example


class Weighed(nn.Module):
    """A score per token, times a temperature that is a second input."""

    def __init__(self, out: int = 2) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embed, self.score, self.out = nn.Embedding(20, 4), nn.Linear(4, 1), nn.Linear(4, out)

    def forward(self, ids: Tensor, temperature: Tensor | None = None, passage: Tensor | None = None) -> Tensor:
        states = self.embed(ids)
        scores = self.score(states).squeeze(-1)
        if temperature is not None:
            scores = scores / temperature[:, None]
        pooled = (torch.softmax(scores, -1)[..., None] * states).sum(1)
        logits: Tensor = self.out(pooled)
        return logits if passage is None else logits + self.embed(passage).sum((1, 2))[:, None]


def ids_of(text: str) -> list[int]:
    return [len(word) for word in text.split()]


def value(model: Any, text: str, **more: str) -> float:
    return float(model.predict([model.encode(Example("e", {"text": text, **more}))])[0].value[0])


def test_a_mapping_passes_further_inputs_by_name() -> None:
    module = Weighed()
    warm = wrap(module, lambda text: {"ids": ids_of(text), "temperature": 0.1}, labels=["a", "b"])
    text = "one little text of words"
    with torch.no_grad():
        logits = module(torch.tensor([ids_of(text)]), torch.tensor([0.1]))[0]
    assert value(warm, text) == pytest.approx(float(logits.max() - logits.min()), abs=1e-5)
    removed = regard.explain(warm, text, ["leave_one_out"]).relevance["leave_one_out"][0]
    kept = " ".join(text.split()[1:])
    targets = warm.predict([warm.encode(Example("e", {"text": text}))])[1]
    without = warm.forward([warm.encode(Example("e", {"text": kept}))], targets).value[0]
    assert warm.operators[0] == "delete"
    assert removed[0] == pytest.approx(value(warm, text) - without, abs=1e-5)


def test_an_encode_function_with_two_parameters_gets_the_second_text() -> None:
    def both(text: str, pair: str | None) -> dict[str, Any]:
        return {"ids": ids_of(text), "passage": ids_of(pair or "")}

    module = Weighed()
    model = wrap(module, both, labels=["a", "b"])
    taken = regard.capture(model, [("a query here", "the passage"), ("a query here", "another longer passage of it")])
    assert taken.units[0].names == ("a", "query", "here")
    with torch.no_grad():
        logits = module(torch.tensor([[1, 5, 4]]), None, torch.tensor([[3, 7]]))[0]
    assert taken.answers.value[0] == pytest.approx(float(logits.max() - logits.min()), abs=1e-5)


def test_regression_and_several_labels_of_arrays() -> None:
    module = nn.Sequential(nn.Linear(3, 2))
    number = wrap(module, modality="tabular", columns=list("abc"), task="regression", class_tokens=-1)
    several = wrap(
        module, modality="tabular", columns=list("abc"), task="multi_label", class_tokens=-1, labels=["x", "y"]
    )
    row = np.array([1.0, 2.0, 3.0], np.float32)
    with torch.no_grad():
        out = module(torch.from_numpy(row)[None])[0]
    assert float(regard.explain(number, row, ["leave_one_out"]).answers.value[0]) == pytest.approx(float(out[0]))
    assert float(regard.explain(several, [row], ["leave_one_out"]).answers.value[0]) == pytest.approx(float(out.max()))


def test_what_cannot_be_inferred_is_asked_for() -> None:
    text = "a few words"
    with pytest.raises(InputError, match=r"task='regression'.*labels=\['no', 'yes'\]"):
        regard.capture(wrap(Weighed(1), ids_of), text)
    with pytest.raises(InputError, match=r"expected 3 names.*got 2: a, b.*labels=\['a', 'b', \.\.\.\]"):
        regard.capture(wrap(Weighed(3), ids_of, labels=["a", "b"]), text)
    with pytest.raises(UnknownName, match="temperatura"):
        regard.capture(wrap(Weighed(), lambda t: {"ids": ids_of(t), "temperatura": 1.0}, labels=["a", "b"]), text)
    flat = nn.Sequential(nn.Embedding(20, 4), nn.Flatten(), nn.Linear(12, 2))
    rigid = wrap(flat, ids_of, labels=["a", "b"])
    with pytest.raises(InputError, match="fixed_length=True"):
        value(rigid, "two words")
    fixed = wrap(flat, ids_of, labels=["a", "b"], fixed_length=True)
    assert fixed.operators == ("mask", "resample")
    assert len(regard.explain(fixed, text, ["leave_one_out"]).relevance["leave_one_out"][0]) == 3


def test_a_tower_compares_two_texts() -> None:
    class Tower(Weighed):
        def forward(self, ids: Tensor, *_: Any) -> Tensor:  # type: ignore[override]
            return self.embed(ids).mean(1)

    model = wrap(Tower(), ids_of, task="similarity")
    same = regard.explain(model, ("one two three", "one two three"), ["leave_one_out"])
    assert same.answers.value[0] == pytest.approx(1.0, abs=1e-6)
    assert same.units[0].names == ("one", "two", "three")


def test_channels_of_a_series_are_units() -> None:
    class First(nn.Module):
        def forward(self, series: Tensor) -> Tensor:
            return torch.stack([series[..., 0].amax(1), -series[..., 0].amax(1)], -1)

    model = wrap(
        First(),
        modality="series",
        unit="channel",
        columns=["pulse", "pressure"],
        labels=["high", "low"],
        class_tokens=-1,
    )
    series = np.stack([np.linspace(0, 1, 8), np.linspace(5, 6, 8)], 1)
    explained = regard.explain(model, series, ["leave_one_out"])
    assert explained.units[0].names == ("pulse", "pressure")
    assert explained.relevance["leave_one_out"][0].tolist() == pytest.approx([1.0, 0.0], abs=1e-6)
