"""Trust per example: whether removing the marked units changes this prediction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regard.audits.conclusions.run_facts import RunFacts
from regard.judge.evidence import evidence_of
from regard.judge.example_trust import ExampleTrust, Mark, example_trust


@dataclass(frozen=True, slots=True)
class TrustOfExample:
    """Trust in the map of one example.

    share: found effect of the map as a part of the best ranking's, 0..1; NaN if nothing has an effect (mark
    "undefined"). marked, chance, best: drop of the prediction (in probability) without the first units of attention, of
    random rankings, and of the best ranking for this example.
    """

    example: str
    mark: Mark
    share: float
    marked: float
    chance: float
    best: float


def trust_of_examples(facts: RunFacts) -> tuple[TrustOfExample, ...]:
    """Build one row per measured example for the attention in the report; empty if no rankings were compared."""
    labels = facts.manifest["model"].get("labels") or ()
    evidences = evidence_of(facts.examples, facts.findings, labels=labels)
    trust: ExampleTrust | None = example_trust(evidences[0]) if evidences else None
    if trust is None:
        return ()
    return tuple(
        TrustOfExample(
            example=evidences[0].ids[i],
            mark=trust.marks[i],
            share=float(trust.share[i]),
            marked=float(trust.marked[i]),
            chance=float(trust.chance[i]),
            best=float(trust.best[i]),
        )
        for i in np.flatnonzero(np.isfinite(trust.best))
    )
