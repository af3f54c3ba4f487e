"""Certified results of the smoothed model: accuracy, abstention, and certified accuracy by radius."""

from __future__ import annotations

from dataclasses import dataclass

from regard.audits.conclusions.finding_means import Measured, of_mean, picked
from regard.audits.conclusions.run_facts import RunFacts


@dataclass(frozen=True, slots=True)
class Certificates:
    """Certified accuracy. certified: (radius, accuracy), sorted by radius."""

    smoothed: Measured
    abstained: Measured
    certified: tuple[tuple[float, Measured], ...]


def certificates(facts: RunFacts) -> Certificates | None:
    """Summarize the certificates of a run; None for a run without any."""
    by_radius = {float(str(s.where["radius"])): s for s in picked(facts.findings, "certified_accuracy")}
    if not by_radius:
        return None
    return Certificates(
        smoothed=of_mean(facts, picked(facts.findings, "smoothed_accuracy")),
        abstained=of_mean(facts, picked(facts.findings, "abstained")),
        certified=tuple((radius, of_mean(facts, [by_radius[radius]])) for radius in sorted(by_radius)),
    )
