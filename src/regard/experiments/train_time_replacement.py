"""Replacement of attention at test time only, and during training."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from regard.experiments._retraining import Origin, accuracy, again, looks, origin, over_seeds, right
from regard.measures.keyed_random import keyed_rng
from regard.networks.checkpoint import load_checkpoint
from regard.networks.classifier import AttentionClassifier
from regard.networks.imposed import save_imposed
from regard.networks.vocabulary import Vocabulary
from regard.protocols import Dataset, Findings, Study
from regard.records import Floats
from regard.registry import InProfile, experiment
from regard.training.batches import TextRows
from regard.training.inputs import text_of

WAYS = ("uniform", "random", "permuted")


@experiment(
    question="Does accuracy suffer when attention is replaced at test time only, or also during training?",
    needs=("attention", "training"),
    scope="study",
    cite="Vashishth et al. 2019",
    formula="accuracy with equal, random, permuted weights: at the test only, and at training and test",
    cost="4 trainings per seed",
    trainings=4,
    misleads="a network that learns with random weights shows only that the task needs no attention",
    profile=(InProfile(("full",), 34),),
)
def train_time_replacement(study: Study, *, seeds: int = 2, data: str = "") -> Findings:
    """Accuracy lost when other weights replace attention, at test time or already in training.

    Returns, per training seed, for each `attention` (uniform, random, permuted) and `when` (test, training and test)
    in `where`: `replaced_accuracy`, with the accuracy of the network as it is for a baseline. Lost at neither: a gate,
    or unused. Lost at the test only: the network relies on attention, but the task does not need it. Random weights are
    drawn once per example from a flat Dirichlet distribution; permuted ones are the network's own in another order.
    """
    source = origin(study, data, "train_time_replacement")
    learner, test = source.made(), source.splits.test
    plain: dict[int, float] = {}
    accuracies: dict[tuple[str, str], dict[int, float]] = {
        (w, t): {} for w in WAYS for t in ("test", "training and test")
    }
    for seed in source.seeds(seeds):
        own = again(study, source, "same", seed)
        plain[seed] = accuracy(own)
        maps = looks(own.directory, test, learner)
        for way in WAYS:
            weights = [_instead(way, row, study.seed, e.id) for row, e in zip(maps, test, strict=True)]
            accuracies[way, "test"][seed] = right(under(own.directory, test, weights), test, learner)
            attention = "uniform" if way == "uniform" else "frozen"
            reference = None if way == "uniform" else _written(study, source, own.directory, way, seed)
            anew = again(
                study,
                source,
                "uniform" if way == "uniform" else f"under-{way}",
                seed,
                learner=source.changed(attention=attention),
                reference=reference,
            )
            accuracies[way, "training and test"][seed] = accuracy(anew)
    base = float(np.mean([*plain.values()]))
    return [
        over_seeds(
            "replaced_accuracy",
            "attention",
            v,
            source,
            {"attention": way, "when": when},
            better="higher",
            baseline=base,
        )
        for (way, when), v in accuracies.items()
    ]


def under(folder: Path, data: Dataset, weights: Sequence[Floats]) -> Floats:
    """Return (examples, classes) predictions of the network in `folder` with its states mixed by these weights."""
    network, about = load_checkpoint(folder)
    assert isinstance(network, AttentionClassifier)
    vocabulary, outputs = Vocabulary.from_json(about["vocabulary"]), []
    with torch.no_grad():
        for example, row in zip(data, weights, strict=True):
            tokens = TextRows([vocabulary.encode(text_of(example))[0]], np.zeros(1, np.int64))
            states = network.read(tokens.batch(np.zeros(1, np.int64), None).inputs[0]).states[0]
            mixed = torch.tensor(row, dtype=states.dtype) @ states[: len(row)]
            outputs.append(network.output(mixed).softmax(-1).double().numpy())
    return np.stack(outputs)


def _instead(way: str, row: Floats, seed: int, ident: str) -> Floats:
    rng = keyed_rng(seed, ident, way)
    if way == "uniform" or not len(row):
        return np.full(len(row), 1 / max(1, len(row)))
    return rng.dirichlet(np.ones(len(row))) if way == "random" else row[rng.permutation(len(row))]


def _written(study: Study, made: Origin, own: Path, way: str, seed: int) -> Path:
    """Write weights for every example of every split, for `training` to read."""
    folder, learner, weights = study.folder / f"weights-{way}-{seed}", made.made(), dict[str, Floats]()
    for data in (made.splits.train, made.splits.dev, made.splits.test):
        rows = zip(data, looks(own, data, learner), strict=True)
        weights |= {e.id: _instead(way, row, study.seed, e.id) for e, row in rows}
    save_imposed(folder, weights)
    return folder
