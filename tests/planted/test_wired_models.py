"""Planted models with weights set by hand: their texts, their certificates, and how their cells are counted."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

import numpy as np
import pytest
import torch
from benchmarks import truth as bench

from regard.datasets.builtin.planted_wired import (
    CLASS_KEYS,
    CUES,
    OVERRIDES,
    ROUTES,
    TRIGGERS,
    WiredTask,
    hotel_words,
    planted_wired,
)
from regard.errors import InputError
from regard.models.adapter import TorchModel
from regard.models.open.load import load
from regard.planted.growing.grow import certificate_of
from regard.planted.growing.truth import EARLIER, QUESTIONS, Stand, table, truth_of, zoo
from regard.planted.wiring.build import TEXTS, plan_of, wired_certificate
from regard.planted.wiring.pooled import previous
from regard.records import Example, Message
from regard.registry import names

KINDS = ("classes", "pairs", "relay", "deep", "steps", "mixture", "sink", "trigger", "wrong reason")
WIRED = [name for name in names("planted") if "kind" in table().get(name, {})]


def stand_of(name: str) -> Stand:
    return next(s for s in zoo("dev") if s.name == name)


@cache
def opened(name: str) -> TorchModel:
    model = load(stand_of(name).key, device="cpu")
    assert isinstance(model, TorchModel)
    return model


def marked(example: Example) -> list[str]:
    text = str(example.inputs["text"])
    return [text[int(a) : int(b)] for a, b in example.rationale or ()]


# ---------------------------------------------------------------------- texts


@pytest.mark.parametrize(
    ("task", "classes", "decisive"),
    [
        ("classes", 5, CLASS_KEYS), ("cue", 2, CUES), ("listeners", 2, CLASS_KEYS), ("sink", 2, CLASS_KEYS),
        ("trigger", 2, TRIGGERS),
    ],
)  # fmt: skip
def test_one_marked_word_fixes_the_label(task: WiredTask, classes: int, decisive: tuple[tuple[str, ...], ...]) -> None:
    data = planted_wired(n=60, task=task, classes=classes)
    for example in data:
        (word,) = marked(example)
        assert [c for c, words in enumerate(decisive) if word in words] == [example.label]
        assert sum(w in {k for words in decisive for k in words} for w in str(example.inputs["text"]).split()) == 1
    counts = Counter(e.label for e in data)
    assert len(counts) == classes
    assert max(counts.values()) - min(counts.values()) <= 1


def test_pairs_agree_where_their_keywords_have_one_polarity() -> None:
    sides = {word: side for side, words in enumerate(CLASS_KEYS[:2]) for word in words}
    for example in planted_wired(n=60, task="pairs", classes=3):
        first, second = (
            [sides[w] for w in str(example.inputs[k]).split() if w in sides] for k in ("text", "text_pair")
        )
        assert len(first) == 1
        assert example.label == (2 if not second else int(first != second))


def test_steps_ask_for_the_digit_that_many_places_from_the_end() -> None:
    for example in planted_wired(n=60, task="steps", classes=5):
        step, *digits = str(example.inputs["text"]).split()
        due = digits[-1 - int(step.removeprefix("step"))]
        assert [due] == marked(example)
        assert int(due) - 1 == example.label


@pytest.mark.parametrize("by", ["lot", "length"])
def test_mixture_tells_the_route_of_every_text(by: str) -> None:
    data = planted_wired(n=300, task="mixture", bypass=0.3, by=by)  # type: ignore[arg-type]
    for example in data:
        decisive = OVERRIDES if example.slices["route"] == ROUTES[1] else CLASS_KEYS
        assert [word in decisive[int(str(example.label))] for word in marked(example)] == [True]
    past = [e for e in data if e.slices["route"] == ROUTES[1]]
    assert 0.2 < len(past) / len(data) < 0.4
    if by == "length":
        shortest = min(len(str(e.inputs["text"]).split()) for e in past)
        assert all(len(str(e.inputs["text"]).split()) < shortest for e in data if e.slices["route"] == ROUTES[0])


def test_triggers_stand_in_sentences_of_known_words() -> None:
    known = set(hotel_words())
    for example in planted_wired(n=40, task="trigger"):
        words = re.findall(r"[\w']+", str(example.inputs["text"]))
        assert [w for w in words if w not in known] == marked(example)


def test_impossible_numbers_of_classes_are_refused() -> None:
    for task, classes in (("classes", 6), ("cue", 3), ("pairs", 4), ("classes", 1)):
        with pytest.raises(InputError):
            planted_wired(task=task, classes=classes)  # type: ignore[arg-type]


# ---------------------------------------------------------------------- constructions


@pytest.mark.parametrize("name", WIRED)
def test_interventions_confirm_what_the_table_says(name: str) -> None:
    """Before any rule runs: accuracy, and every cell that a certificate can see."""
    certificate = wired_certificate(opened(name), 80)
    assert certificate["accuracy"] == 1.0
    stated = truth_of(name, None)
    certified = truth_of(name, certificate)
    assert certified.left_out == ""
    assert certified.cells == stated.cells, "no cell may turn open"
    assert certified.readings
    for facts in certificate["classes"].values():
        assert facts["need"] < 0.05 or facts["swap"] == 1.0


def test_a_certificate_sees_a_model_that_is_not_what_its_name_says() -> None:
    wrong = certificate_of(opened("classes_beside"))
    assert wrong is not None
    assert wrong["texts"] == TEXTS
    for name, certificate, question, stated in (
        ("classes_point", wrong, "points", "holds"),
        ("pair_idle", wired_certificate(opened("pair_point"), 80), "matter", "fails"),
    ):
        unlike = truth_of(name, certificate).left_out
        assert isinstance(unlike, Message)
        assert (unlike.params["question"], unlike.params["stated"]) == (question, stated)


@pytest.mark.parametrize("name", ["classes_beside", "part_bypass", "sink_token", "trigger_point", "cue_excused"])
def test_rough_models_are_what_their_name_says_and_leave_open_what_noise_may_decide(name: str) -> None:
    stand = next(s for s in zoo("dev") if s.name == name and s.params.get("rough"))
    model = load(stand.key, device="cpu")
    assert isinstance(model, TorchModel)
    certificate = wired_certificate(model, 200)
    assert 0.9 <= certificate["accuracy"] <= 1
    assert len({round(facts["need"], 2) for facts in certificate["classes"].values()}) > 1, "no two classes are alike"
    certified, tidy = truth_of(name, certificate), truth_of(name, None)
    assert certified.left_out == ""
    assert certified.cells == {**tidy.cells, "agree": "open", "exclusive": "open"}


def test_relayed_evidence_reaches_the_answer_without_weight_on_it() -> None:
    model = opened("relay")
    plan = plan_of(model)
    assert plan is not None
    text = model.encode(plan.draw(1, 77)[0])
    tokens = torch.from_numpy(text.arrays["input_ids"])[None]
    with torch.no_grad():
        reading = model.module.read(tokens)  # type: ignore[operator]
    (example,) = plan.draw(1, 77)
    keyword = str(example.inputs["text"]).split().index(marked(example)[0]) + 1
    assert reading.weights[0, keyword] < 1e-3
    assert reading.logits.softmax(-1)[0, int(str(example.label))] > 0.9


def test_twelve_layers_are_twelve_sites() -> None:
    model = opened("deep_point")
    plan = plan_of(model)
    assert plan is not None
    from regard.models.capture import capture

    assert len(capture(model, str(plan.draw(1, 3)[0].inputs["text"])).sites) == 12


@pytest.mark.parametrize("name", ["pair_beside", "deep_relay", "sink_beside", "reverser_rows", "part_bypass"])
def test_no_answer_depends_on_the_padding_of_its_batch(name: str) -> None:
    model = opened(name)
    plan = plan_of(model)
    assert plan is not None
    batch = [model.encode(e) for e in plan.draw(6, 5)]
    assert len({len(item.units) for item in batch}) > 1
    together, targets = model.predict(batch)
    alone = [model.forward([one], [target]).value[0] for one, target in zip(batch, targets, strict=True)]
    np.testing.assert_allclose(together.value, alone, atol=1e-5)


def test_states_move_to_the_next_word_and_from_the_last_to_the_first() -> None:
    states = torch.arange(1.0, 6.0)[None, :, None]
    real = torch.tensor([[True, True, True, True, False]])
    assert previous(states, real, 0)[0, :, 0].tolist() == [4, 1, 2, 3, 5]
    assert previous(states, real, 1)[0, :, 0].tolist() == [1, 4, 2, 3, 5]


# ---------------------------------------------------------------------- halves and counts


def test_both_halves_have_every_kind_and_enough_new_cells() -> None:
    for half in ("dev", "sealed"):
        new = [s for s in zoo(half) if s.kind != EARLIER]
        assert {s.kind for s in new} == set(KINDS)
        cells = [q for s in new for q in QUESTIONS if table()[s.name].get(q, ["open"])[0] != "open"]
        assert len(cells) >= 60
    settings = [{k: v for k, v in s.params.items() if k != "seed"} for s in zoo("sealed") if s.kind != EARLIER]
    of_dev = [{k: v for k, v in s.params.items() if k != "seed"} for s in zoo("dev") if s.kind != EARLIER]
    assert sum(params not in of_dev for params in settings) > len(settings) / 2


def test_every_kind_is_counted_by_itself() -> None:
    def row(name: str, answers: dict[str, str], reading: str, examples: int) -> bench.Row:
        said = {**dict.fromkeys(QUESTIONS, "uninformative"), **answers}
        return bench.Row(Stand("dev", name, {}, None), truth_of(name, None), said, reading, {}, examples)

    rows = [
        row("pair_idle", {"map": "holds", "matter": "fails"}, "nothing to read", 60),
        row("pair_beside", {"map": "holds", "matter": "holds", "points": "holds"}, "read as evidence", 100),
        row("part_bypass", {"map": "holds", "points": "mixed"}, "debugging only", 200),
        row("one_key", {"map": "fails"}, "nothing to read", 30),
    ]
    kinds = bench.scored(rows)["kinds"]
    assert list(kinds) == ["pairs", "mixture", EARLIER]
    pairs, mixture = kinds["pairs"], kinds["mixture"]
    assert (pairs["models"], pairs["cells"], pairs["wrong"], pairs["examples"]) == (2, 8, 1, 80)
    assert (pairs["settled"]["count"], pairs["settled"]["n"], pairs["right"]["count"]) == (5, 8, 4)
    assert (pairs["right_readings"], pairs["wrong_readings"]) == (1, 1)
    assert (mixture["settled"]["count"], mixture["right"]["count"], mixture["wrong"]) == (2, 2, 0)
    assert kinds[EARLIER]["cells"] == 1
