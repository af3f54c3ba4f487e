"""Search over the strengths of recipes within a budget, on validation data and a separate seed."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regard.audits.budget import Budget
from regard.errors import InputError, phrase
from regard.improve.measurements import NetworkMeasurements, Plan
from regard.improve.origin import Origin
from regard.improve.recipe import AS_IT_IS, Recipe
from regard.measures.keyed_random import keyed_rng
from regard.message import Message
from regard.records import Json, Spec, Text
from regard.registry import build, entry
from regard.store.shapes import Mismatch
from regard.store.shard_result import passes_of
from regard.training.directory import claimed, read_record, write_json
from regard.training.learner import CROSS_ENTROPY
from regard.training.loss import weighted_terms
from regard.training.train import train
from regard.visible import hyphenated

SEARCHED = ("attention_effects", "masking", "attention_regularised", "smoothness")
"""Recipes to search if none is named."""
OWN_SEED = 1000
"""Offset of the search seed, so that no network of the search takes part in the comparison."""
MOST_LOST = 0.01
"""Maximum accuracy that a candidate may lose on the validation data."""
MIXED = 40
"""Maximum number of candidates that mix several recipes."""
FILE = "search.json"
GRADIENT = 3
"""Passes of one training example: a gradient counts as two further passes."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """Mixture of recipes: its parts as text, its validation figures, and its cost in passes.

    share: of the best method's effect that attention finds; None if no method has an effect.
    """

    parts: tuple[str, ...]
    accuracy: float
    share: float | None
    passes: int

    def to_json(self) -> dict[str, Json]:
        return {**asdict(self), "parts": [*self.parts]}


@dataclass(frozen=True, slots=True)
class Search:
    """Result of a search: the network without recipes, every candidate that was tried, and the best of them.

    budget: in the user's words; passes: its value in passes. possible: number of all candidates. n: validation examples
    that judged the attention.
    """

    budget: str
    passes: int
    seed: int
    n: int
    possible: int
    plain: Candidate
    tried: tuple[Candidate, ...]
    best: tuple[str, ...]

    def to_json(self) -> dict[str, Json]:
        return {
            "budget": self.budget,
            "passes": self.passes,
            "seed": self.seed,
            "n": self.n,
            "possible": self.possible,
            "plain": self.plain.to_json(),
            "tried": [candidate.to_json() for candidate in self.tried],
            "best": [*self.best],
        }


def search(
    base: Origin,
    recipes: Sequence[Spec],
    modality: str,
    *,
    out: Path,
    budget: str,
    seed: int,
    plan: Plan,
    settings: Mapping[str, Json],
    announce: Callable[[Text], None],
) -> Search:
    """Train candidates one by one until the budget of passes is spent, and judge them on the validation split.

    Deterministic for a seed and a budget of passes. A budget of time becomes a number of passes after the first
    network, which is stored: a resumed search follows it.
    """
    limit = Budget.parse(budget)
    if limit.unlimited:
        raise InputError("search", expected=phrase("errors.improve.time_or_passes"), got=budget)
    order = list(candidates(recipes, seed))
    claim: dict[str, Json] = {"search": budget, "recipes": [str(r) for r in recipes], "seed": seed + OWN_SEED}
    with claimed(out, {**claim, "plan": plan.to_json(), "settings": dict(settings)}):
        runner = _Runner(base, modality, out, seed=seed + OWN_SEED, plan=plan, settings=settings)
        passes = _stored_passes(out / FILE)
        if passes is None:  # the first network is timed from its beginning
            runner.forget(0)
        started = time.perf_counter()
        plain = runner.candidate((), 0)
        if passes is None:
            rate = plain.passes / max(time.perf_counter() - started, 1e-3)
            passes = limit.passes if limit.passes is not None else int((limit.seconds or 0.0) * rate)
            write_json(out / FILE, {"passes": passes})
        measuring = plain.passes - runner.training_passes(())
        spent, tried = plain.passes, list[Candidate]()
        for number, parts in enumerate(order, 1):
            if spent + runner.training_passes(parts) + measuring > passes:
                break
            announce(Message.of("improvement.candidate", number=number, parts=" + ".join(map(hyphenated, parts))))
            tried.append(runner.candidate(parts, number))
            spent += tried[-1].passes
        if not tried:
            least = plain.passes + runner.training_passes(order[0]) + measuring
            problem = phrase("errors.improve.passes_n", n=passes)
            raise InputError(
                phrase("errors.improve.search_budget", budget=budget),
                expected=phrase("errors.improve.at_least_two_networks", least=least),
                got=problem,
            )
        search_result = Search(
            budget=budget,
            passes=passes,
            seed=seed + OWN_SEED,
            n=min(plan.examples, len(base.splits.dev)),
            possible=len(order),
            plain=plain,
            tried=tuple(tried),
            best=best_of(plain, tried).parts,
        )
        write_json(out / FILE, search_result.to_json())
    return search_result


def best_of(plain: Candidate, tried: Sequence[Candidate]) -> Candidate:
    """Return the candidate with the largest share that loses at most a point of accuracy; else the smallest loss.

    >>> plain = Candidate((), 0.8, 0.5, 1)
    >>> best_of(plain, [Candidate(("a",), 0.7, 0.9, 1), Candidate(("b",), 0.79, 0.6, 1)]).parts
    ('b',)
    >>> best_of(plain, [Candidate(("a",), 0.7, 0.9, 1), Candidate(("c",), 0.75, 0.4, 1)]).parts
    ('c',)
    """
    cheap = [c for c in tried if c.accuracy >= plain.accuracy - MOST_LOST - 1e-9 and c.share is not None]
    if cheap:
        return max(cheap, key=lambda c: c.share if c.share is not None else -np.inf)
    return max(tried, key=lambda c: c.accuracy)


def candidates(recipes: Sequence[Spec], seed: int) -> Iterator[tuple[str, ...]]:
    """Yield each recipe at each strength in random order, then mixtures of several; the same for the same seed.

    >>> order = list(candidates([Spec("recipe", "masking"), Spec("recipe", "smoothness")], 0))
    >>> sorted(map(len, order))[:6], len(set(order)) == len(order)
    ([1, 1, 1, 1, 1, 1], True)
    """
    rng = keyed_rng(seed, "improve search", *map(str, recipes))
    levels = [_levels(recipe) for recipe in recipes]
    single = [(level,) for row in levels for level in row]
    yield from (single[int(i)] for i in rng.permutation(len(single)))
    earlier = set[tuple[str, ...]]()
    for _ in range(20 * MIXED):
        drawn = [row[int(rng.integers(len(row)))] for row in levels if rng.random() < 0.5]
        parts = tuple(drawn)
        if len(parts) > 1 and parts not in earlier and len(earlier) < MIXED:
            earlier.add(parts)
            yield parts


def _levels(recipe: Spec) -> list[str]:
    """Return the recipe at each strength of its decorator; strengths that the user fixed stay."""
    strengths: Any = entry("recipe", recipe.name).facts.get("search") or {}
    free = {name: values for name, values in strengths.items() if name not in recipe.params}
    if not free:
        return [str(recipe)]
    name, values = next(iter(free.items()))
    return [str(Spec("recipe", recipe.name, {**recipe.params, name: value})) for value in values]


def mixed(parts: Sequence[str], modality: str) -> Recipe:
    """Merge several recipes into one."""
    recipes: list[Recipe] = [build(Spec.parse("recipe", part))(modality) for part in parts]
    noisy = [r.augment for r in recipes if r.augment is not None]
    return Recipe(
        Message.of("improvement.recipe.mixture", parts=[r.what for r in recipes]) if recipes else AS_IT_IS,
        {name: weight for r in recipes for name, weight in r.terms.items()},
        augment=noisy[0] if noisy else None,
        looks=any(r.looks for r in recipes),
        learner={name: value for r in recipes for name, value in r.learner.items()},
    )


class _Runner:
    """Train a candidate once and measure it on the validation split."""

    def __init__(
        self, base: Origin, modality: str, out: Path, *, seed: int, plan: Plan, settings: Mapping[str, Json]
    ) -> None:
        self.base, self.modality, self.out = base, modality, out
        self.seed, self.plan, self.settings = seed, plan, settings
        self.epochs = int(str(settings.get("epochs") or build(base.learner)(base.splits.train).settings.epochs))

    def forget(self, number: int) -> None:
        shutil.rmtree(self.out / f"candidate-{number}", ignore_errors=True)
        (self.out / f"candidate-{number}.json").unlink(missing_ok=True)

    def training_passes(self, parts: Sequence[str]) -> int:
        """Passes of the whole training; a term that disturbs the network runs it once more."""
        recipe = mixed(parts, self.modality)
        again = sum(term.learning for term in weighted_terms({**CROSS_ENTROPY, **recipe.terms}))
        return GRADIENT * (1 + again) * self.epochs * len(self.base.splits.train)

    def candidate(self, parts: tuple[str, ...], number: int) -> Candidate:
        folder = self.out / f"candidate-{number}"
        file = self.out / f"candidate-{number}.json"
        stored = _stored_candidate(file, parts)
        if stored is not None:
            return stored
        recipe = mixed(parts, self.modality)
        looks: dict[str, Json] = {"looks": True} if recipe.looks and self.base.further else {}
        params = {**self.base.learner.params, **looks, **recipe.learner}
        train(
            Spec("learner", self.base.learner.name, params),
            self.base.splits,
            out=folder,
            seeds=1,
            seed=self.seed,
            settings=self.settings,
            terms={**CROSS_ENTROPY, **recipe.terms},
            augment=recipe.augment,
        )
        measurements = NetworkMeasurements(folder, self.base.splits.dev, self.plan)
        accuracy, share = measurements.validation()
        measuring = sum(passes_of(c.forwards, c.backwards) for c in measurements.close.desk.costs())
        result = Candidate(
            parts=parts,
            accuracy=accuracy,
            share=None if np.isnan(share) else share,
            passes=self.training_passes(parts) + len(self.base.splits.dev) + measuring,
        )
        write_json(file, result.to_json())
        return result


def _stored_passes(file: Path) -> int | None:
    try:
        return int(read_record(file)["passes"])
    except (OSError, Mismatch, KeyError, TypeError, ValueError):
        return None


def _stored_candidate(file: Path, parts: tuple[str, ...]) -> Candidate | None:
    try:
        record = read_record(file)
        candidate = Candidate(tuple(record["parts"]), record["accuracy"], record["share"], record["passes"])
    except (OSError, Mismatch, KeyError, TypeError, ValueError):
        return None
    return candidate if candidate.parts == parts else None
