"""What is asked inside the model is answered once, charged for what it costs, and cached within a limit."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from regard.desk import answers
from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.desk.site_questions import decomposition, weight_gradients
from regard.models.open.wrap import wrap
from regard.networks.classifier import AttentionClassifier
from regard.protocols import Parts
from regard.records import Example, Site
from regard.testing.toy import ToyModel

SITES = {name: Site(name, 0, "self", i, 4) for i, name in enumerate(("one", "two", "three"))}


class Decomposed(ToyModel):
    """Counts the sites that it decomposes."""

    def parts(self, encoded: Any, target: Any, keys: Any) -> list[Parts]:
        self.calls.update(keys)
        big = np.zeros((4, 100, 100), np.float32)
        return [Parts(SITES[k], big, big, big[0], big[0, 0], big[0], (), 0.0) for k in keys]


def _case() -> tuple[Counter[str], DeskCase]:
    model = Decomposed()
    case = DeskCase(Desk(model), [model.example("x"), model.example("y")])
    case.base()
    return model.calls, case


def _spent(case: DeskCase) -> tuple[int, int]:
    costs = case.desk.costs()
    return sum(c.forwards for c in costs), sum(c.requests for c in costs)


def test_a_site_is_decomposed_once() -> None:
    calls, case = _case()
    forwards, requests = _spent(case)
    assert [p.site.name for p in decomposition(case, 0, ["two", "one"])] == ["two", "one"]
    assert _spent(case)[0] == forwards + 1 + 2 + 4  # to look, to reach two sites, and for four heads
    decomposition(case, 0, ["one", "three", "two"])
    assert [calls[name] for name in SITES] == [1, 1, 1]
    decomposition(case, 1, ["one"])
    assert calls["one"] == 2
    assert _spent(case)[1] == requests + 3


def test_the_oldest_go_when_there_is_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, case = _case()
    monkeypatch.setattr(answers, "LIMIT", 700_000)
    for _ in range(2):
        parts = decomposition(case, 0, ["one", "two", "three"])
        assert [p.site.name for p in parts] == ["one", "two", "three"]
    assert calls["one"] == 2, "it had to go, and is asked for again"


def test_one_pass_tells_the_answers_and_the_slopes_where_nobody_asked_for_answers_before() -> None:
    network = AttentionClassifier(words=40, classes=3, encoder="bilstm", size=8, hidden=8).eval()
    model = wrap(network, lambda t: [3 + len(w) for w in t.split()], labels=["a", "b", "c"], device="cpu")
    texts = ["some words here", "words of many lengths", "a b c d e f", "one", "two words there too"]
    examples = [Example(f"x{i}", {"text": t}) for i, t in enumerate(texts)]
    first, second = Desk(model), Desk(model)
    before, after = DeskCase(first, examples), DeskCase(second, examples)
    said = before.base()
    known = [weight_gradients(before, i, "frozen") for i in range(len(texts))]
    fresh = [weight_gradients(after, i, "frozen") for i in range(len(texts))]
    spent = sum(c.forwards for c in second.costs())
    assert spent == len(texts), "the answers cost nothing more"
    again = after.base()
    assert sum(c.forwards for c in second.costs()) == spent
    assert after.targets == before.targets
    assert said.distribution is not None
    assert again.distribution is not None
    np.testing.assert_allclose(again.value, said.value, atol=1e-5)
    np.testing.assert_allclose(again.distribution, said.distribution, atol=1e-6)
    for one, other in zip(known, fresh, strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_allclose(b.weights, a.weights, atol=1e-6)
            np.testing.assert_allclose(b.gradient, a.gradient, atol=1e-5)
