"""A map that depends on no unit is still a map where it differs between examples of one length."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made_evidence import made

from regard.judge.map_exists import there
from regard.records import Message


@pytest.mark.parametrize(
    ("varies", "rule"), [(None, "P.locked"), (0.0, "P.locked"), (0.04, "P.locked"), (0.6, "P.there")]
)
def test_locked_maps_are_judged_by_their_difference_between_examples(varies: float | None, rule: str) -> None:
    evidence = made(locked=0.0, noise=0.01)
    if varies is not None:
        evidence = replace(evidence, single={**evidence.single, "varies": np.full(len(evidence), varies)})
    draft, _ = there(evidence)
    assert draft.rule == rule
    assert draft.answer == ("holds" if rule == "P.there" else "fails")


def test_a_defect_of_constant_weights_yields_to_maps_that_differ() -> None:
    evidence = replace(made(locked=0.0, noise=0.01), defects=(("constant", Message("defect.constant")),))
    assert there(evidence)[0].rule == "P.constant"
    moving = replace(evidence, single={**evidence.single, "varies": np.full(len(evidence), 0.6)})
    assert there(moving)[0].rule == "P.there"
    by_units = replace(made(locked=0.5), defects=evidence.defects)
    assert there(by_units)[0].rule == "P.there", "the audited row depends on the units, whatever the others do"
    one_key = replace(moving, defects=(("one_key", Message("defect.one_key")),))
    assert there(one_key)[0].rule == "P.one_key"
