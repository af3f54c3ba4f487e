"""Screened leave-one-out: exact where it is short, honest about what it did not ask where it is long."""

from __future__ import annotations

import numpy as np
import pytest

from regard.audits.audit import audit
from regard.desk.screening import _groups, screened
from regard.errors import InputError, UnknownName
from regard.experiments._rankings import references
from regard.experiments.pointing import pointing
from regard.explainers.leave_one_out import leave_one_out
from regard.records import Units
from regard.testing.toy import ToyCase

WORDS = [f"w{i}" for i in range(120)]


def long_case(strong: str = "w77", seed: int = 0) -> ToyCase:
    rng = np.random.default_rng(3)
    weights = {word: float(rng.normal(0, 0.05)) for word in WORDS} | {strong: 2.0}
    sentences = [" ".join(WORDS[i : i + 15]) + " ." for i in range(0, 120, 15)]
    return ToyCase((" ".join(sentences), "w3 w77 w9"), seed=seed, weights=weights)


def passes(case: ToyCase) -> int:
    return sum(cost.forwards for cost in case.desk.costs())


def test_a_short_input_is_asked_in_full() -> None:
    case = ToyCase()
    exact, same = screened(case, "mask", None), screened(case, "mask", 64)
    for one, other, units in zip(exact.values, same.values, case.units, strict=True):
        assert np.array_equal(one, other)
        assert not one[~units.free].any()
    assert all((mask == units.free).all() for mask, units in zip(exact.asked, case.units, strict=True))
    assert np.isnan(same.largest).all()
    assert not same.missed.any()


@pytest.mark.parametrize("most", [16, 40])
def test_a_long_input_costs_at_most_so_many_passes_and_finds_the_word(most: int) -> None:
    case = long_case()
    case.base()
    before = passes(case)
    effects = screened(case, "mask", most)
    assert passes(case) - before <= most + 3  # and the three words of the second example
    full = screened(long_case(), "mask", None)
    asked = effects.asked[0]
    assert 0 < asked.sum() < case.units[0].free.sum()
    assert np.allclose(effects.values[0][asked], full.values[0][asked])
    if most == 40:  # enough for the whole sentence that matters
        assert case.units[0].names[int(np.argmax(effects.values[0]))] == "w77"
    assert effects.missed[1] == 0
    assert 0 < effects.missed[0] < 1


def test_a_search_with_few_passes_divides_groups_until_it_finds_the_word() -> None:
    """The word is anywhere in 240: whole groups cannot be asked unit by unit with 24 passes."""
    words = [f"w{i}" for i in range(240)]
    positions = range(7, 240, 16)
    for place in positions:
        case = ToyCase((" ".join(words),), weights=dict.fromkeys(words, 0.0) | {words[place]: 2.0})
        case.base()
        before = passes(case)
        effects = screened(case, "mask", 24)
        assert passes(case) - before <= 24
        assert case.units[0].names[int(np.argmax(effects.values[0]))] == words[place], "by groups alone 4 of 15"


def test_a_hint_is_always_asked() -> None:
    case = long_case()
    free = np.flatnonzero(case.units[0].free)
    hint = [np.zeros(int(u.free.sum())) for u in case.units]
    place = case.units[0].names.index("w110")
    hint[0][np.flatnonzero(free == place)] = 1.0
    assert screened(case, "mask", 16, [hint]).asked[0][place]


def test_the_bound_holds_in_nineteen_of_twenty() -> None:
    """The share of unasked units with a larger effect than the sample's largest is within the bound."""
    rng = np.random.default_rng(0)
    within = []
    for trial in range(60):
        weights = {word: float(rng.standard_t(3) / 10) for word in WORDS}
        case = ToyCase((" ".join(WORDS),), seed=trial, weights=weights)
        effects, truth = screened(case, "mask", 24), screened(case, "mask", None).values[0]
        rest = case.units[0].free & ~effects.asked[0]
        within.append(float((truth[rest] > effects.largest[0]).mean()) <= effects.missed[0])
    assert np.mean(within) >= 0.88  # .95 by construction; 60 trials


def test_the_same_units_are_asked_whatever_stands_beside() -> None:
    alone = screened(long_case().subset([0]), "delete", 24)
    together = screened(long_case(), "delete", 24)
    assert np.array_equal(alone.asked[0], together.asked[0])
    assert np.array_equal(alone.values[0], together.values[0])


def test_the_explainer_reports_the_bound() -> None:
    relevance = leave_one_out(long_case(), most=24)
    assert set(relevance.extras) == {"asked", "largest_sampled", "missed"}
    assert relevance.extras["asked"].tolist()[1] == 3
    assert not leave_one_out(ToyCase(), most=24).extras
    with pytest.raises(InputError):
        leave_one_out(ToyCase(), most=0)


def test_references_and_pointing_of_long_inputs_need_few_passes() -> None:
    case = long_case()
    rankings = references(case, most=24)
    assert {"leave_one_out:mask", "leave_one_out:delete"} <= set(rankings)
    cheap, dear = long_case(), long_case()
    pointing(cheap, sizes=(1,), most=24)
    pointing(dear, sizes=(1,))
    assert passes(cheap) < 0.6 * passes(dear)


def test_references_are_chosen_by_name_and_lrp_spares_the_gradients_of_long_inputs() -> None:
    short = references(ToyCase())
    assert list(short) == ["lrp", "integrated_gradients", "gradient", "leave_one_out:delete", "leave_one_out:mask"]
    assert list(references(long_case(), most=24)) == ["lrp", "leave_one_out:delete", "leave_one_out:mask"]
    assert list(references(ToyCase(), names=("integrated_gradients",))) == ["integrated_gradients"]
    with pytest.raises(UnknownName):
        audit("bilstm", references=["shap"])


@pytest.mark.parametrize("count", [2, 4, 6])
def test_groups_of_patches_are_blocks_that_cover_the_picture(count: int) -> None:
    rows, columns = np.divmod(np.arange(64), 8)
    units = Units(
        names=tuple(str(i) for i in range(64)),
        kind="patch",
        place_kind="box",
        places=np.stack([rows, columns, rows + 1, columns + 1], axis=1).astype(float),
        special=np.zeros(64, bool),
        groups=np.arange(64),
        part=np.zeros(64, int),
        keys=np.arange(64),
        shape=(8, 8),
    )
    groups = _groups(units, np.arange(64), count)
    assert sorted(np.concatenate(groups).tolist()) == list(range(64))
    assert len(groups) == count
    for group in groups:  # a row of patches would be 8 wide and one or two high
        height, width = np.ptp(rows[group]) + 1, np.ptp(columns[group]) + 1
        assert max(height, width) <= 8 // (count // 2) * 2
        assert len(group) >= 64 // count - 4
