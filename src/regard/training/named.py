"""A network that a name stands for: trained where it is first needed, found again after that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from regard.records import Json, Spec
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
) -> str:
    """The path of its checkpoint. `recipe` says what the cache knows it by; `n` limits what it learns from.

    learner: a function that gives one is only asked when there is something to train.
    """

    def build(out: Path, state: Path) -> Mapping[str, Json]:
        # inside, so that a model that is there costs no torch
        from dataclasses import replace

        from regard.datasets.read import read
        from regard.registry import build as make
        from regard.training.learner import Learner
        from regard.training.one import Splits, train_one
        from regard.training.train import settings_of

        train, dev, test = (read(data, split=part, limit=None) for part in ("train", "dev", "test"))
        if n is not None:
            train = read(data, split="train", limit=n)
        made: Learner = make(learner if isinstance(learner, Spec) else learner())(train)
        chosen = replace(settings_of(made.settings, settings), seed=seed)
        return train_one(made, Splits(train, dev, test), out, chosen, state=state)

    return str(built_once(name, recipe, packages, build))
