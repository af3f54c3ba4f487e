"""Soft erasure, polarity and the gap between removal orders: definitions spelled out and known answers."""

from __future__ import annotations

import numpy as np
import pytest

from regard.errors import InputError
from regard.metrics.deletion_area import deletion_area
from regard.metrics.insertion_area import insertion_area
from regard.metrics.polarity_violation import polarity_violation
from regard.metrics.removal_gap import removal_gap
from regard.metrics.soft_comprehensiveness import soft_comprehensiveness
from regard.metrics.soft_sufficiency import soft_sufficiency
from regard.records import Relevance
from regard.testing.metric_rules import planted
from regard.testing.toy import TEXTS, ToyCase

SOFT = {"comprehensiveness": soft_comprehensiveness, "sufficiency": soft_sufficiency}


def case_of_all_words() -> ToyCase:
    return ToyCase(TEXTS[:-1], lean=-0.4)


def flat(case: ToyCase, value: float) -> Relevance:
    return Relevance.of("planted", case.ids, [np.where(u.free, value, 0.0) for u in case.units], signed=True)


def everything_removed(case: ToyCase) -> np.ndarray:
    return case.base().probability - case.removed([u.free[None] for u in case.units], "delete").probability


def test_soft_metrics_follow_the_formula() -> None:
    case, draws = case_of_all_words(), 4
    truth = planted(case, "truth")
    largest = np.maximum(0.0, everything_removed(case))
    for i, units in enumerate(case.units):
        row = np.maximum(truth[i][units.free], 0.0)
        marked = np.zeros((draws, len(units)), bool)
        marked[:, units.free] = case.rng(i, "soft erasure", draws).random((draws, int(units.free.sum()))) < (
            row / row.max()
        )
        for name, drop in (("comprehensiveness", marked), ("sufficiency", units.free & ~marked)):
            others = [np.zeros((0, len(u)), bool) for u in case.units]
            others[i] = drop
            falls = np.maximum(0.0, case.base().probability[i] - case.removed(others, "delete").probability)
            share = np.minimum(1.0, falls / largest[i]).mean() if largest[i] > 0 else np.nan
            expected = share if name == "comprehensiveness" else 1 - share
            assert SOFT[name](case, truth, draws=draws).values[i] == pytest.approx(expected, nan_ok=True)


def test_a_flat_map_removes_and_keeps_everything() -> None:
    case = case_of_all_words()
    defined = everything_removed(case) > 0
    assert defined.any()
    for metric in SOFT.values():
        values = metric(case, flat(case, 1.0)).values
        np.testing.assert_array_equal(values[defined], 1.0)
        assert np.isnan(values[~defined]).all()


def test_only_soft_metrics_see_the_amounts() -> None:
    case = case_of_all_words()
    spread = Relevance.of(
        "planted", case.ids, [np.where(u.free, np.arange(len(u)), 0.0) for u in case.units], signed=True
    )
    cubed = Relevance.of("planted", case.ids, [row**3 for row in spread], signed=True)
    values = [soft_comprehensiveness(case, relevance).values for relevance in (spread, cubed)]
    assert not np.array_equal(*values, equal_nan=True)
    np.testing.assert_array_equal(removal_gap(case, spread).values, removal_gap(case, cubed).values)


def test_signs_of_the_truth_are_never_violated_and_of_its_negative_always() -> None:
    case = case_of_all_words()
    truth = planted(case, "truth")
    negative = Relevance.of("planted", case.ids, [-row for row in truth], signed=True)
    for top in (1, 3):
        right, wrong = (polarity_violation(case, r, top=top).values for r in (truth, negative))
        np.testing.assert_array_equal(right[np.isfinite(right)], 0.0)
        np.testing.assert_array_equal(wrong[np.isfinite(wrong)], 1.0)
        assert np.isfinite(right).any()


def test_an_unsigned_map_violates_where_it_marks_counter_evidence() -> None:
    case = ToyCase(("wonderful film with a dull end",))
    units, sign = case.units[0], 1 if case.targets[0] else -1
    against = int(np.argmin(sign * np.where(units.free, case.word_weights(0), 0.0)))
    rows = [np.where(np.arange(len(units)) == against, 1.0, 0.0)]
    assert polarity_violation(case, Relevance.of("planted", case.ids, rows, signed=False)).values.tolist() == [1.0]


def test_no_relevance_and_no_effect_are_undefined() -> None:
    case = case_of_all_words()
    assert np.isnan(polarity_violation(case, flat(case, 0.0)).values).all()


def test_the_gap_is_insertion_minus_deletion_and_changes_sign_with_the_order() -> None:
    case = case_of_all_words()
    truth = planted(case, "truth")
    gap = removal_gap(case, truth).values
    np.testing.assert_allclose(gap, insertion_area(case, truth).values - deletion_area(case, truth).values, atol=1e-12)
    assert removal_gap(case, planted(case, "inverse")).values.mean() < 0 < gap.mean()


def test_a_bad_number_is_refused() -> None:
    case = case_of_all_words()
    truth = planted(case, "truth")
    with pytest.raises(InputError, match="top"):
        polarity_violation(case, truth, top=0)
    with pytest.raises(InputError, match="draws"):
        soft_sufficiency(case, truth, draws=0)
