"""Retraining for deceptive attention, which hides the words that the network uses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from regard.datasets.examples import Examples
from regard.errors import Unsupported, phrase
from regard.experiments._retraining import again, answers, by_text, looks, origin, over_seeds, right
from regard.measures.divergence import tvd
from regard.protocols import Dataset, Findings, Study
from regard.records import Example, Floats, Json
from regard.registry import InProfile, experiment
from regard.training.inputs import text_of
from regard.training.learner import Learner
from regard.training.train_one import Splits

LEAST = 10
"""Test texts with one of the words, below which nothing can be said."""


@experiment(
    question="Can the same architecture hide from its attention the words that it uses?",
    needs=("attention", "training"),
    scope="study",
    cite="Pruthi et al. 2020",
    formula="cross entropy - weight x log(1 - attention on the words to hide); then that attention, the accuracy, and "
    "how far the answer moves without these words",
    cost="3 trainings per seed",
    trainings=3,
    misleads="it shows how far training can bend this architecture, not how the audited network behaves",
    profile=(InProfile(("full",), 35),),
)
def deceptive_attention(
    study: Study, *, words: tuple[str, ...] = (), count: int = 20, weight: float = 1.0, seeds: int = 2, data: str = ""
) -> Findings:
    """Accuracy and use of given words when training hides them from attention.

    Returns, per training seed, for each `network` in `where` (honest, deceptive, without): `deceptive_accuracy`, on
    the test texts with at least one of the words (baseline: trained and tested without the words); for honest and
    deceptive: `hidden_attention` (mean attention on the words) and `hidden_use` (mean change of the answer, total
    variation, when they are deleted), and both for each of these texts (`rows` in `where`). Deception: attention gone,
    accuracy and use as before. words: default the `count` whose frequency differs most between the classes of the
    training data.
    """
    source = origin(study, data, "deceptive_attention")
    learner = source.made()
    hide = tuple(w.lower() for w in words) or telling(source.splits.train, learner, count)
    test = _with(source.splits.test, learner, hide)
    if len(test) < LEAST:
        raise Unsupported(
            phrase("errors.experiments.experiment_deceptive_attention"),
            expected=phrase("errors.experiments.test_texts_with_one", least=LEAST, hide=", ".join(hide[:5])),
            got=str(len(test)),
            remedy="deceptive_attention:words=[...]",
        )
    whole = source.splits
    train, dev, held_out = (_without(part, learner, hide) for part in (whole.train, whole.dev, whole.test))
    bare = Splits(train, dev, held_out)
    good: dict[str, dict[int, float]] = {"honest": {}, "deceptive": {}, "without": {}}
    mass: dict[str, dict[int, float]] = {"honest": {}, "deceptive": {}}
    use: dict[str, dict[int, float]] = {"honest": {}, "deceptive": {}}
    texts: dict[tuple[str, str], dict[int, Floats]] = {(m, n): {} for m in ("mass", "use") for n in mass}
    terms, cut = {"cross_entropy": 1.0, "hidden_mass": weight}, _without(test, learner, hide)
    for seed in source.seeds(seeds):
        folders = {
            "honest": again(study, source, "same", seed).directory,
            "deceptive": again(study, source, "deceptive", seed, terms=terms, hide=hide).directory,
        }
        for name, folder in folders.items():
            outputs = answers(folder, test, learner)
            good[name][seed] = right(outputs, test, learner)
            texts["mass", name][seed] = _mass(folder, test, learner, hide)
            texts["use", name][seed] = np.asarray(tvd(outputs, answers(folder, cut, learner)))
            mass[name][seed], use[name][seed] = (float(texts[m, name][seed].mean()) for m in ("mass", "use"))
        anew = again(study, source, "without", seed, splits=bare).directory
        good["without"][seed] = right(answers(anew, cut, learner), cut, learner)
    floor = float(np.mean([*good["without"].values()]))
    shared: dict[str, Json] = {"words": [*hide], "texts": len(test), "weight": weight}
    each = {"mass": "hidden_attention", "use": "hidden_use"}
    columns = [("deceptive_accuracy", good, floor), ("hidden_attention", mass, None), ("hidden_use", use, 0.0)]
    return [
        over_seeds(metric, "attention", values, source, {**shared, "network": name}, baseline=baseline)
        for metric, networks, baseline in columns
        for name, values in networks.items()
    ] + [by_text(each[m], values, test, {**shared, "network": name}) for (m, name), values in texts.items()]


def telling(data: Dataset, learner: Learner, count: int) -> tuple[str, ...]:
    """Return the words whose document frequency differs most between classes; ties alphabetically."""
    assert learner.spans is not None
    labels = learner.rows(data, False).labels
    classes = sorted(set(labels.tolist()))
    counts_of: dict[int, Counter[str]] = {c: Counter() for c in classes}
    for example, label in zip(data, labels.tolist(), strict=True):
        counts_of[label].update(set(_words(example, learner)))
    sizes = {c: max(1, int((labels == c).sum())) for c in classes}
    words = {w for counts in counts_of.values() for w in counts}
    gaps = {w: [counts_of[c][w] / sizes[c] for c in classes] for w in words}
    return tuple(sorted(words, key=lambda w: (min(gaps[w]) - max(gaps[w]), w))[:count])


def _words(example: Example, learner: Learner) -> list[str]:
    assert learner.spans is not None
    text = text_of(example)
    return [text[a:b].lower() for a, b in learner.spans(example)]


def _with(data: Dataset, learner: Learner, hide: Sequence[str]) -> Examples:
    matching = [e for e in data if set(_words(e, learner)) & set(hide)]
    return Examples(f"{data.name} with hidden words", tuple(matching), labels=data.labels)


def _without(data: Dataset, learner: Learner, hide: Sequence[str]) -> Examples:
    """Return the examples without these words; "_" for an empty text."""
    rows = [" ".join(w for w in _words(e, learner) if w not in set(hide)) or "_" for e in data]
    items = [replace(e, inputs={"text": row}, rationale=None) for e, row in zip(data, rows, strict=True)]
    return Examples(f"{data.name} without {len(hide)} words", tuple(items), labels=data.labels)


def _mass(folder: Path, data: Dataset, learner: Learner, hide: Sequence[str]) -> Floats:
    """Return (texts,) the attention mass on these words."""
    masks = [np.array([w in set(hide) for w in _words(e, learner)]) for e in data]
    maps: list[Floats] = looks(folder, data, learner)
    return np.array([float(row @ mark) for row, mark in zip(maps, masks, strict=True)])
