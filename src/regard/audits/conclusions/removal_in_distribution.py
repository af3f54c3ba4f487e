"""Removal check: does it stay within the training distribution, and how much does that change the order of methods?"""

from __future__ import annotations

from dataclasses import dataclass

from regard.audits.conclusions.finding_means import picked
from regard.audits.conclusions.rank_stability import stabilities
from regard.audits.conclusions.run_facts import RunFacts
from regard.records import Score


@dataclass(frozen=True, slots=True)
class MaskedInputs:
    """The test of one subject (model, twin) with a share of the units masked; see `masking_in_distribution`.

    n: masked inputs; references: validation inputs. corrected: p after Holm over the shares. rejected: the share of the
    inputs that are unusual (p at most 0.05), with its interval.
    """

    subject: str
    masked: str
    n: int
    references: int
    p: float
    corrected: float
    rejected: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class TwinFigures:
    """Agreement of the masked twin with the model on `n` whole validation inputs, with its interval."""

    agreement: float
    low: float
    high: float
    n: int
    twin_accuracy: float
    model_accuracy: float


@dataclass(frozen=True, slots=True)
class OrderChange:
    """Kendall's tau between the orders of the methods by one metric under two operators, with its interval.

    best: the best method under either. same_best: the share of resamples in which it is one.
    """

    metric: str
    operators: tuple[str, str]
    methods: int
    tau: float
    low: float
    high: float
    n: int
    best: tuple[str, str]
    same_best: float


@dataclass(frozen=True, slots=True)
class RemovalInDistribution:
    """All removal checks of a run; empty without evidence."""

    masked: tuple[MaskedInputs, ...]
    twin: TwinFigures | None
    orders: tuple[OrderChange, ...]


def removal_in_distribution(facts: RunFacts) -> RemovalInDistribution | None:
    """Summarize the removal checks; None for a run with neither the test nor scores under two operators."""
    masked = tuple(_masked(score) for score in picked(facts.findings, "masked_p"))
    twins = [_twin(score) for score in picked(facts.findings, "twin_agreement")]
    clusters = {name: str(row.get("cluster") or name) for name, row in facts.by_id.items()}
    orders = tuple(
        OrderChange(
            metric=between.metric,
            operators=between.operators,
            methods=len(between.methods),
            tau=between.stability.tau,
            low=between.stability.low,
            high=between.stability.high,
            n=between.stability.n,
            best=between.best,
            same_best=between.stability.same_best,
        )
        for between in stabilities(facts.scores, facts.summaries, clusters)
    )
    if not masked and not orders:
        return None
    return RemovalInDistribution(masked=masked, twin=twins[0] if twins else None, orders=orders)


def _masked(score: Score) -> MaskedInputs:
    return MaskedInputs(
        subject=str(score.where["subject"]),
        masked=str(score.where["masked"]),
        n=len(score.ids),
        references=int(str(score.where["references"])),
        p=_number(score, "p"),
        corrected=_number(score, "corrected"),
        rejected=_number(score, "rejected"),
        low=_number(score, "rejected_low"),
        high=_number(score, "rejected_high"),
    )


def _twin(score: Score) -> TwinFigures:
    return TwinFigures(
        agreement=_number(score, "mean"),
        low=_number(score, "low"),
        high=_number(score, "high"),
        n=int(str(score.where["n"])),
        twin_accuracy=_number(score, "twin_accuracy"),
        model_accuracy=_number(score, "model_accuracy"),
    )


def _number(score: Score, name: str) -> float:
    return float(str(score.where[name]))
