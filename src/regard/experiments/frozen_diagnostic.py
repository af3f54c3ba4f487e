"""Diagnostic bag-of-words model under frozen attention."""

from __future__ import annotations

from regard.experiments._retraining import (
    accuracy,
    adversary,
    again,
    by_text,
    commonest,
    correct,
    origin,
    over_seeds,
)
from regard.protocols import Findings, Study
from regard.records import Floats
from regard.registry import InProfile, experiment


@experiment(
    question="Does a bag-of-words model improve when it must use this network's attention?",
    needs=("attention", "training"),
    scope="study",
    cite="Wiegreffe & Pinter 2019, 3.4",
    formula="accuracy of a network without context, trained and tested under imposed weights: those of the audited "
    "network, of its adversary, equal ones; and with attention of its own",
    cost="5 trainings per seed, one of them of the audited kind",
    trainings=5,
    misleads="the network has read each test text whose weights it supplies, so the weights may leak the label",
    profile=(InProfile(("full",), 32),),
)
def frozen_diagnostic(study: Study, *, weight: float = 2e-3, seeds: int = 3, data: str = "") -> Findings:
    """Accuracy of a bag-of-words model that uses the audited network's attention weights.

    Returns, per training seed and per `attention` in `where`: `probe_accuracy` for base, trained, uniform, adversary;
    and paired by seed `probe_gain` (base minus uniform) and `probe_loss` (uniform minus adversary); per test text
    `probe_correct` under each attention, the share of seeds that are right. Where base is no
    better than uniform, the attention carries nothing that words alone could use; where the adversary's weights do as
    well as the base's, neither is needed. weight: of KL in the adversary (twice the published lambda).
    """
    source = origin(study, data, "frozen_diagnostic")
    accuracies: dict[str, dict[int, float]] = {"base": {}, "trained": {}, "uniform": {}, "adversary": {}}
    texts: dict[str, dict[int, Floats]] = {name: {} for name in accuracies}
    plain, reader = "additive", source.made()
    for seed in source.seeds(seeds):
        other = adversary(study, source, weight, seed).directory
        ways = {
            "base": ("frozen", source.folder),
            "trained": (plain, None),
            "uniform": ("uniform", None),
            "adversary": ("frozen", other),
        }
        for name, (attention, reference) in ways.items():
            learner = source.changed(encoder="average", attention=attention)
            trained = again(study, source, f"words-{name}", seed, learner=learner, reference=reference)
            accuracies[name][seed] = accuracy(trained)
            texts[name][seed] = correct(trained.directory, source.splits.test, reader)
    floor = commonest(source)
    gain = {s: accuracies["base"][s] - accuracies["uniform"][s] for s in accuracies["base"]}
    loss = {s: accuracies["uniform"][s] - accuracies["adversary"][s] for s in accuracies["base"]}
    return [
        *(
            over_seeds("probe_accuracy", "attention", v, source, {"attention": k}, better="higher", baseline=floor)
            for k, v in accuracies.items()
        ),
        *(by_text("probe_correct", v, source.splits.test, {"attention": k}) for k, v in texts.items()),
        over_seeds("probe_gain", "attention", gain, source, {"weight": weight}, baseline=0.0),
        over_seeds("probe_loss", "attention", loss, source, {"weight": weight}, baseline=0.0),
    ]
