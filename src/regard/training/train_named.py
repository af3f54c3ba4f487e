"""Networks by name: trained on first use, then loaded from the cache."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from regard.datasets.examples import Examples
from regard.records import Json, Message, Spec
from regard.training.cache import built_once


def trained_once(
    name: str,
    recipe: Mapping[str, Json],
    *,
    learner: Spec | Callable[[], Spec],
    data: str,
    packages: Sequence[str],
    settings: Mapping[str, Json],
    n: int | None = None,
    seed: int = 0,
    labels: str = "true",
) -> str:
    """Train once and return the path of the checkpoint. `recipe` is the key of the cache; `n` limits the training data.

    learner: a function that returns one is called only if there is something to train. labels: "shuffled" permutes the
    training and dev labels, so that the network can only memorize the examples.
    """

    def build(out: Path, state: Path) -> Mapping[str, Json]:
        # inside, so that a model that is there costs no torch
        from dataclasses import replace

        from regard.datasets.read import read
        from regard.registry import build as make
        from regard.training.learner import Learner
        from regard.training.train import settings_of
        from regard.training.train_one import Splits, train_one

        train, dev, test = (read(data, split=part, limit=None) for part in ("train", "dev", "test"))
        if n is not None:
            train = read(data, split="train", limit=n)
        if labels == "shuffled":
            train, dev = (_shuffled(some, seed) for some in (train, dev))
        prepared: Learner = make(learner if isinstance(learner, Spec) else learner())(train)
        options = replace(settings_of(prepared.settings, settings), seed=seed)
        return train_one(prepared, Splits(train, dev, test, data), out, options, state=state)

    # only where it is not as usual, so that what is in the cache is found again
    facts = {**recipe, "labels": labels} if labels != "true" else recipe
    return str(built_once(name, facts, packages, build))


def _shuffled(data: Examples, seed: int) -> Examples:
    from dataclasses import replace

    from regard.measures.keyed_random import keyed_rng

    order = keyed_rng(seed, "shuffled labels", len(data)).permutation(len(data))
    items = [replace(example, label=data[int(i)].label) for example, i in zip(data, order, strict=True)]
    return data.keep(items, Message("data.labels_shuffled"))
