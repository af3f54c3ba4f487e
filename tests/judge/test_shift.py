"""Which verdicts survive on other data: the table of fates, and a tiny audit of two domains."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from made_evidence import How, made

from regard.judge.judge import judge
from regard.judge.shift import FATES, surviving
from regard.records import Answer, Judgement


def judged(**how: How) -> Judgement:
    return judge(made(n=100, how=how or None))


def with_answer(judgement: Judgement, answer: Answer) -> Judgement:
    first, *rest = judgement.verdicts
    return replace(judgement, verdicts=(replace(first, answer=answer), *rest))


@pytest.mark.parametrize(
    ("here", "there", "fate"),
    [
        ("holds", "holds", "survives"), ("fails", "fails", "survives"), ("mixed", "mixed", "survives"),
        ("holds", "fails", "falls"), ("holds", "mixed", "falls"), ("holds", "uninformative", "open there"),
        ("uninformative", "holds", "open here"), ("uninformative", "uninformative", "open"),
    ],
)  # fmt: skip
def test_the_fate_of_a_verdict(here: Answer, there: Answer, fate: str) -> None:
    (found,) = surviving([with_answer(judged(), here)], [with_answer(judged(), there)])
    assert isinstance(found, dict)
    assert isinstance(found["questions"], list)
    first = found["questions"][0]
    assert isinstance(first, dict)
    assert first["fate"] == fate
    assert set(FATES) == {"survives", "falls", "open there", "open here", "open"}


def test_the_reading_survives_only_if_it_is_the_same_for_the_same_classes() -> None:
    good, bad = judged(), judged(negative="random", positive="random")
    half = judged(negative="default", positive="evidence")
    fates = {}
    for name, there in (("same", good), ("other", bad), ("classes", half)):
        (found,) = surviving([good], [there])
        assert isinstance(found, dict)
        fates[name] = found["fate"]
    assert fates == {"same": "survives", "other": "falls", "classes": "falls"}
    json.dumps(surviving([good], [bad]), allow_nan=False)


def test_several_attentions_are_paired_by_what_they_are() -> None:
    one, two = judged(), replace(judged(), attention="another")
    found = surviving([one, two], [two])
    assert [f["attention"] for f in found if isinstance(f, dict)] == ["another"]
    assert surviving([one, two], [replace(one, attention="x"), replace(two, attention="y")]) == []
