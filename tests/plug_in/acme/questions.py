"""A question of the judge."""

from __future__ import annotations

from regard.judge.claim import Draft
from regard.judge.evidence import Evidence
from regard.judge.mean_tests import Mean, Test
from regard.registry import question

SHARP = 0.01


@question(rule="Yes if the largest weight is above 0.01.", not_claimed="A reason.", margins={"sharp above": SHARP})
def sharp(evidence: Evidence) -> Draft:
    """Does ACME call this map sharp?"""
    mean = Mean.of(evidence.of("largest_weight"), evidence.clusters)
    test = Test("largest weight", "above", SHARP, mean, {})
    return Draft("sharp", "holds", test.p, "ACME calls it sharp.", "ACME.sharp", tests=(test,), rests=(test,))
