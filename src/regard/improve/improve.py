"""`regard.improve`: train a model with and without each recipe and compare before and after."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from regard.cards import Card, HasCard
from regard.errors import InputError, phrase
from regard.improve.before_after import Row, compared
from regard.improve.measurements import NetworkMeasurements, Plan, plan_for, read_columns, write_columns
from regard.improve.origin import Origin, origin
from regard.improve.recipe import AS_IT_IS, Recipe
from regard.improve.search import SEARCHED, Search, mixed, search
from regard.message import Message, Text, encoded
from regard.perturbations.apply import modality_of
from regard.records import Json, Spec
from regard.registry import arguments, build, entry
from regard.store.shapes import Mismatch
from regard.training.directory import claimed, read_record, write_json
from regard.training.learner import CROSS_ENTROPY
from regard.training.loss import weighted_terms
from regard.training.progress import Report, progress, reporting
from regard.training.train import Trained, train
from regard.training.train_one import Splits

FILE = "improvement.json"
FORMAT, VERSION = "regard-improvement", 1
PLAIN = "plain"
Say = Callable[[Text], None]
Tell = Callable[[Text, int, int], None]
"""(quantity, finished, total): progress of measuring the trained networks."""


@dataclass(frozen=True, slots=True)
class Arm:
    """Training arm: its name (a directory), its recipe, and its control arm beside `plain`, if any."""

    name: str
    recipe: Recipe
    control: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Improvement(HasCard):
    """Result of `improve`. comparisons: (arm, compared with) -> rows of the table. costs: arm -> training cost.

    `regard.load` and `regard audit` open `folder(arm)`: a family, or a network for one seed.
    """

    directory: Path
    model: str
    data: str
    further: bool
    seeds: tuple[int, ...]
    plan: Plan
    recipes: Mapping[str, Text]
    comparisons: Mapping[tuple[str, str], tuple[Row, ...]]
    costs: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    again: bool = False
    search: Search | None = None

    def _card(self) -> Card:
        names = ("quantity", "before", "after", "difference", "low", "high", "n")
        rows: list[dict[str, Json]] = [
            {"recipe": arm, **{name: getattr(row, name) for name in names}}
            for (arm, _), table in self.comparisons.items()
            for row in table
        ]
        return Card("Improvement", self.model, {"data": self.data, "members": len(self.seeds)}, rows, len(rows))

    def folder(self, arm: str) -> Path:
        return self.directory / arm

    def row(self, arm: str, quantity: str, against: str = PLAIN) -> Row:
        return next(r for r in self.comparisons[arm, against] if r.quantity == quantity)

    def to_json(self) -> dict[str, Json]:
        return {
            "format": FORMAT,
            "version": VERSION,
            "model": self.model,
            "data": self.data,
            "trained": Message("improvement.further" if self.further else "improvement.scratch").to_json(),
            "seeds": [*self.seeds],
            "plan": self.plan.to_json(),
            "rule": Message("improvement.rule").to_json(),
            "recipes": encoded(self.recipes),
            "costs": {arm: dict(cost) for arm, cost in self.costs.items()},
            **({} if self.search is None else {"search": self.search.to_json()}),
            "comparisons": [
                {"arm": arm, "against": against, "rows": [row.to_json() for row in rows]}
                for (arm, against), rows in self.comparisons.items()
            ],
        }


def improve(
    model: str,
    recipes: Sequence[str | Spec] = (),
    data: str | Splits | None = None,
    *,
    out: str | Path,
    search_budget: str | None = None,
    seeds: int = 5,
    seed: int = 0,
    examples: int = 150,
    budget: int = 60,
    settings: Mapping[str, Json] | None = None,
    limit: int | None = None,
    layers: int | None = None,
    device: str = "cpu",
    announce: Say | None = None,
    tell: Tell | None = None,
) -> Improvement:
    """Train a model with and without each recipe on the same seeds, and compare pairs of (seed, example).

    model: a name, a directory that `regard train` wrote, or a Hugging Face classifier (trained further from the weights
    it has). recipes: `noise`, `adversarial:how=pgd,epsilon=0.5`, ... (`regard list recipe`). data: if it differs from
    the training data of the model. examples: number of test examples to attack and explain; clean accuracy uses the
    whole test split. budget: queries per attacked text. limit: maximum number of training examples. The same call
    resumes a stopped run, and only reads the results of a finished one; further recipes can be tried in the same
    directory, against the same plain trainings. search_budget: search the strengths of the recipes, alone and mixed, on
    the validation split and another seed for so long (`10m`, `500000-passes`), and compare the best mixture as the arm
    `searched`; without recipes, those of `search.SEARCHED` that the model allows. device: trains the networks;
    measurements run on the CPU.
    """
    specs = [_spec(recipe) for recipe in (recipes or (SEARCHED if search_budget else ()))]
    if not specs or len({s.name for s in specs}) < len(specs):
        raise InputError(
            "recipes",
            expected=phrase("errors.improve.at_least_one_each_once"),
            got=", ".join(map(str, specs)) or phrase("errors.common.none"),
        )
    if seeds < 1 or examples < 2 or budget < 1:
        raise InputError(
            "improve", expected=phrase("errors.improve.seeds_and_budget_at_least"), got=phrase("errors.improve.less")
        )
    say = announce or _silent
    base = origin(model, data, limit=limit, layers=layers)
    modality = modality_of(next(iter(base.splits.train)))
    arms = _arms(specs, modality)
    if search_budget and not recipes:
        specs = [spec for spec, arm in zip(specs, arms[1:], strict=True) if _allowed(arm, base, modality)]
        if not specs:
            raise InputError(
                "search", expected=phrase("errors.improve.allowed_recipe"), got="none", remedy="--with RECIPE"
            )
    else:
        for arm in arms[1:]:
            _possible(arm, base, modality)
    learned = [n for arm in arms if arm.recipe.augment is not None for n in arm.recipe.augment.noises]
    plan = plan_for(base.splits.test, examples=examples, budget=budget, learned=learned)
    numbers = tuple(seed + k for k in range(seeds))
    options = {**base.settings, **(settings or {})}
    path = Path(out)
    recipe: dict[str, Json] = {
        "improve": base.learner.to_json(),
        "seeds": [*numbers],
        "settings": dict(options),
        "plan": plan.to_json(),
        "data": {k: getattr(base.splits, k).fingerprint for k in ("train", "dev", "test")},
    }
    with claimed(path, recipe):
        outcome = None
        if search_budget:
            outcome = search(
                base,
                specs,
                modality,
                out=path / "search",
                budget=search_budget,
                seed=seed,
                plan=plan,
                settings=options,
                announce=say,
            )
            arms = [arms[0], Arm("searched", mixed(outcome.best, modality))]
        costs, fresh = dict[str, dict[str, float]](), False
        for arm in arms:
            say(Message.of("improvement.arm", arm=arm.name, what=arm.recipe.what))
            trained, costs[arm.name] = _trained(base, arm, path, numbers, options, device=device, say=say)
            fresh = fresh or not trained.again
        columns = _measured([a.name for a in arms], base, plan, path, numbers, tell=tell)
        clusters = {e.id: e.cluster for e in base.splits.test}
        comparisons = {
            (arm.name, other): compared(columns[other], columns[arm.name], plan, clusters)
            for arm in arms
            for other in (PLAIN, *([arm.control] if arm.control else []))
            if arm.name != other
        }
        improvement = Improvement(
            path,
            model,
            base.splits.test.name,
            base.further,
            numbers,
            plan=plan,
            recipes={a.name: a.recipe.what for a in arms},
            comparisons=comparisons,
            costs=costs,
            again=not fresh,
            search=outcome,
        )
        write_json(path / FILE, _with_earlier(path / FILE, improvement.to_json()))
    return improvement


def _with_earlier(file: Path, now: dict[str, Json]) -> dict[str, Json]:
    """Merge the record with earlier recipes in this directory."""
    try:
        earlier: dict[str, Any] = json.loads(file.read_text("utf-8"))
        comparisons = [c for c in earlier["comparisons"] if c["arm"] not in now["recipes"]]  # type: ignore[operator]
        merged = {key: {**earlier[key], **now[key]} for key in ("recipes", "costs")}  # type: ignore[dict-item]
    except (OSError, ValueError, KeyError, TypeError):
        return now
    searched = {"search": earlier["search"]} if "search" in earlier else {}
    return {**searched, **now, **merged, "comparisons": [*comparisons, *now["comparisons"]]}  # type: ignore[misc]


def _spec(recipe: str | Spec) -> Spec:
    """Parse a recipe; `attention-adversarial` stands for the file name with an underscore."""
    spec = recipe if isinstance(recipe, Spec) else Spec.parse("recipe", recipe)
    spec = Spec("recipe", spec.name.replace("-", "_"), spec.params)
    arguments(spec)
    return spec


def _arms(specs: Sequence[Spec], modality: str) -> list[Arm]:
    arms = [Arm(PLAIN, Recipe(AS_IT_IS))]
    for spec in specs:
        recipe: Recipe = build(spec)(modality)
        name = spec.name.replace("_", "-")
        control = f"{name}-control" if recipe.control is not None else None
        arms.append(Arm(name, recipe, control))
        if recipe.control is not None and control is not None:
            arms.append(Arm(control, recipe.control))
    return arms


def _allowed(arm: Arm, base: Origin, modality: str) -> bool:
    try:
        _possible(arm, base, modality)
    except InputError:
        return False
    return True


def _possible(arm: Arm, base: Origin, modality: str) -> None:
    """Raise early the errors that training this arm would raise."""
    needs = {need for term in weighted_terms(arm.recipe.terms) for need in term.needs} if arm.recipe.terms else set()
    if "rationale" in needs and all(e.rationale is None for e in base.splits.train):
        remedy = phrase("errors.improve.data_that_them_regard_list")
        problem = phrase("errors.common.none_in_train", train=base.splits.train.name)
        raise InputError(
            phrase("errors.improve.recipe_arm", arm=arm.name),
            expected=phrase("errors.common.examples_with_rationale"),
            got=problem,
            remedy=remedy,
        )
    unknown = set(arm.recipe.learner) - {p.name for p in entry("learner", base.learner.name).parameters}
    if unknown:
        raise InputError(
            phrase("errors.improve.recipe_arm", arm=arm.name),
            expected=phrase("errors.improve.learner_with_unknown", unknown=", ".join(sorted(unknown))),
            got=base.learner.name,
        )
    if arm.recipe.looks and modality != "text":
        remedy = phrase("errors.improve.with_adversarial_noise_or_smoothness")
        expected = phrase("errors.common.network_with_one_attention_over")
        raise InputError(
            phrase("errors.improve.recipe_arm", arm=arm.name),
            expected=expected,
            got=phrase("errors.improve.one_that_reads", noun=modality),
            remedy=remedy,
        )


def _trained(
    base: Origin, arm: Arm, path: Path, seeds: Sequence[int], settings: Mapping[str, Json], *, device: str, say: Say
) -> tuple[Trained, dict[str, float]]:
    """Train one family and return its cost."""
    params = {
        **base.learner.params,
        **({"looks": True} if arm.recipe.looks and base.further else {}),
        **arm.recipe.learner,
    }
    with _stopwatch() as watch:
        trained = train(
            Spec("learner", base.learner.name, params),
            base.splits,
            out=path / arm.name,
            seeds=len(seeds),
            seed=seeds[0],
            settings=settings,
            terms={**CROSS_ENTROPY, **arm.recipe.terms},
            augment=arm.recipe.augment,
            device=device,
            announce=say,
        )
    epochs = float(np.mean([len(m["epochs"]) for m in trained.members]))
    return trained, {"epochs": epochs, **watch.cost(path / f"{arm.name}.cost.json")}


class _Watch:
    """CPU time and steps of the trainings inside a block, stored in a file to survive an interruption."""

    def __init__(self, listener: Any) -> None:
        self.steps, self.seconds, self.listener = 0, 0.0, listener
        self._last = time.process_time()

    def __call__(self, report: Report) -> None:
        now = time.process_time()
        # skip the first step of an epoch, which includes data preparation or evaluation on dev
        if report.step > 1 and not report.epoch_is_over:
            self.steps, self.seconds = self.steps + 1, self.seconds + now - self._last
        if self.listener is not None:
            self.listener(report)
        self._last = time.process_time()

    def cost(self, file: Path) -> dict[str, float]:
        if self.steps:
            write_json(file, {"milliseconds_per_step": 1000 * self.seconds / self.steps, "steps_timed": self.steps})
        try:
            return read_record(file)
        except (OSError, Mismatch):  # nothing timed, or a damaged record: unknown cost
            return {}


@contextmanager
def _stopwatch() -> Iterator[_Watch]:
    watch = _Watch(progress.get())
    with reporting(watch):
        yield watch


def _measured(
    arms: Sequence[str], base: Origin, plan: Plan, path: Path, seeds: Sequence[int], *, tell: Tell | None
) -> dict[str, list[dict[str, dict[str, float]]]]:
    """Measure every arm and seed, reusing stored columns."""
    by_arm: dict[str, list[dict[str, dict[str, float]]]] = {arm: [] for arm in arms}
    finished, whole = 0, len(arms) * len(seeds)
    for seed in seeds:
        table = path / "substitutes" / f"seed-{seed}.json"
        for arm in arms:  # plain first: its neighbours attack every arm of this seed
            file = path / "measured" / arm / f"seed-{seed}.json"
            columns = read_columns(file)
            if columns is None:
                if tell is not None:
                    tell(Message.of("improvement.arm_seed", arm=arm, seed=seed), finished, whole)
                folder = path / arm if len(seeds) == 1 else path / arm / f"seed-{seed}"
                measurements = NetworkMeasurements(folder, base.splits.test, plan)
                if plan.attack == "greedy_word" and not table.is_file():
                    table.parent.mkdir(parents=True, exist_ok=True)
                    measurements.substitutes(table)
                measured = measurements.columns(table if table.is_file() else None, own=arm == PLAIN)
                write_columns(file, measured, {"model": measurements.model.fingerprint})
                columns = read_columns(file) or {}  # as stored
            by_arm[arm].append(columns)
            finished += 1
    return by_arm


def _silent(sentence: Text) -> None:
    """Ignore messages."""
