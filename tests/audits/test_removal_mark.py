"""The trust mark of one explanation: removing what it marks, beside removing random units."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner
from planted_mixture import mixture, mixture_texts

from regard.audits.explain import Explained, explain
from regard.audits.removal_mark import DRAWS, RemovalMark, removal_marks
from regard.cli.root import root
from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.judge.margins import FOUND
from regard.live.session import Session
from regard.present.trust_words import mark_json, mark_line
from regard.records import Example, Relevance


@pytest.fixture(scope="module")
def explained() -> Explained:
    return explain(mixture(), mixture_texts(120, 0.3, 4), ["attention"])


def test_marks_on_a_planted_mixture_are_precise_and_find_most(explained: Explained) -> None:
    bag = np.array([e.slices["way"] == "bag" for e in explained.examples])
    doubtful = np.array([mark is not None and not mark.matters for mark in explained.marks["attention"]])
    assert (doubtful & bag).sum() / doubtful.sum() >= 0.9
    assert (doubtful & bag).sum() / bag.sum() >= 0.5


def test_a_mark_is_what_its_formula_says(explained: Explained) -> None:
    """An oracle by hand: delete the words from the text, ask the model."""
    model, example = mixture(), explained.examples[0]
    mark = explained.marks["attention"][0]
    assert mark is not None
    words = str(example.inputs["text"]).split()
    assert len(mark.units) == max(1, min(3, len(words) // 4))
    top = np.argsort(-np.asarray(explained.relevance["attention"][0]), kind="stable")[: len(mark.units)]
    assert set(mark.units) == set(top.tolist())
    operator = model.operators[0]
    hidden = [
        w if i not in mark.units else "w1" for i, w in enumerate(words) if operator == "mask" or i not in mark.units
    ]
    case = DeskCase(Desk(model), [example, Example("other", {"text": " ".join(hidden)})])
    distribution = case.base().distribution
    assert distribution is not None
    target = int(distribution[0].argmax())
    assert mark.marked == pytest.approx(abs(distribution[0, target] - distribution[1, target]), abs=1e-5)


def test_the_map_of_no_effect_is_doubtful_and_costs_one_small_batch() -> None:
    model = mixture()
    example = Example("x", {"text": "w30 w7 w31 w32 w33 w34 w35 w36 w37 w38 w39 w40"})
    case = DeskCase(Desk(model), [example])
    wrong = np.zeros(12)
    wrong[2:5] = (3, 2, 1)
    right = np.zeros(12)
    right[1] = 1
    relevances = {name: Relevance.of(name, case.ids, [row], signed=False) for name, row in (("a", wrong), ("b", right))}
    marks = removal_marks(case, relevances)
    bad, good = marks["a"][0], marks["b"][0]
    assert bad is not None
    assert good is not None
    assert not bad.matters
    assert bad.units == (2, 3, 4)
    assert bad.marked == pytest.approx(0, abs=1e-3)
    assert good.matters
    assert good.marked > 0.3
    assert good.chance == pytest.approx(0, abs=0.05)
    assert DRAWS <= 4


def test_the_margin_decides() -> None:
    assert RemovalMark((0,), FOUND + 0.1001, 0.1).matters
    assert not RemovalMark((0,), FOUND + 0.0999, 0.1).matters


def test_one_unit_alone_cannot_be_compared() -> None:
    case = DeskCase(Desk(mixture()), [Example("x", {"text": "w7"})])
    relevance = Relevance.of("a", case.ids, [np.ones(1)], signed=False)
    assert removal_marks(case, {"a": relevance}) == {"a": (None,)}
    units = {"names": ["w7"], "kind": "word", "place_kind": "span"}
    assert mark_json(None, units) is None
    assert mark_line(None, units).startswith("?")


def test_explain_gives_the_mark_in_words_and_as_json() -> None:
    line = ["explain", "planted:decides", "--text", "good the film of a plain day in town", "--method", "attention"]
    told = json.loads(CliRunner().invoke(root, [*line, "--json"], catch_exceptions=False).output)
    trust = told["examples"][0]["trust"]["attention"]
    assert set(trust) == {"matters", "marked", "random", "units", "text"}
    shown = CliRunner().invoke(root, line, catch_exceptions=False).output
    assert trust["text"][0] in ("✓", "✗")
    assert trust["text"][:20] in shown


def test_the_live_viewer_shows_the_mark_of_every_map_in_its_language() -> None:
    lines = {}
    for lang in ("en", "zh"):
        session = Session(mixture(), methods=("attention",), lang=lang)
        pack = session.show(Example("x", {"text": "w30 w7 w31 w32 w33 w34 w35 w36"}))
        (lines[lang],) = session.pack(pack).manifest.examples[0].trust
        session.close()
    assert all(line.startswith("attention: ✓") for line in lines.values())
    assert lines["en"] != lines["zh"]
