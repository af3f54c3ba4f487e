"""Axes of the curves in a report: every quantity has words, and only shares of units are called so."""

from __future__ import annotations

import numpy as np
import pytest

from regard.present.messages.messages import known
from regard.records import Spec
from regard.registry import build, names
from regard.testing.toy import ToyCase


@pytest.mark.parametrize("name", names("metric"))
def test_curves_of_a_metric_have_named_axes(name: str) -> None:
    case = ToyCase(("wonderful film with a dull end", "not bad not good just long"))
    score = build(Spec("metric", name))(case, case.relevance("leave_one_out"))
    for curve, values in score.curves.items():
        if len(score.grid) > 1 and np.shape(values)[-1] == len(score.grid):
            assert known(f"removal_curves.y.{curve}")
            if "operator" not in score.where or max(score.grid) > 1:
                assert known(f"removal_curves.x.{curve}"), "no share of units"
