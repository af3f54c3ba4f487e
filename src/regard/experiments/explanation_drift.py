"""Drift of explanations under noise that keeps the prediction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from regard.desk.changes import PerturbedBy, Replaced
from regard.desk.questions import UnitOrigins
from regard.errors import Unsupported, phrase
from regard.experiments._drift import LEAST_CHANGE, QUANTITIES, drift, one_pass_only
from regard.experiments._finding import finding
from regard.experiments._robustness import MODEL, Chosen, chosen_noises, said_by, sampled
from regard.protocols import Case, Findings
from regard.records import Bools, Floats, Ints, Json, Relevance, Score, Spec
from regard.registry import HEADLINE, InProfile, build, experiment

FAITHFUL = "comprehensiveness"


@experiment(
    question="Do explanations stay stable under noise that keeps the prediction?",
    cite="Alvarez-Melis & Jaakkola 2018; Ghorbani et al. 2019; Agarwal et al. 2022 (per change of the output)",
    formula="on words that both texts have: Spearman's rho, overlap of the first words, Jensen-Shannon divergence, "
    "shift of the centre of mass; the divergence over the change of the output, and minus that under another seed",
    cost="every explainer once per noise and severity, and once more with another seed",
    misleads="an explanation that ignores the input (uniform, position) never moves: stable does not mean faithful",
    profile=(
        InProfile(HEADLINE, 21, 'explainers=["attention"],noises=1,share=1.0'),
        InProfile(("quick",), 21, "noises=1,share=0.2"),
        InProfile(("standard",), 21, "noises=3,severities=[1,3,5],share=0.15,others=0.34,removed_at=[3]"),
        InProfile(("full",), 21, "noises=6,severities=[1,3,5]"),
    ),
)
def explanation_drift(
    case: Case,
    *,
    explainers: tuple[str, ...] = (),
    noises: Chosen = 2,
    severities: tuple[int, ...] = (3,),
    share: float = 0.25,
    others: float = 1.0,
    removed_at: tuple[int, ...] = (),
) -> Findings:
    """Drift of each explanation under noise that keeps the prediction.

    Returns, per example, explainer, noise and severity, NaN where the prediction changed (`prediction_kept` says how
    often it did not): `explanation_rank`, `explanation_top_k`, `explanation_jsd`, `explanation_centre`,
    `explanation_unaligned` (see `_drift.moved`); `explanation_per_change`, the divergence over the total variation of
    the answer (at least 0.02); `explanation_excess`, the divergence minus the one between two seeds of the explainer on
    the same input; `explanation_seed_rank` and `explanation_seed_jsd` are these; and `comprehensiveness` of the
    explanation of the noisy input there. A number that moves by at most a quarter of the deviation of the model's
    outputs counts as the same prediction, and labels where no yes or no changes. explainers: those of the audit by
    default. share: of the examples, by lot. others: below 1, the share of those examples on which explainers beside
    attention are asked, and only those that need one pass. removed_at: severities at which `comprehensiveness` is
    measured, which costs five removals for each explanation; all of them by default.
    """
    name = "explanation_drift"
    if not any((units.groups[units.free] >= 0).any() for units in case.units):
        raise Unsupported(
            "experiment explanation_drift",
            expected=phrase("errors.experiments.units_with_places"),
            got=phrase("errors.common.none"),
            remedy=phrase("errors.experiments.encode_with_spans"),
        )
    positions = sampled(case, share)
    if not positions:
        return []
    part = case.subset(positions)
    names: Sequence[str] = explainers or part.explainers
    if others == 1:
        return _drifts(part, names, chosen_noises(case, noises, name), severities, removed_at or severities)
    names = one_pass_only(names)
    # attention, on which the verdict rests, on all of them
    groups = (
        (part, [n for n in names if _is_attention(n)]),
        (case.subset(sampled(case, share * others)), [n for n in names if not _is_attention(n)]),
    )
    scores: list[Score] = []
    refusals: list[Unsupported] = []
    for examples, group in groups:
        if not group or not examples.ids:
            continue
        try:
            results = _drifts(examples, group, chosen_noises(case, noises, name), severities, removed_at or severities)
        except Unsupported as refusal:
            refusals.append(refusal)
            continue
        scores += [s for s in results if s.method != MODEL] if scores else results
    if refusals and not scores:
        raise refusals[0]
    return scores


def _is_attention(name: str) -> bool:
    return name.partition(":")[0] == "attention"


def _drifts(
    part: Case, explainers: Sequence[str], noises: Sequence[Spec], severities: Sequence[int], removed_at: Sequence[int]
) -> list[Score]:
    """Drift of these explainers on these examples under every noise and severity."""
    clean = said_by(part, "explanation_drift")
    scores: list[Score] = []
    methods = dict(_supported(part, explainers))
    if not methods:
        raise Unsupported(
            "experiment explanation_drift", expected=phrase("errors.experiments.explainer_that_works_here"), got="none"
        )
    seeds = {method: _other_seed(part, method, relevance) for method, relevance in methods.items()}
    for method, values in seeds.items():
        for quantity in ("rank", "jsd"):
            better = QUANTITIES[f"explanation_{quantity}"]
            column = values[f"explanation_{quantity}"]
            scores.append(Score(f"explanation_seed_{quantity}", method, part.ids, column, better))
    for spec in noises:
        for severity in severities:
            where: dict[str, Json] = {"noise": str(spec), "severity": severity}
            variant = part.variant(PerturbedBy(spec, severity))
            noisy = clean.like(variant.base())
            same_prediction = clean.same(noisy)
            scores.append(
                finding(
                    "prediction_kept",
                    part.ids,
                    same_prediction.astype(np.float64),
                    where,
                    method=MODEL,
                    better="higher",
                )
            )
            change = clean.change(noisy)
            # under other names, so that an explainer that draws does not draw the same numbers and look stable
            fresh = part.variant(Replaced([replace(e, id=f"{e.id}~{spec}~{severity}") for e in variant.examples]))
            origins = variant.ask([UnitOrigins(name) for name in variant.ids])
            for method, relevance in methods.items():
                scores += _under(
                    part,
                    fresh,
                    relevance=relevance,
                    origins=origins,
                    kept=same_prediction,
                    change=change,
                    seed=seeds[method],
                    where=where,
                )
                if severity in removed_at:
                    scores.append(_removed(part, fresh, method, same_prediction, where))
    return scores


def _supported(case: Case, names: Sequence[str]) -> Iterator[tuple[str, Relevance]]:
    for method in names:
        try:
            yield method, replace(case.relevance(method), method=method)
        except Unsupported:  # the audit itself says why
            continue


def _other_seed(case: Case, method: str, relevance: Relevance) -> dict[str, Floats]:
    """Rename the inputs, which reseeds the explainer: the resulting drift is the explainer's own variance."""
    again = case.variant(Replaced([replace(e, id=f"{e.id}~again") for e in case.examples]))
    other = again.relevance(method)
    places = [np.arange(len(units)) for units in case.units]
    return drift(relevance, other, case.units, places, np.ones(len(case.ids), np.bool_))


def _under(
    case: Case,
    variant: Case,
    relevance: Relevance,
    origins: Sequence[Ints],
    kept: Bools,
    change: Floats,
    seed: Mapping[str, Floats],
    where: dict[str, Json],
) -> list[Score]:
    method = relevance.method
    after = variant.relevance(method)
    values = drift(relevance, after, case.units, origins, kept)
    scores = [finding(q, case.ids, values[q], where, method=method, better=better) for q, better in QUANTITIES.items()]
    apart = values["explanation_jsd"]
    relative = apart / np.maximum(change, LEAST_CHANGE)
    scores.append(finding("explanation_per_change", case.ids, relative, where, method=method, better="lower"))
    scores.append(
        finding("explanation_excess", case.ids, apart - seed["explanation_jsd"], where, method=method, better="lower")
    )
    return scores


def _removed(case: Case, variant: Case, method: str, kept: Bools, where: dict[str, Json]) -> Score:
    """Compute comprehensiveness of the noisy inputs' explanations; NaN where the prediction changed."""
    operator = case.operators[0]
    faithful = np.full(len(case.ids), np.nan)
    if kept.any():  # where the answer is another one, there is nothing left to lose, and nothing is removed
        same = variant.subset(np.flatnonzero(kept).tolist())
        metric = build(Spec("metric", FAITHFUL, {"operator": operator}))
        faithful[kept] = metric(same, same.relevance(method)).values
    return finding(FAITHFUL, case.ids, faithful, {**where, "operator": operator}, method=method, better="higher")
