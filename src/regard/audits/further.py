"""The further stage of an audit with a budget: methods beyond the headline questions, most telling per pass first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from regard.audits.default_methods import HEADLINE, default_methods
from regard.audits.options import AuditOptions
from regard.audits.shard import Settings
from regard.records import Json, Spec
from regard.registry import entry

CHUNKS = (1, 8, 24, 56, 120, 250, 500)
"""Cumulative numbers of examples after which an item is compared with the others again."""
WEIGHTS = {"experiment": 4.0, "metric": 2.0, "explainer": 1.0}
"""Informativeness of a kind of item, before its rank."""
SHELF_RANK = 50
_RANK_SCALE = 10


@dataclass(slots=True)
class Item:
    """Method, or metrics that share their passes, of the further stage, with the cost so far.

    weight: how informative it is (see `WEIGHTS`).
    """

    name: str
    settings: Settings
    weight: float
    examples: int = 0
    passes: int = 0

    def expected(self, prior: float) -> float:
        """Expected passes per example: the measured cost, with `prior` counting as the first example."""
        return max(1.0, (self.passes + prior) / (self.examples + 1))

    def chunk(self, available: int, affordable: float, prior: float) -> int:
        """Return how many more examples to run now; 0 where the item is finished or not affordable."""
        target = next((n for n in CHUNKS if n > self.examples), available)
        if not self.examples:
            return min(1, available)
        return max(0, min(min(target, available) - self.examples, int(affordable / self.expected(prior))))


def headline_of(settings: Settings, options: AuditOptions) -> Settings:
    """Settings of the headline stage. All methods that the user named belong to it."""
    if named(options):
        return settings
    everything = settings.explainers
    explainers, metrics = (settings.headline or _headline(kind) for kind in ("explainer", "metric"))
    return replace(
        settings,
        explainers=tuple(s for s in settings.everywhere if s.name in explainers),
        metrics=tuple(s for s in settings.metrics if s.name in metrics),
        experiments=tuple(s for s in settings.experiments if is_headline(s) and _by_case(s)),
        sampled=0,
        share=1.0,
        audited=everything,
    )


def further_items(settings: Settings, options: AuditOptions) -> list[Item]:
    """Items of the further stage, in the order of their first run."""
    if named(options):
        return []
    headline = headline_of(settings, options)
    blank = replace(headline, explainers=(), metrics=(), experiments=())
    items = [
        Item(f"experiment {spec}", replace(blank, experiments=(spec,)), _weight(spec))
        for spec in settings.experiments
        if spec not in headline.experiments and _by_case(spec)
    ]
    metrics = [spec for spec in settings.metrics if spec not in headline.metrics]
    plain = [spec for spec in metrics if not _runs_explainers_again(spec)]
    if plain:
        name = "metrics " + ", ".join(dict.fromkeys(spec.name for spec in plain))
        items.append(Item(name, replace(blank, metrics=tuple(plain)), max(map(_weight, plain))))
    for spec in metrics:
        if spec not in plain:
            items.append(Item(f"metric {spec}", replace(blank, metrics=(spec,)), _weight(spec)))
    for spec in settings.explainers:
        if spec not in headline.explainers:
            shelf = replace(blank, explainers=(spec,), metrics=headline.metrics)
            items.append(Item(f"explainer {spec}", shelf, _weight(spec)))
    return sorted(items, key=lambda item: -item.weight)


def best_item(items: Sequence[Item], available: int, affordable: float, prior: float) -> tuple[Item, int] | None:
    """Return the most informative item per pass, and its number of further examples; None if none is affordable."""
    if affordable <= 0:
        return None
    chunks = [(item, item.chunk(available, affordable, prior)) for item in items]
    open_chunks = [(item, size) for item, size in chunks if size]
    return max(open_chunks, key=lambda pair: pair[0].weight / pair[0].expected(prior), default=None)


def named(options: AuditOptions) -> bool:
    """Return whether the user named methods, which then run on every example of the rounds."""
    return options.narrowed or options.experiments is not None


def own_headline() -> list[str]:
    """Experiments that have parameters of their own in the headline stage."""
    return [name for name in default_methods("experiment", HEADLINE) if ":" in name]


def is_headline(spec: Spec) -> bool:
    """Return whether an experiment with these parameters belongs to the headline stage."""
    own = {Spec.parse("experiment", name).name: Spec.parse("experiment", name) for name in own_headline()}
    if spec.name in own:
        return all(spec.params.get(key) == value for key, value in own[spec.name].params.items())
    return spec.name in _headline("experiment")


def _headline(kind: str) -> set[str]:
    return {Spec.parse(kind, name).name for name in default_methods(kind, HEADLINE)}


def _by_case(spec: Spec) -> bool:
    return entry(spec.kind, spec.name).facts.get("scope") == "case"


def _runs_explainers_again(spec: Spec) -> bool:
    return any(p.name == "share" for p in entry(spec.kind, spec.name).parameters)


def _weight(spec: Spec) -> float:
    rows = cast("Sequence[Json]", entry(spec.kind, spec.name).facts.get("profile", ()))
    ranks = [int(str(row["rank"])) for row in rows if isinstance(row, dict)]
    return WEIGHTS[spec.kind] / (_RANK_SCALE + min(ranks, default=SHELF_RANK))
