"""Exclusivity holds where it is proved that no other attention would do, whatever is known about distances."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made_evidence import made

from regard.judge.agreement import exclusive


@pytest.mark.parametrize(
    ("linear", "proof", "answer"),
    [(1.0, None, "holds"), (0.0, None, "uninformative"), (0.0, 1.0, "holds"), (0.0, 0.0, "uninformative")],
)
def test_holds_needs_a_proof_for_every_example(linear: float, proof: float | None, answer: str) -> None:
    evidence = made(displaceable=0.0)
    single = {**evidence.single, "linear": np.full(len(evidence), linear)}
    if proof is not None:
        single["displaceable_exact"] = np.full(len(evidence), proof)
    assert exclusive(replace(evidence, single=single)).answer == answer
