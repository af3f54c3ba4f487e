"""Exclusivity holds where it is proved that no other attention would do, whatever is known about distances."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from made_evidence import made

from regard.judge.agreement import exclusive
from regard.judge.claim import settled


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


def test_an_open_question_makes_no_claim_and_says_how_many_examples_would_decide() -> None:
    """A claim that does not pass would count against the other questions, and its number of examples is infinite."""
    evidence = made(20, displaceable=0.1)
    draft = exclusive(evidence)
    assert (draft.answer, draft.rule) == ("uninformative", "Q4.open")
    assert math.isnan(draft.p)
    (verdict,) = settled([draft])
    assert verdict.decides_at is not None
    assert verdict.decides_at > len(evidence)
    searched = {**evidence.single, "linear": np.zeros(len(evidence))}
    (verdict,) = settled([exclusive(replace(evidence, single=searched))])
    assert verdict.decides_at is None, "a search proves nothing, however many examples there are"
