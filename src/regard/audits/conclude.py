"""Conclude: compute every number that a report shows with an interval, from a stored run and without its model.

An audit stores the conclusions with the run. Runs that have none (older ones, unfinished ones, those whose words are
replaced) get them computed when they are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from regard.audits.conclusions.accuracy import Accuracy, accuracy
from regard.audits.conclusions.attacks import AttackResults, attack_results
from regard.audits.conclusions.bands import (
    DistanceCurve,
    PointingCurves,
    RemovalCurves,
    distance_curve,
    pointing_curves,
    removal_curves,
)
from regard.audits.conclusions.certificates import Certificates, certificates
from regard.audits.conclusions.differences import Difference, differences
from regard.audits.conclusions.example_trust import TrustOfExample, trust_of_examples
from regard.audits.conclusions.explanation_drift import ExplanationDrift, explanation_drift
from regard.audits.conclusions.faithfulness import Faithfulness, faithfulness
from regard.audits.conclusions.head_gains import HeadGain, head_gains
from regard.audits.conclusions.model_works import ModelWorks, model_works
from regard.audits.conclusions.noise import AnswersUnderNoise, UnderNoise, answers_under_noise, under_noise
from regard.audits.conclusions.other_attention import OtherAttention, other_attention
from regard.audits.conclusions.rank_agreement import RankAgreement, rank_agreement
from regard.audits.conclusions.reliance import Reliance, reliance
from regard.audits.conclusions.removal_in_distribution import RemovalInDistribution, removal_in_distribution
from regard.audits.conclusions.run_facts import RunFacts
from regard.store.blobs import damaged
from regard.store.codec import from_json, to_json
from regard.store.ledger import FILE
from regard.store.run import Run
from regard.store.run_writer import RunWriter
from regard.store.shapes import Mismatch

VERSION = 6
"""Version of the stored form; conclusions of another version are recomputed."""


@dataclass(frozen=True, slots=True)
class Conclusions:
    """Conclusions of a run, one field each; None or empty if the run has no evidence."""

    model_works: ModelWorks | None
    accuracy: Accuracy | None
    differences: tuple[Difference, ...]
    faithfulness: tuple[Faithfulness, ...]
    reliance: Reliance | None
    other_attention: OtherAttention | None
    rank_agreement: RankAgreement | None
    removal_curves: tuple[RemovalCurves, ...]
    pointing_curves: tuple[PointingCurves, ...]
    distance_curve: DistanceCurve | None
    head_gains: tuple[HeadGain, ...]
    under_noise: UnderNoise | None
    answers_under_noise: AnswersUnderNoise | None
    explanation_drift: ExplanationDrift | None
    attacks: AttackResults | None
    certificates: Certificates | None
    trust_of_examples: tuple[TrustOfExample, ...]
    removal_in_distribution: RemovalInDistribution | None


def conclude(facts: RunFacts) -> Conclusions:
    """Compute all conclusions."""
    compared = faithfulness(facts)
    return Conclusions(
        model_works=model_works(facts),
        accuracy=accuracy(facts),
        differences=differences(facts),
        faithfulness=compared,
        reliance=reliance(facts, compared),
        other_attention=other_attention(facts),
        rank_agreement=rank_agreement(facts),
        removal_curves=removal_curves(facts),
        pointing_curves=pointing_curves(facts),
        distance_curve=distance_curve(facts),
        head_gains=head_gains(facts),
        under_noise=under_noise(facts),
        answers_under_noise=answers_under_noise(facts),
        explanation_drift=explanation_drift(facts),
        attacks=attack_results(facts),
        certificates=certificates(facts),
        trust_of_examples=trust_of_examples(facts),
        removal_in_distribution=removal_in_distribution(facts),
    )


class ConcludedRun(RunFacts):
    """A run with its conclusions."""

    @cached_property
    def conclusions(self) -> Conclusions:
        stored = self.run.conclusions() if isinstance(self.run, Run) else None
        if stored is None or not isinstance(self.run, Run) or stored["version"] != VERSION:
            return conclude(self)
        try:
            return from_json(Conclusions, stored.get("all"))
        except Mismatch as error:
            where = "table fact, row conclusions"
            raise damaged(self.run.path / FILE, where, error.expected, error.got, error.place) from error


def store_conclusions(writer: RunWriter) -> None:
    """Conclude a run whose summaries were just stored."""
    run = Run(writer.path)
    conclusions = conclude(RunFacts(run, run.summaries()))
    writer.note_conclusions({"version": VERSION, "all": to_json(conclusions)})
