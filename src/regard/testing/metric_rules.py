"""Rules for metrics: a value or an honest NaN per example, the declared direction, a preference for the truth."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from regard.errors import Unsupported
from regard.records import Relevance, Score
from regard.registry import describe
from regard.testing.explainer_rules import failure
from regard.testing.toy import TEXTS, ToyCase

Metric = Callable[..., Any]
TOLERANCE = 1e-6
DRAWS = 20
TRUTH_SEEKING = ("faithfulness", "agreement", "plausibility")
"""Families of metrics that must rank the true relevance above chance and above its inverse."""

ONE_SIDED = (
    "a truly wonderful film",
    "wonderful good and good again",
    "truly the best good long film of a good year",
    "wonderful cast in a good story",
)
"""Cases without opposing words: signed and unsigned rankings agree on the truth and its inverse."""


def metric_problems(function: Metric) -> Iterator[str]:
    """Yield the rules that a metric breaks."""
    for rule in (_shape, _repeats_in_any_order, _parameters, _prefers_the_truth):
        try:
            yield from rule(function)
        except Exception as error:
            yield failure(error, "it was given")


def planted(case: ToyCase, kind: str, draw: int = 0) -> Relevance:
    """The true relevance, its inverse (largest last), or a random one; special units 0."""
    rows = []
    for i, units in enumerate(case.units):
        exact = case.exact(i)
        noise = case.rng(i, "planted", draw).random(len(units))
        row = {"truth": exact, "inverse": exact.max(initial=0.0) - exact, "random": noise}[kind]
        rows.append(np.where(units.free, row, 0.0))
    return Relevance.of("planted", case.ids, rows, signed=kind == "truth")


def _shape(function: Metric) -> Iterator[str]:
    case, entry = ToyCase(), describe(function)
    score = function(case, planted(case, "truth"))
    if not isinstance(score, Score):
        yield f"it returns {type(score).__name__}, not a Score"
        return
    if (score.metric, score.method, score.ids) != (entry.name, "planted", case.ids):
        yield f"its score is about {(score.metric, score.method)} and {len(score.ids)} examples"
    if score.better != entry.facts["better"]:
        yield f"it is declared better={entry.facts['better']!r} but its score says {score.better!r}"
    if np.isnan(score.values).all():
        yield "all values are undefined"
    if TEXTS[-1] == "" and "removal" in list(map(str, _list(entry.facts["needs"]))) and not np.isnan(score.values[-1]):
        yield "an example without removable units must be NaN"
    try:
        json.dumps(dict(score.where))
    except TypeError as error:
        yield f"`where` is not JSON: {error}"
    for name, curve in score.curves.items():
        points = np.shape(curve)
        if len(points) != 2 or points[0] != len(score.ids) or points[1] not in (1, len(score.grid)):
            yield f"curve {name!r} has shape {points} for {len(score.ids)} examples and a grid of {len(score.grid)}"


def _list(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else []


def _repeats_in_any_order(function: Metric) -> Iterator[str]:
    n = len(TEXTS)
    for kind in ("truth", "random"):
        whole = _values(function, range(n), kind)
        if not np.array_equal(whole, _values(function, range(n), kind), equal_nan=True):
            yield "the same relevance gets other values the second time"
        back = _values(function, range(n)[::-1], kind)[::-1]
        alone = np.concatenate([_values(function, [i], kind) for i in range(n)])
        for name, other in (("in another order", back), ("alone", alone)):
            if not np.allclose(whole, other, rtol=0, atol=TOLERANCE, equal_nan=True):
                yield f"examples {name} get other values"


def _values(function: Metric, positions: Sequence[int], kind: str) -> np.ndarray:
    case = ToyCase().subset(positions)
    return np.asarray(function(case, planted(case, kind)).values)


def _parameters(function: Metric) -> Iterator[str]:
    case, parameters = ToyCase(), describe(function).parameters
    defaults = {p.name: tuple(p.default) if isinstance(p.default, list) else p.default for p in parameters}
    truth = planted(case, "truth")
    if not np.array_equal(function(case, truth).values, function(case, truth, **defaults).values, equal_nan=True):
        yield "giving the defaults explicitly changes the values"
    for parameter in parameters:
        for choice in parameter.choices:
            try:
                values = function(case, truth, **{parameter.name: choice}).values
            except Unsupported:  # the toy model may lack what a choice needs
                continue
            if np.isnan(values).all():
                yield f"{parameter.name}={choice!r} leaves nothing defined"


def _prefers_the_truth(function: Metric) -> Iterator[str]:
    facts = describe(function).facts
    better = facts["better"]
    # stable, simple or model-dependent is not true: a constant is the most stable of all
    if better == "none" or facts.get("family") not in TRUTH_SEEKING:
        return
    # an empty text leans the other way, so that a decision can be undone by taking its evidence away
    case, sign = ToyCase(ONE_SIDED, lean=-0.5), 1 if better == "higher" else -1

    def mean(kind: str, draw: int = 0) -> float:
        return sign * float(np.nanmean(function(case, planted(case, kind, draw)).values))

    truth, inverse = mean("truth"), mean("inverse")
    chance = float(np.mean([mean("random", draw) for draw in range(DRAWS)]))
    if not truth > chance:
        yield f"a random relevance scores {sign * chance:.3f}, as good as the truth with {sign * truth:.3f}"
    if not truth > inverse:
        yield f"the inverse of the truth scores {sign * inverse:.3f}, as good as the truth with {sign * truth:.3f}"
