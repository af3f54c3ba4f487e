"""Success rate and cost of adversarial attacks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from regard.desk.changes import Replaced
from regard.desk.questions import attacked
from regard.errors import Unsupported, phrase
from regard.experiments._drift import attacked_drift, one_pass_only
from regard.experiments._finding import finding
from regard.experiments._robustness import (
    MODEL,
    Chosen,
    chosen_attacks,
    distribution,
    per_example,
    sampled,
    truth,
    witness,
)
from regard.protocols import Case, Findings
from regard.records import Attacked, Floats, Json, Score, Spec, Threat
from regard.registry import InProfile, entry, experiment

BUDGETS = (5, 10, 20, 50, 100, 200, 500, 1000, 2000)


@experiment(
    question="How small a change flips the prediction, and do explanations move before it flips?",
    cite="Jin et al. 2020; Morris et al. 2020 (constraints decide the number); Croce & Hein 2020 (worst case)",
    formula="share of right answers that the attack turns, within the budget and the constraints that are printed",
    cost="up to `budget` forwards per attack and example",
    misleads="success depends on the attacker's constraints: compare only under the same ones; a failed attack "
    "proves nothing",
    profile=(
        InProfile(("quick",), 22, "attacks=2,budget=50,share=0.2"),
        InProfile(("standard",), 22, "attacks=3,budget=200,one_pass=true,share=0.15"),
        InProfile(("full",), 22, "attacks=5,budget=1000,share=0.5"),
    ),
)
def attack_success(
    case: Case,
    *,
    attacks: Chosen = 1,
    budget: int = 100,
    share: float = 0.25,
    explainers: tuple[str, ...] = (),
    one_pass: bool = False,
) -> Findings:
    """Success rate of attacks on correct predictions, with queries spent and size of the change.

    Returns, per example and attack: `attack_success` (1 or 0; NaN for an initially wrong prediction, which is not
    attacked) with the curve `success` over budgets, `attack_queries`, `attack_perturbed` (share of the words, or of the
    range of numbers) and `attack_similarity` of successes; `accuracy` under the attack; over all attacks but the
    baselines `worst_case_attack_accuracy`. For failed attacks, compares explanations as `explanation_drift` does.
    `where` holds the constraints.
    attacks: names, or the number of default attacks, with noise of the same size added. share: of the examples.
    one_pass: compare only explainers that need one pass per input.
    """
    name = "attack_success"
    positions = sampled(case, share)
    if not positions:
        return []
    part = case.subset(positions)
    classes = truth(part)
    clean = np.where(classes >= 0, distribution(part.base(), name).argmax(-1) == classes, np.nan)
    threat, scores, reasons = Threat(budget=budget), list[Score](), list[str]()
    turned: list[Floats] = []
    compared: Sequence[str] = explainers or part.explainers
    compared = one_pass_only(compared) if one_pass else compared
    for spec in chosen_attacks(part, attacks, name):
        try:
            results = attacked(part, spec, threat)
        except Unsupported as refusal:
            reasons.append(str(refusal))
            continue
        facts = entry("attack", spec.name).facts
        where: dict[str, Json] = {
            "attack": str(spec),
            "access": facts.get("access"),
            "budget": budget,
            "constraints": _allowed(spec, threat),
        }
        if facts.get("role") == "baseline":
            where["role"] = "baseline"
        success = _success(results)
        scores += _table(part, results, success, where)
        under = np.where(np.isnan(clean), np.nan, np.where(np.nan_to_num(success) > 0, 0.0, clean))
        if not np.isnan(clean).all():
            scores.append(finding("accuracy", part.ids, under, where, method=MODEL, better="higher"))
        if facts.get("role") != "baseline":
            turned.append(under)
        scores += attacked_drift(part, results, compared, where)
        scores += _shown(part, results, where)
    if not scores:
        raise Unsupported(
            phrase("errors.experiments.experiment_name", name=name),
            expected=phrase("errors.experiments.attack_that_works_here"),
            got="; ".join(reasons) or phrase("errors.common.none"),
        )
    if turned and not np.isnan(clean).all():
        worst = {"attacks_tried": len(turned), "budget": budget}
        scores.append(
            finding("worst_case_attack_accuracy", part.ids, per_example(turned), worst, method=MODEL, better="higher")
        )
    return scores


def _allowed(spec: Spec, threat: Threat) -> Json:
    """Return the constraints: those of the threat, and the ball size if there is one."""
    attack_entry = entry("attack", spec.name)
    text = "text" in str(attack_entry.facts.get("modality"))
    own = {p.name: spec.params.get(p.name, p.default) for p in attack_entry.parameters if p.name in ("eps", "norm")}
    return threat.words(text=text, more=[f"{k} {v}" for k, v in own.items()]).to_json()


def _success(results: Sequence[Attacked]) -> Floats:
    return np.array([np.nan if r.status == "skipped" else float(r.status == "success") for r in results], np.float64)


def _table(case: Case, results: Sequence[Attacked], success: Floats, where: dict[str, Json]) -> list[Score]:
    most = int(str(where["budget"]))
    grid = [float(b) for b in BUDGETS if b < most] + [float(most)]
    spent = np.array([r.queries for r in results], np.float64)
    curve = np.where(np.isnan(success)[:, None], np.nan, (success[:, None] > 0) & (spent[:, None] <= np.array(grid)))
    turned = success > 0
    scores = [
        finding(
            "attack_success",
            case.ids,
            success,
            where,
            method=MODEL,
            better="lower",
            curves={"success": curve},
            grid=tuple(grid),
        )
    ]
    kinds = {r.similarity_is for r in results}
    similarity_facts: dict[str, Json] = {**where, "similarity": ", ".join(sorted(kinds))}
    for metric, values, keep, about in (
        ("attack_queries", spent, ~np.isnan(success), where),
        ("attack_perturbed", np.array([r.perturbed for r in results]), turned, where),
        ("attack_similarity", np.array([r.similarity for r in results]), turned, similarity_facts),
    ):
        scores.append(finding(metric, case.ids, np.where(keep, values, np.nan), about, method=MODEL))
    return scores


def _shown(case: Case, results: Sequence[Attacked], where: dict[str, Json]) -> list[Score]:
    """Return the flipped example of this shard with the smallest change."""
    turned = [(r.perturbed, i) for i, r in enumerate(results) if r.status == "success" and r.example is not None]
    if not turned or where.get("role") == "baseline":
        return []
    i = min(turned)[1]
    one, attacked = case.subset([i]), results[i].example
    if attacked is None:
        return []
    after = one.variant(Replaced([replace(attacked, id=f"{case.ids[i]}~shown")]))
    facts: dict[str, Json] = {
        "attack": where["attack"],
        "queries": results[i].queries,
        "perturbed": results[i].perturbed,
    }
    return witness(one, after, 0, facts)
