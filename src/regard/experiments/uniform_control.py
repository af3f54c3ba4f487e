"""Control trained with uniform attention."""

from __future__ import annotations

from regard.experiments._retraining import accuracy, again, by_text, commonest, correct, origin, over_seeds
from regard.protocols import Findings, Study
from regard.registry import InProfile, experiment


@experiment(
    question="Does the network need attention at all, or is it as accurate with uniform weights?",
    needs=("attention", "training"),
    scope="study",
    cite="Wiegreffe & Pinter 2019, 3.2",
    formula="accuracy of the network trained anew, minus that of the same network trained under equal weights",
    cost="2 trainings per seed",
    trainings=2,
    misleads="a task that needs no attention says nothing about how this network uses its own",
    profile=(InProfile(("full",), 30),),
)
def uniform_control(study: Study, *, seeds: int = 3, data: str = "") -> Findings:
    """Accuracy lost when the network is trained with uniform attention.

    Returns, per training seed: `accuracy` of both, and `uniform_gain`, their difference, paired by seed; per test text:
    `control_correct` of both, the share of correct seeds. Trains both networks alike, so that epoch selection is
    equally lucky; accuracies are of the test split. data: the training data, if their name is not on record.
    """
    source = origin(study, data, "uniform_control")
    same = {s: again(study, source, "same", s) for s in source.seeds(seeds)}
    equal = {s: again(study, source, "uniform", s, learner=source.changed(attention="uniform")) for s in same}
    own, flat = ({s: accuracy(t) for s, t in trained.items()} for trained in (same, equal))
    learner, test = source.made(), source.splits.test
    right = [{s: correct(t.directory, test, learner) for s, t in trained.items()} for trained in (same, equal)]
    floor = commonest(source)
    return [
        over_seeds("accuracy", "attention", own, source, {"attention": "trained"}, better="higher", baseline=floor),
        over_seeds("accuracy", "attention", flat, source, {"attention": "uniform"}, better="higher", baseline=floor),
        over_seeds("uniform_gain", "attention", {s: own[s] - flat[s] for s in own}, source, {}, baseline=0.0),
        by_text("control_correct", right[0], test, {"attention": "trained"}),
        by_text("control_correct", right[1], test, {"attention": "uniform"}),
    ]
