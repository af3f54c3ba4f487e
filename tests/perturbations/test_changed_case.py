"""A case under noise: the same ids, labels and targets, units that know where they come from, and exact costs."""

from __future__ import annotations

import numpy as np
import pytest

from regard.datasets.read import read
from regard.desk.case import DeskCase
from regard.desk.changes import PerturbedBy
from regard.desk.desk import Desk
from regard.desk.questions import UnitOrigins
from regard.desk.unit_alignment import unit_origins
from regard.models.open.load import load
from regard.perturbations.apply import perturbed
from regard.records import Example, Spec, Units
from regard.testing.toy import ToyCase


def origins_of(case: DeskCase) -> list[np.ndarray]:
    return case.ask([UnitOrigins(name) for name in case.ids])


@pytest.fixture(scope="module")
def case() -> DeskCase:
    return DeskCase(Desk(load("bilstm")), list(read("reviews", limit=4)))


def test_the_changed_case_is_asked_about_the_same(case: DeskCase) -> None:
    noisy = case.variant(PerturbedBy("keyboard", 4))
    assert noisy.ids == case.ids
    assert noisy.targets == case.targets
    assert [e.label for e in noisy.examples] == [e.label for e in case.examples]
    assert all(a.inputs != b.inputs for a, b in zip(case.examples, noisy.examples, strict=True))
    assert not np.allclose(noisy.base().value, case.base().value)
    assert case.variant(PerturbedBy("keyboard", 4)) is noisy  # nothing is made or asked twice
    alone = case.subset([2]).variant(PerturbedBy("keyboard", 4))
    assert alone.examples[0].inputs == noisy.examples[2].inputs
    assert noisy.subset([1]).examples[0].inputs == noisy.examples[1].inputs


def test_units_know_where_they_come_from(case: DeskCase) -> None:
    assert all(np.array_equal(o, np.arange(len(u))) for o, u in zip(origins_of(case), case.units, strict=True))
    filled = case.variant(PerturbedBy("filler", 3))
    for before, after, origins in zip(case.units, filled.units, origins_of(filled), strict=True):
        kept = origins >= 0
        assert [after.names[i] for i in np.flatnonzero(kept)] == [before.names[int(o)] for o in origins[kept]]
        assert kept.sum() == len(before)
        assert (~kept).any()
    dropped = case.variant(PerturbedBy("drop_words", 5))
    assert all((o >= 0).all() and len(o) < len(u) for o, u in zip(origins_of(dropped), case.units, strict=True))


def _units(names: list[str], spans: list[tuple[int, int]], special: list[bool]) -> Units:
    n = len(names)
    return Units(
        tuple(names), "token", "span", np.array(spans, float), np.array(special), np.zeros(n, int), np.zeros(n, int),
        np.arange(n), (n,),
    )  # fmt: skip


def test_pieces_of_a_changed_word_lie_on_the_pieces_of_the_word_it_was() -> None:
    before = _units(["[CLS]", "un", "kind", "film"], [(0, 0), (0, 2), (2, 6), (7, 11)], [True, False, False, False])
    after = _units(
        ["[CLS]", "u", "m", "ki", "nd", "film"], [(0, 0), (0, 1), (1, 2), (2, 4), (4, 6), (7, 11)],
        [True, False, False, False, False, False],
    )  # fmt: skip
    original = Example("a", {"text": "unkind film"})
    made = perturbed(original, Spec("perturbation", "keyboard", {"shortest": 5}), 1)
    assert unit_origins(before, after, original, made).tolist() == [0, 1, 1, 2, 2, 3]


def test_a_toy_case_can_be_changed_too() -> None:
    toy = ToyCase()
    noisy = toy.variant(PerturbedBy("drop_words", 5))
    assert noisy.ids == toy.ids
    assert noisy.targets == toy.targets
    assert [len(o) for o in origins_of(noisy)] == [len(u) for u in noisy.units]
    assert noisy.subset([1, 0]).examples == (noisy.examples[1], noisy.examples[0])


def test_rows_are_measured_on_the_companions() -> None:
    rows = list(read("cancer", limit=12))
    model = load("cancer")
    one = DeskCase(Desk(model), rows[:1], companions=rows).variant(PerturbedBy("column_noise", 3))
    many = DeskCase(Desk(model), rows[:3], companions=rows).variant(PerturbedBy("column_noise", 3))
    assert np.array_equal(one.examples[0].inputs["row"], many.examples[0].inputs["row"])
    assert np.array_equal(origins_of(one)[0], np.arange(len(one.units[0])))
