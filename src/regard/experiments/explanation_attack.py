"""Attacks that move the explanation and keep the prediction."""

from __future__ import annotations

import numpy as np

from regard.desk.questions import attacked
from regard.errors import Unsupported, phrase
from regard.experiments._drift import attacked_drift
from regard.experiments._finding import finding
from regard.experiments._robustness import modality, sampled
from regard.protocols import Case, Findings
from regard.records import Json, Score, Spec, Threat
from regard.registry import InProfile, entry, experiment, names


@experiment(
    question="How far can an attack move the explanation while the prediction stays?",
    cite="Ghorbani et al. 2019; Sinha et al. 2021",
    formula="substitutions of words, or steps in a ball, that take mass off the most relevant units, the class kept",
    cost="up to `budget` explanations per explainer and example",
    misleads="if a substitute changes the meaning of the text, the explanation should move with it",
    profile=(
        InProfile(("standard",), 24, 'explainers=["attention","input_x_gradient"],share=0.05'),
        InProfile(("full",), 24, "budget=200"),
    ),
)
def explanation_attack(
    case: Case, *, explainers: tuple[str, ...] = (), budget: int = 50, share: float = 0.1
) -> Findings:
    """Success rate of attacks on the explanation, and its drift under them.

    Returns, per example and explainer: `explanation_attack_success` (1 if at most half of the top units stay on top;
    NaN if not attacked), `explanation_attack_queries`, and the drift of `explanation_drift` under the attack. Texts:
    attacks every explainer itself (`aimed_at`). Images, series, rows: attacks input x gradient and measures the other
    explainers. explainers: by default those of the audit without baselines.
    """
    name = "explanation_attack"
    text = modality(case, name) == "text"
    positions = sampled(case, share)
    if not positions:
        return []
    part = case.subset(positions)
    methods = [m for m in explainers or part.explainers if explainers or not _is_baseline(m)]
    aims = [(m, Spec("attack", "explanation_words", {"explainer": m})) for m in methods]
    scores, reasons = list[Score](), list[str]()
    for aim, spec in aims if text else [("input_x_gradient", Spec("attack", "explanation_pgd"))]:
        try:
            results = attacked(part, spec, Threat(budget=budget))
        except Unsupported as refusal:
            reasons.append(str(refusal))
            continue
        where: dict[str, Json] = {"attack": spec.name, "aimed_at": aim, "budget": budget}
        success = np.array([np.nan if r.status == "skipped" else float(r.status == "success") for r in results])
        spent = np.where(np.isnan(success), np.nan, [r.queries for r in results])
        scores.append(finding("explanation_attack_success", part.ids, success, where, method=aim, better="lower"))
        scores.append(finding("explanation_attack_queries", part.ids, spent, where, method=aim))
        scores += attacked_drift(part, results, [aim] if text else methods, where)
    if not scores:
        raise Unsupported(
            phrase("errors.experiments.experiment_name", name=name),
            expected=phrase("errors.experiments.explanation_that_can_attacked"),
            got="; ".join(reasons),
        )
    return scores


def _is_baseline(method: str) -> bool:
    name = Spec.parse("explainer", method).name
    return name in names("explainer") and entry("explainer", name).facts.get("role") == "baseline"
