"""A network trained to predict the same with different attention."""

from __future__ import annotations

import numpy as np

from regard.experiments._retraining import accuracy, adversary, answers, looks, origin, over_seeds, right
from regard.measures.divergence import jsd, tvd
from regard.protocols import Findings, Study
from regard.registry import InProfile, experiment


@experiment(
    question="Can a network learn the same predictions with different attention?",
    needs=("attention", "training"),
    scope="study",
    cite="Wiegreffe & Pinter 2019, 4",
    formula="minimise TVD(p, p of the audited network) - weight x KL(attention, its attention); then mean TVD and JSD "
    "on the test split",
    cost="1 training per weight and seed",
    trainings=1,
    misleads="it shows that attention is not exclusive for this task, not that this network's attention is wrong",
    profile=(InProfile(("full",), 33),),
)
def trained_adversary(
    study: Study, *, weights: tuple[float, ...] = (1e-3, 2e-3, 1e-2), seeds: int = 2, data: str = ""
) -> Findings:
    """Divergence of attention and change of predictions of a network trained to attend elsewhere.

    Returns, per training seed and per weight (`where`): `adversary_jsd` (mean divergence of attention, nats),
    `adversary_tvd` (mean change of the answer, 0..1) and `adversary_accuracy` (baseline: the audited network's own).
    It never sees a label. Our TVD is twice the published one, so that a weight here is twice the published lambda.
    """
    source = origin(study, data, "trained_adversary")
    learner, test = source.made(), source.splits.test
    maps, outputs = looks(source.folder, test, learner), answers(source.folder, test, learner)
    base, scores = right(outputs, test, learner), []
    for weight in weights:
        apart, change, good = dict[int, float](), dict[int, float](), dict[int, float]()
        for seed in source.seeds(seeds):
            trained = adversary(study, source, weight, seed)
            pairs = zip(looks(trained.directory, test, learner), maps, strict=True)
            apart[seed] = float(np.mean([jsd(a, b) for a, b in pairs]))
            change[seed] = float(np.mean(tvd(answers(trained.directory, test, learner), outputs)))
            good[seed] = accuracy(trained)
        scores += [
            over_seeds("adversary_jsd", "attention", apart, source, {"weight": weight}, baseline=0.0),
            over_seeds("adversary_tvd", "attention", change, source, {"weight": weight}, baseline=0.0),
            over_seeds("adversary_accuracy", "attention", good, source, {"weight": weight}, baseline=base),
        ]
    return scores
