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

    Returns, per training seed: `accuracy` of both, and `uniform_gain`, their difference, paired by seed; per test
    text: `control_correct` of both, the share of seeds that are right. Both are trained here, alike, so that chance in
    the choice of an epoch is the same on both sides; accuracies are of the test split. `data`: what the network was
    trained on, where that cannot be found by name.
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
