"""Summaries of scores: their intervals know which metrics cannot be negative."""

from __future__ import annotations

import numpy as np
import pytest

from regard.audits.fold import fold
from regard.records import Score
from regard.registry import entry, names


def score(metric: str, values: list[float]) -> Score:
    ids = tuple(str(i) for i in range(len(values)))
    return Score(metric=metric, method="lrp", ids=ids, values=np.array(values), better="none")


@pytest.mark.parametrize(("metric", "negative"), [("entropy", False), ("comprehensiveness", True)])
def test_interval_of_an_amount_has_no_negative_end(metric: str, negative: bool) -> None:
    """Values that are nearly all 0: a difference may have rare values of both signs, an amount may not."""
    values = [0.01] * 38 + [0.0, 0.015]
    (row,) = fold([score(metric, values)], clusters={str(i): str(i) for i in range(40)}, classes={}, seed=0)
    assert (row.low < 0) == negative
    assert row.low <= row.estimate < 0.05 < row.high


def test_amounts_are_declared_by_the_metrics_that_return_them() -> None:
    amounts = {name for name in names("metric") if entry("metric", name).facts.get("amount")}
    assert {"entropy", "gini", "infidelity", "token_f1"} <= amounts
    assert not amounts & {"agreement", "comprehensiveness", "sufficiency", "log_odds", "monotonicity"}
