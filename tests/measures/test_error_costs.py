"""Costs of errors against counts by hand."""

from __future__ import annotations

import pytest

from regard.measures.error_costs import error_costs


def test_costs_by_group_are_those_counted_by_hand() -> None:
    labels = ["bad", "bad", "good", "good", "good", "good"]
    predictions = ["bad", "good", "good", "bad", "good", "good"]
    groups = ["x", "x", "x", "y", "y", "y"]
    every, x, y = error_costs(labels, predictions, {("bad", "good"): 5.0}, groups=groups)
    assert (every.group, every.n, x.n, y.n) == ("all", 6, 3, 3)
    assert every.cost.estimate == pytest.approx((5 + 1) / 6)
    assert x.cost.estimate == pytest.approx(5 / 3)
    assert y.cost.estimate == pytest.approx(1 / 3)
    assert every.errors.estimate == pytest.approx(2 / 6)
    assert every.errors.low < 2 / 6 < every.errors.high
    assert every.constant == pytest.approx(4 / 6)  # always "bad" costs 4; always "good" would cost 10
    assert (x.constant, y.constant) == (pytest.approx(1 / 3), pytest.approx(1.0))


def test_a_label_and_a_prediction_of_every_pair_may_cost() -> None:
    (row,) = error_costs(["a", "b"], ["a", "a"], {("a", "a"): 0.5, ("b", "a"): 2.0})
    assert row.cost.estimate == pytest.approx(1.25)
