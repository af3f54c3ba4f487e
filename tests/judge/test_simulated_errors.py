"""A slice of benchmarks/coverage.py: wrong claims, coverage, looks and ranges, with generous Monte Carlo bounds."""

from __future__ import annotations

import pytest
from benchmarks.bounded_looks import bounded_looks
from benchmarks.coverage import by_looks, by_size, designs, measured, ranges, truths

NOISE = 0.045
"""Of a rate of .05 in 120 runs: more than two standard errors, for the largest of many."""


def test_claims_at_the_threshold_are_rarely_wrong_and_intervals_cover() -> None:
    rows = measured(120, seed=7, fast=True)
    assert len(rows) == len(truths()[::4]) * len(designs(True))
    for row in rows:
        assert max(float(str(row["claims above"])), float(str(row["claims below"]))) <= 0.05 + NOISE, row
        coverage = row["coverage"]
        assert isinstance(coverage, dict)
        assert float(str(coverage["judge"])) >= 0.95 - NOISE, row


def test_looking_often_does_not_add_errors() -> None:
    null, _, clear, clearer = by_looks(60, seed=8, looks=(16, 32, 64, 128))
    assert float(str(null["claimed"])) <= 0.05 + 2 * NOISE
    assert float(str(clear["claimed"])) > 0.9
    assert float(str(clearer["examples"])) < float(str(clear["examples"])) < 100


def test_looks_that_cannot_decide_leave_their_level_to_later_ones() -> None:
    rows = bounded_looks(60, seed=12, sizes=(200,))
    for row in rows:
        if row["claim is"] == "wrong":
            assert float(str(row["low"])) <= 0.05, row
    small = {
        str(row["spending"]): float(str(row["rate"]))
        for row in rows
        if row["margin"] == 0.02 and row["values"] == "small"
    }
    assert small["deciding looks"] > small["all looks"] + 0.5


@pytest.mark.parametrize("sizes", [(40, 160)])
def test_more_examples_settle_more(sizes: tuple[int, int]) -> None:
    rows = by_size(6, seed=9, sizes=sizes)
    for few, many in zip(rows[::2], rows[1::2], strict=True):
        assert float(str(many["settled"])) >= float(str(few["settled"])) - 0.17, (few, many)
        assert float(str(many["wrong"])) <= 0.17, many


def test_the_range_of_examples_holds_what_settles_it() -> None:
    assert float(str(ranges(25, seed=10, most=3000)["inside"])) >= 0.65
