"""Masking check: do masked inputs look like the training inputs, and can the masked twin replace the model?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regard.desk.case import DeskCase
from regard.desk.changes import MaskTuned, reads_masks
from regard.desk.desk import Desk
from regard.desk.twin_check import twin_check, validation_examples
from regard.errors import Unsupported, phrase
from regard.experiments._finding import finding
from regard.measures.in_distribution import LEVEL, input_p_values
from regard.measures.intervals import clopper_pearson
from regard.measures.keyed_random import keyed_rng
from regard.measures.ranking import order
from regard.measures.significance import holm
from regard.models.ask.last_layer import last_layer_inputs
from regard.protocols import Encoded, Findings, Model, Study
from regard.records import Example, Floats, Json, Relevance, Score
from regard.registry import InProfile, experiment

REFERENCES = 400
"""Maximum validation inputs; half of them fit the distribution of every feature, half calibrate."""
EXAMPLES = 100
FEWEST = 40


@experiment(
    question="Are masked inputs like those that the model learned from?",
    needs=("removal",),
    scope="study",
    cite="Madsen et al. 2024; Heller et al. 2022 (MaSF)",
    formula="p of each masked input from its representation before the last layer: Fisher's sum of the p of every "
    "feature among validation inputs, and the distance to the nearest of them, both calibrated on other validation "
    "inputs; whether too many inputs are unusual, Holm over shares",
    cost="1 pass per validation input and per masked input and share (up to 700), twice where there is a masked twin",
    misleads="a test that rejects nothing shows no difference in the last representation; it does not prove that there "
    "is none elsewhere in the model",
    profile=(InProfile(("full",), 33),),
)
def masking_in_distribution(
    study: Study, *, shares: tuple[float, ...] = (0.1, 0.2, 0.5), examples: int = EXAMPLES
) -> Findings:
    """p-values of masked inputs under "drawn from the training inputs", for the model and its masked twin.

    Returns, for each subject (model, twin) and share of top-ranked units that is masked: `masked_p`, one p-value per
    example; `where` holds `p` (all examples together), `corrected` (Holm over the shares), and `rejected`, the share
    of examples below 0.05, with its interval. Reference: validation inputs, masked at random as in its training for
    a subject that learned from masks, else whole. Also `twin_agreement` with the figures of the twin check. Units are
    ranked by gradient x input, at random where there are no gradients.
    """
    model = study.model
    if "mask" not in model.operators or not last_layer_inputs.supports(model):
        raise Unsupported(
            phrase("errors.experiments.experiment_masking"),
            expected=phrase("errors.experiments.classifier_that_reads_mask"),
            got=phrase("errors.experiments.task_with_operators", task=model.task, operators=", ".join(model.operators)),
        )
    tested, reference = _inputs(study, examples)
    results: list[Score] = _tested("model", model, study, tested, reference, shares)
    if reads_masks(model):
        return results
    try:
        twin = MaskTuned().model(model)
    except Unsupported:  # no recipe, or a twin that is refused: the metrics that need it report the reason
        return results
    check = twin_check(model, twin)
    where: dict[str, Json] = {
        "mean": check.agreement[0],
        "low": check.agreement[1],
        "high": check.agreement[2],
        "n": check.n,
        "twin_accuracy": check.twin_accuracy[0],
        "model_accuracy": check.model_accuracy,
        "lost_high": check.lost[2],
    }
    agreement = finding("twin_agreement", ("validation",), np.array([check.agreement[0]]), where, method="twin")
    return [*results, *_tested("twin", twin, study, tested, reference, shares), agreement]


def _inputs(study: Study, most: int) -> tuple[list[Example], list[Example]]:
    """Inputs to mask, and the reference: validation data of the training, else other examples of the audit."""
    turn = keyed_rng(study.seed, "masking in distribution", len(study.examples)).permutation(len(study.examples))
    shuffled = [study.examples[int(i)] for i in turn]
    try:
        reference = validation_examples(study.model, REFERENCES)
        tested = shuffled[:most]
    except Unsupported:
        tested, reference = shuffled[: min(most, len(shuffled) // 3)], shuffled[len(shuffled) // 3 :][:REFERENCES]
    if len(reference) < FEWEST or len(tested) < FEWEST // 4:
        raise Unsupported(
            phrase("errors.experiments.experiment_masking"),
            expected=phrase("errors.experiments.reference_inputs", fewest=FEWEST, fewest_b=FEWEST // 4),
            got=phrase("errors.common.and_model", model=len(reference), model_option=len(tested)),
        )
    return tested, reference


def _tested(
    subject: str,
    model: Model,
    study: Study,
    tested: Sequence[Example],
    reference: Sequence[Example],
    shares: Sequence[float],
) -> list[Score]:
    learned = _reference(model, reference, study.seed)
    fitted, calibration = learned[::2], learned[1::2]
    case = DeskCase(Desk(model, seed=study.seed), tested)
    ranking = _ranking(case)
    tests = [
        input_p_values(fitted, calibration, last_layer_inputs(model, _masked(case, ranking, share))) for share in shares
    ]
    columns, together = [test[0] for test in tests], [test[1] for test in tests]
    scores = []
    for share, column, p, corrected in zip(shares, columns, together, holm(together), strict=True):
        below = int((column <= LEVEL).sum())
        low, high = clopper_pearson(below, len(column))
        where: dict[str, Json] = {
            "subject": subject,
            "masked": f"{share:.0%}",
            "ranking": ranking.method,
            "references": len(learned),
            "p": p,
            "corrected": float(corrected),
            "rejected": below / len(column),
            "rejected_low": low,
            "rejected_high": high,
        }
        scores.append(finding("masked_p", case.ids, column, where, method=subject))
    return scores


def _ranking(case: DeskCase) -> Relevance:
    try:
        return case.relevance("input_x_gradient")
    except Unsupported:
        return case.relevance("random")


def _masked(case: DeskCase, ranking: Relevance, share: float) -> list[Encoded]:
    """Mask this share of the free units of each example, the most relevant ones, at least one."""
    inputs = []
    for i, units in enumerate(case.units):
        free = np.flatnonzero(units.free)
        drop = np.zeros(len(units), np.bool_)
        drop[free[order(ranking[i][free])[: max(1, round(share * len(free)))]]] = True
        inputs.append(_without(case, i, drop))
    return inputs


def _without(case: DeskCase, i: int, drop: np.ndarray) -> Encoded:
    return case.desk.model.remove(case.desk.encoded(case.ids[i]), drop, "mask", case.rng(i, "masked"))


def _reference(model: Model, examples: Sequence[Example], seed: int) -> Floats:
    """Return (inputs, features) of the training inputs: half of them masked if the model learned from masks."""
    case = DeskCase(Desk(model, seed=seed), examples)
    inputs = []
    for i, units in enumerate(case.units):
        rng = case.rng(i, "reference")
        masked = reads_masks(model) and rng.random() < 0.5
        drop = (rng.random(len(units)) < rng.random()) & units.free if masked else np.zeros(len(units), np.bool_)
        inputs.append(_without(case, i, drop) if drop.any() else case.desk.encoded(case.ids[i]))
    return last_layer_inputs(model, inputs)
