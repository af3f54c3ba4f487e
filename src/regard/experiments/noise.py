"""Robustness of predictions to noise."""

from __future__ import annotations

import numpy as np

from regard.desk.changes import PerturbedBy
from regard.experiments._finding import finding
from regard.experiments._robustness import MODEL, Chosen, chosen_noises, per_example, said_by, truth, witness
from regard.measures.answer_change import Answered
from regard.measures.calibration import brier, nll
from regard.protocols import Case, Findings
from regard.records import Floats, Ints, Json, Score
from regard.registry import InProfile, experiment


@experiment(
    question="Do predictions and their calibration hold under noise?",
    cite="Hendrycks & Dietterich 2019; Guo et al. 2017; Ovadia et al. 2019",
    formula="by noise and severity: share of right answers, of changed ones, total variation of the answer, "
    "confidence, negative log-likelihood, Brier score; the worst case of each example over all noises",
    cost="1 forward per noise and severity",
    misleads="noise that changes the meaning of the text is no fair test; noise that never occurs in your data "
    "says little about use",
    profile=(
        InProfile(("quick",), 20, "noises=2"),
        InProfile(("standard",), 20, "noises=5"),
        InProfile(("full",), 20, "noises=20,severities=[1,2,3,4,5]"),
    ),
)
def noise(case: Case, *, noises: Chosen = 3, severities: tuple[int, ...] = (1, 3, 5)) -> Findings:
    """Accuracy, prediction flips and calibration under each noise and severity.

    Returns, per example, noise and severity: `accuracy` and, with labels, `nll`, `brier`; `flips` (1 if another class
    wins), `output_change` (total variation), `confidence` (of the winning class). The last three also for the original
    input (noise "none"). `worst_case_accuracy`, `worst_case_flips`: per example over all noises, by severity and over
    "all". noises: names, or the number of default noises for this modality. Compares copies with their example and
    never counts them as further examples.
    For multi-label and numeric predictions (see `where["answer"]`): `flips` (1 if any label changes, or the number
    moves by more than a quarter of the standard deviation of the model's outputs), `output_change` (mean change of the
    probabilities, or of the number in those deviations), for numbers `output_shift` (in their own units), with labels
    `absolute_error`, and `worst_case_flips`.
    """
    name = "noise"
    clean = said_by(case, name)
    if clean.kind != "classes":
        return _of_other_answers(case, clean, noises, severities)
    classes = truth(case)
    labelled = bool((classes >= 0).any())
    scores = _calibration(case, clean.rows, classes, {"noise": "none", "severity": 0})
    right: dict[int, list[Floats]] = {}
    stable_by_severity: dict[int, list[Floats]] = {}
    worst: tuple[float, int, Case, dict[str, Json]] | None = None
    for spec in chosen_noises(case, noises, name):
        for severity in severities:
            where: dict[str, Json] = {"noise": str(spec), "severity": severity}
            variant = case.variant(PerturbedBy(spec, severity))
            noisy = clean.like(variant.base())
            flips = (~clean.same(noisy)).astype(np.float64)
            stable_by_severity.setdefault(severity, []).append(1 - flips)
            scores.append(finding("flips", case.ids, flips, where, method=MODEL, better="lower"))
            scores.append(finding("output_change", case.ids, clean.change(noisy), where, method=MODEL, better="lower"))
            scores += _calibration(case, noisy.rows, classes, where)
            if labelled:
                hits = _hits(noisy.rows, classes)
                right.setdefault(severity, []).append(hits)
                scores.append(finding("accuracy", case.ids, hits, where, method=MODEL, better="higher"))
            drop = variant.base().probability - case.base().probability
            if flips.any() and (worst is None or drop.min() < worst[0]):
                worst = float(drop.min()), int(drop.argmin()), variant, where
    scores += _worst_cases(case, right, "worst_case_accuracy", _hits(clean.rows, classes))
    scores += _worst_cases(
        case, {s: [1 - k for k in rows] for s, rows in stable_by_severity.items()}, "worst_case_flips", None
    )
    return scores + (witness(case, worst[2], worst[1], worst[3]) if worst else [])


def _of_other_answers(case: Case, clean: Answered, noises: Chosen, severities: tuple[int, ...]) -> list[Score]:
    """Score multi-label and numeric predictions: how far they move, and their error."""
    about: dict[str, Json] = {"answer": clean.kind}
    truth = _numbers(case) if clean.kind == "number" else np.full(len(case.ids), np.nan)
    scores = _error(case, clean, truth, {**about, "noise": "none", "severity": 0})
    flips_by_severity: dict[int, list[Floats]] = {}
    worst: tuple[float, int, Case, dict[str, Json]] | None = None
    for spec in chosen_noises(case, noises, "noise"):
        for severity in severities:
            where: dict[str, Json] = {**about, "noise": str(spec), "severity": severity}
            variant = case.variant(PerturbedBy(spec, severity))
            noisy = clean.like(variant.base())
            change, flips = clean.change(noisy), (~clean.same(noisy)).astype(np.float64)
            flips_by_severity.setdefault(severity, []).append(flips)
            scores.append(finding("flips", case.ids, flips, where, method=MODEL, better="lower"))
            scores.append(finding("output_change", case.ids, change, where, method=MODEL, better="lower"))
            if clean.kind == "number":
                scores.append(
                    finding("output_shift", case.ids, change * clean.spread, where, method=MODEL, better="lower")
                )
            scores += _error(case, noisy, truth, where)
            if flips.any() and (worst is None or change.max() > worst[0]):
                worst = float(change.max()), int(change.argmax()), variant, where
    scores += _worst_cases(case, flips_by_severity, "worst_case_flips", None)
    return scores + (witness(case, worst[2], worst[1], worst[3]) if worst else [])


def _numbers(case: Case) -> Floats:
    """Return (examples,) the labelled number; NaN without one."""
    labels = [e.label for e in case.examples]
    return np.array([float(v) if isinstance(v, int | float) and not isinstance(v, bool) else np.nan for v in labels])


def _error(case: Case, said: Answered, wanted: Floats, where: dict[str, Json]) -> list[Score]:
    off = np.abs(said.rows[:, 0] - wanted)
    return (
        [] if np.isnan(off).all() else [finding("absolute_error", case.ids, off, where, method=MODEL, better="lower")]
    )


def _hits(said: Floats, classes: Ints) -> Floats:
    """Return (examples,) 1 where the labelled class wins; NaN without a label."""
    return np.where(classes >= 0, said.argmax(-1) == classes, np.nan)


def _calibration(case: Case, said: Floats, classes: Ints, where: dict[str, Json]) -> list[Score]:
    labelled = classes >= 0
    scores = [finding("confidence", case.ids, said.max(-1), where, method=MODEL)]
    for metric, measure in (("nll", nll), ("brier", brier)):
        values = np.where(labelled, measure(said, np.where(labelled, classes, 0)), np.nan)
        scores += [finding(metric, case.ids, values, where, method=MODEL, better="lower")] if labelled.any() else []
    return scores


def _worst_cases(case: Case, rows: dict[int, list[Floats]], metric: str, clean: Floats | None) -> list[Score]:
    """Return worst cases by severity and over all: correct means correct under every noise and without."""
    if not rows:
        return []
    higher = metric.endswith("accuracy")
    sign = 1.0 if higher else -1.0
    columns = {str(s): some for s, some in rows.items()} | {"all": [r for some in rows.values() for r in some]}
    count = len(next(iter(rows.values())))
    return [
        finding(
            metric,
            case.ids,
            sign * per_example([sign * r for r in (*some, *([] if clean is None else [clean]))]),
            {"severity": severity if severity == "all" else int(severity), "noises_tried": count},
            method=MODEL,
            better="higher" if higher else "lower",
        )
        for severity, some in columns.items()
    ]
