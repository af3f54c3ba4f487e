"""Variance of attention between training seeds."""

from __future__ import annotations

import numpy as np

from regard.datasets.examples import Examples
from regard.experiments._finding import finding
from regard.experiments._map import setting
from regard.experiments._retraining import again, answers, looks, origin, over_seeds
from regard.measures.divergence import jsd, tvd
from regard.measures.keyed_random import keyed_rng
from regard.protocols import Findings, Study
from regard.registry import InProfile, experiment


@experiment(
    question="How much does attention differ between training seeds of the same network?",
    needs=("attention", "training"),
    scope="study",
    cite="Wiegreffe & Pinter 2019, 3.3",
    formula="median over seeds of JSD(attention of the sibling, attention), per example",
    cost="1 training per seed",
    trainings=1,
    misleads="siblings may agree on a map on which none of their predictions depends",
    profile=(InProfile(("full",), 31),),
)
def seed_variance(study: Study, *, seeds: int = 4, data: str = "") -> Findings:
    """Divergence of attention and change of predictions between networks trained with different seeds.

    Returns, per example: `seed_jsd` (nats, 0..0.69) and `seed_change` (change of the prediction, total variation),
    medians over siblings; curve `seeds`: (examples, seeds). `seed_jsd_chance`: the same for the network's own map
    permuted, the agreement that sharpness alone explains. Also the mean over examples per seed. An adversary no farther
    away than siblings proves nothing.
    """
    source = origin(study, data, "seed_variance")
    learner = source.made()
    examples = Examples("audited", study.examples, labels=learner.names)
    maps, outputs = looks(source.folder, examples, learner), answers(source.folder, examples, learner)
    numbers, apart, change = source.seeds(seeds), [], []
    for seed in numbers:
        folder = again(study, source, "same", seed).directory
        pairs = zip(maps, looks(folder, examples, learner), strict=True)
        apart.append([float(jsd(theirs, own)) for own, theirs in pairs])
        change.append(tvd(answers(folder, examples, learner), outputs))
    curve = np.array(apart).T
    chance = [
        float(jsd(own[keyed_rng(study.seed, e.id, "seed_variance").permutation(len(own))], own))
        for e, own in zip(examples, maps, strict=True)
    ]
    ids, where = tuple(e.id for e in examples), setting("last", "mean", seeds=[*numbers])
    means = {s: float(np.mean(row)) for s, row in zip(numbers, apart, strict=True)}
    return [
        finding("seed_jsd", ids, np.median(curve, -1), where, curves={"seeds": curve}, grid=tuple(map(float, numbers))),
        finding("seed_change", ids, np.median(np.array(change).T, -1), where),
        finding("seed_jsd_chance", ids, np.array(chance), where),
        over_seeds(
            "mean_seed_jsd", "attention", means, source, {"examples": len(ids)}, baseline=float(np.mean(chance))
        ),
    ]
