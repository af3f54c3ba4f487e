"""What was seen inside the model is asked for once, paid for by what it costs, and kept within a limit."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from regard.audits.estimate import CountingModel, probe
from regard.desk import looks
from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.desk.looks import Looks
from regard.models.open.wrap import wrap
from regard.networks.classifier import AttentionClassifier
from regard.protocols import Parts
from regard.records import Example, Site

SITES = {name: Site(name, 0, "self", i, 4) for i, name in enumerate(("one", "two", "three"))}


class Seen:
    """A model that counts what it is asked."""

    name = "seen"

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    def parts(self, encoded: Any, target: Any, keys: Any) -> list[Parts]:
        self.asked.update(keys)
        big = np.zeros((4, 100, 100), np.float32)
        return [Parts(SITES[k], big, big, big[0], big[0, 0], big[0], (), 0.0) for k in keys]


def looking() -> tuple[Seen, Looks, Counter[str]]:
    model, paid = Seen(), Counter[str]()
    return model, Looks(model, lambda **costs: paid.update(costs)), paid  # type: ignore[arg-type]


def test_a_site_is_taken_apart_once() -> None:
    model, seen, paid = looking()
    assert [p.site.name for p in seen.parts("x", ["two", "one"], None, None)] == ["two", "one"]  # type: ignore[arg-type]
    assert paid["forwards"] == 1 + 2 + 4  # to look, to reach two sites, and for four heads
    seen.parts("x", ["one", "three", "two"], None, None)  # type: ignore[arg-type]
    assert model.asked == {"one": 1, "two": 1, "three": 1}
    seen.parts("y", ["one"], None, None)  # type: ignore[arg-type]
    assert model.asked["one"] == 2
    assert paid["requests"] == 3


def test_the_oldest_go_when_there_is_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    model, seen, _ = looking()
    monkeypatch.setattr(looks, "LIMIT", 700_000)
    for _ in range(2):
        found = seen.parts("x", ["one", "two", "three"], None, None)  # type: ignore[arg-type]
        assert [p.site.name for p in found] == ["one", "two", "three"]
    assert model.asked["one"] == 2, "it had to go, and is asked for again"
    assert len(seen._held) <= 2


METHODS = ("value_norms", "globenc", "alti", "value_zeroing", "attention_x_gradient", "knock_out", "flow")


@pytest.mark.parametrize("name", METHODS)
def test_the_cost_is_known_before(name: str) -> None:
    network = AttentionClassifier(words=40, classes=2, encoder="transformer", size=8, hidden=8).eval()
    model = wrap(network, lambda t: [3 + len(w) for w in t.split()], labels=["a", "b"], mask="mask", device="cpu")
    example = Example("x", {"text": "some words of many lengths here"})
    counter = CountingModel(model, probe(model, model.encode(example), np.random.default_rng(0)))
    spent = []
    for one in (model, counter):
        desk = Desk(one)
        DeskCase(desk, [example]).relevance(name)
        costs = [c for c in desk.costs() if c.kind == "explainer"]
        spent.append((sum(c.forwards for c in costs), sum(c.backwards for c in costs)))
    assert spent[0] == spent[1]
    assert spent[0][0] > 0


def test_one_pass_tells_the_answers_and_the_slopes_where_nobody_asked_for_answers_before() -> None:
    network = AttentionClassifier(words=40, classes=3, encoder="bilstm", size=8, hidden=8).eval()
    model = wrap(network, lambda t: [3 + len(w) for w in t.split()], labels=["a", "b", "c"], device="cpu")
    texts = ["some words here", "words of many lengths", "a b c d e f", "one", "two words there too"]
    examples = [Example(f"x{i}", {"text": t}) for i, t in enumerate(texts)]
    first, second = Desk(model), Desk(model)
    before, after = DeskCase(first, examples), DeskCase(second, examples)
    said = before.base()
    known = [before.weight_slopes(i, "frozen") for i in range(len(texts))]
    fresh = [after.weight_slopes(i, "frozen") for i in range(len(texts))]
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
