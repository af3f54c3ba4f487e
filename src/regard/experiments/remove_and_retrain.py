"""ROAR: remove the units that a method ranks first from all data, retrain, and measure the loss of accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from regard.datasets.examples import Examples
from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.errors import InputError, Unsupported, phrase
from regard.experiments._retraining import Origin, accuracy, again, commonest, origin, over_seeds
from regard.measures.ranking import order
from regard.protocols import Dataset, Findings, Model, Study
from regard.records import Example, Floats, Message, Score
from regard.registry import InProfile, experiment
from regard.training.train_one import Splits

RANDOM = "random"
REMOVED = "\N{WHITE SQUARE}"
"""Replacement of a removed word: an ordinary word of the new vocabulary without meaning for the label."""
AT_ONCE = 256


@experiment(
    question="How much accuracy is lost when the words that a method marks are removed from all data and the network "
    "is trained again?",
    needs=("training",),
    scope="study",
    cite="Hooker et al. 2019",
    formula="accuracy on the test split of networks trained and tested without the top share of the words of each "
    "text, by each method; minus that without as many random words",
    cost="methods + 1 trainings per share and seed (12 by default), one explanation of every text of the data by each "
    "method",
    trainings=4,
    misleads="a network that is trained again may use evidence that the first one ignored: little loss does not show "
    "that a method missed what this network uses",
    profile=(InProfile(("full",), 34),),
)
def remove_and_retrain(
    study: Study,
    *,
    explainers: tuple[str, ...] = ("attention", "lrp", "input_x_gradient"),
    shares: tuple[float, ...] = (0.3,),
    seeds: int = 3,
    data: str = "",
) -> Findings:
    """Accuracy after removing the top `shares` of the words from all splits and training again (ROAR).

    Returns, per training seed, method and share: `roar_accuracy`, and paired by seed with the random removal
    `roar_loss` (random minus method; higher is better), each with its Student interval over seeds. Explanations are
    those of the audited network for the class that it predicts. Unsupported for models without a training record.
    """
    if not explainers or not shares or min(shares) <= 0 or max(shares) > 1 or seeds < 1:
        got = phrase(
            "errors.experiments.explainers_shares_seeds", explainers=len(explainers), shares=tuple(shares), seeds=seeds
        )
        raise InputError("remove_and_retrain", expected=phrase("errors.experiments.explainer_share_seed"), got=got)
    source = origin(study, data, "remove_and_retrain")
    floor = commonest(source)
    results: list[Score] = []
    methods = (RANDOM, *(name for name in explainers if name != RANDOM))
    ranked = {name: _ranked(study.model, source.splits, name, study.seed) for name in methods}
    for share in shares:
        accuracies = {name: _accuracies(study, source, name, ranked[name], share, seeds) for name in methods}
        for name, values in accuracies.items():
            where = {"removed": f"{share:.0%}"}
            results.append(over_seeds("roar_accuracy", name, values, source, where, better="lower", baseline=floor))
            if name != RANDOM:
                lost = {seed: accuracies[RANDOM][seed] - value for seed, value in values.items()}
                results.append(over_seeds("roar_loss", name, lost, source, where, better="higher", baseline=0.0))
    return results


Ranked = dict[str, list[tuple[int, int]]]
"""Example id -> character spans of its words, the most relevant first."""


def _ranked(model: Model, splits: Splits, method: str, seed: int) -> Ranked:
    spans: Ranked = {}
    for data in (splits.train, splits.dev, splits.test):
        items = [e for e in data if str(e.inputs.get("text", "")).strip()]
        for start in range(0, len(items), AT_ONCE):
            case = DeskCase(Desk(model, seed=seed), items[start : start + AT_ONCE])
            try:
                relevance = case.relevance(method)
            except Unsupported as refusal:
                raise Unsupported(
                    phrase("errors.experiments.experiment_retrain", method=method),
                    expected=phrase("errors.experiments.supported_explainer"),
                    got=str(refusal),
                ) from refusal
            for i, name in enumerate(case.ids):
                spans[_key(data, name)] = _spans(case, i, relevance[i])
    return spans


def _spans(case: DeskCase, i: int, values: Floats) -> list[tuple[int, int]]:
    units = case.units[i]
    free = np.flatnonzero(units.free)
    return [(int(a), int(b)) for a, b in units.places[free[order(values[free])]][:, :2]]


def _key(data: Dataset, name: str) -> str:
    return f"{data.fingerprint}:{name}"


def _accuracies(
    study: Study, source: Origin, method: str, ranked: Ranked, share: float, seeds: int
) -> dict[int, float]:
    parts = (source.splits.train, source.splits.dev, source.splits.test)
    train, dev, test = (_without(part, ranked, share, method) for part in parts)
    name = f"roar-{method}-{share:g}".replace(":", "-").replace("=", "-")
    return {
        seed: accuracy(again(study, source, name, seed, splits=Splits(train, dev, test)))
        for seed in source.seeds(seeds)
    }


def _without(data: Dataset, ranked: Ranked, share: float, method: str) -> Examples:
    items = [_shorn(e, ranked.get(_key(data, e.id), []), share) for e in data]
    note = Message.of("data.words_removed", share=share, method=method)
    if isinstance(data, Examples):
        return data.keep(items, note)
    return Examples(data.name, tuple(items), data.labels, (*data.notes, note))


def _shorn(example: Example, ranked: Sequence[tuple[int, int]], share: float) -> Example:
    """Replace the top share of the words of the example, rounded up.

    >>> _shorn(Example("a", {"text": "a fine film"}), [(2, 6), (0, 1), (7, 11)], 0.3).inputs["text"]
    'a □ film'
    """
    text = str(example.inputs.get("text", ""))
    for start, end in sorted(ranked[: int(np.ceil(share * len(ranked)))], reverse=True):
        text = text[:start] + REMOVED + text[end:]
    return replace(example, inputs={**example.inputs, "text": text}, rationale=None)
