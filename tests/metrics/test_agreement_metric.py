from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kendalltau

from regard.errors import UnknownName
from regard.explainers.input_x_gradient import input_x_gradient
from regard.explainers.leave_one_out import leave_one_out
from regard.explainers.random import random
from regard.measures.agreement import null_sd
from regard.measures.summarise import role_of, summarise
from regard.metrics.agreement import agreement
from regard.records import Relevance
from regard.registry import entry
from regard.testing.toy import TEXTS, ToyCase


def test_it_is_kendall_over_the_free_units_by_magnitude() -> None:
    case = ToyCase()
    got = agreement(case, random(case))
    for i, units in enumerate(case.units):
        x, y = random(case)[i][units.free], np.abs(case.exact(i))[units.free]
        want = kendalltau(x, y).statistic if len(x) > 1 else np.nan
        np.testing.assert_allclose(got.values[i], want, atol=1e-12)
    assert got.where == {"other": "leave_one_out", "measure": "kendall"}


def test_null_spread_and_length_travel_with_the_examples() -> None:
    case = ToyCase()
    got = agreement(case, random(case))
    lengths = np.array([int(u.free.sum()) for u in case.units])
    np.testing.assert_array_equal(got.curves["length"][:, 0], lengths)
    np.testing.assert_array_equal(got.curves["null_sd"][:, 0], null_sd(lengths))
    shown = summarise(got, list(case.ids), seed=0, role="baseline")
    assert shown.where["null_sd"] == pytest.approx(np.nanmean(null_sd(lengths)))
    assert shown.undefined == 2, "one word and no word rank nothing"


def test_floor_and_ceiling_are_in_the_phone_book() -> None:
    facts = entry("metric", "agreement").facts
    assert role_of("random", facts) == "baseline"
    assert role_of("input_x_gradient", facts) == "ceiling"
    case = ToyCase(
        tuple(" ".join(f"{'abcdefgh'[(i * j) % 8] * (1 + (i + j) % 9)}" for j in range(12)) for i in range(30))
    )
    ceiling = agreement(case, input_x_gradient(case)).values
    floor = agreement(case, random(case)).values
    assert np.nanmean(ceiling) == pytest.approx(1), "on a linear model gradient and removal say the same"
    assert abs(np.nanmean(floor)) < 4 * float(null_sd(12)) / 30**0.5


def test_signs_are_ignored_unless_kept() -> None:
    case = ToyCase()
    flipped = Relevance.of("flipped", case.ids, [-row for row in leave_one_out(case)], signed=True)
    assert np.nanmin(agreement(case, flipped).values) == pytest.approx(1)
    kept = agreement(case, flipped, sign="keep")
    assert np.nanmax(kept.values) == pytest.approx(-1)
    assert kept.where["sign"] == "keep"


def test_oneself_is_no_witness() -> None:
    case = ToyCase()
    assert np.isnan(agreement(case, leave_one_out(case)).values).all()
    masked = agreement(case, leave_one_out(case), other="leave_one_out:operator=mask")
    assert not np.isnan(masked.values[: len(TEXTS) - 2]).all(), "another operator is another method"


@pytest.mark.parametrize("measure", ["spearman", "weighted_kendall", "top_k", "rbo"])
def test_other_measures_have_a_null_too(measure: str) -> None:
    case = ToyCase()
    got = agreement(case, random(case), measure=measure, k=2)  # type: ignore[arg-type]
    assert np.isfinite(got.curves["null_sd"][0, 0])
    assert ("chance" in got.curves) == (measure in ("top_k", "rbo"))
    if measure == "top_k":
        assert got.where["k"] == 2
        assert got.curves["chance"][0, 0] == pytest.approx(2 / 8, abs=0.05)


def test_an_unknown_other_is_named_with_its_neighbours() -> None:
    case = ToyCase()
    with pytest.raises(UnknownName, match="leave_one_out"):
        agreement(case, random(case), other="leave_one_ut")
