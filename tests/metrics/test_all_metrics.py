"""One body for all metrics: the truth above chance and above its inverse, on planted texts; every fact is stated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from regard.datasets.builtin.planted import KEYWORDS, planted
from regard.records import Example, Relevance, Score
from regard.registry import entry, find, names
from regard.testing.metric_rules import TRUTH_SEEKING
from regard.testing.toy import ToyCase

METRICS = names("metric")
SEEKING = [name for name in METRICS if entry("metric", name).facts["family"] in TRUTH_SEEKING]
DRAWS = 3


@cache
def _data() -> tuple[Example, ...]:
    return tuple(planted(n=12, length=9, evidence=2))


@cache
def _case() -> ToyCase:
    """A linear bag of words over the texts of `planted`: by construction it reads the keywords and a little of the
    rest, and its rationales are those of the data."""
    weights = {word: (-2.0, 2.0)[label] + 0.1 * i for label in (0, 1) for i, word in enumerate(KEYWORDS[label])}
    # an empty text leans a little to the negative side; the keywords of two words decide either way
    return ToyCase([replace(e, id=f"toy:{e.inputs['text']}") for e in _data()], weights=weights, lean=-0.3)


def _relevance(case: ToyCase, kind: str, draw: int = 0) -> Relevance:
    """The truth is the exact attribution, the inverse its negative ranking, shifted so that both are unsigned."""
    rows = []
    for i, units in enumerate(case.units):
        exact = case.exact(i)
        drawn = case.rng(i, "chance", draw).random(len(units))
        row = {"truth": exact, "inverse": exact[units.free].max() - exact, "chance": drawn}[kind]
        rows.append(np.where(units.free, row, 0.0))
    return Relevance.of("planted", case.ids, rows, signed=True)


def _mean(metric: Callable[..., Score], relevance: Relevance, **params: Any) -> float:
    values = metric(_case(), relevance, **params).values
    assert np.isfinite(values).mean() > 0.5, "most planted texts must have a value"
    return float(np.nanmean(values))


def test_the_shelf_is_whole() -> None:
    assert {
        "comprehensiveness", "sufficiency", "aopc", "log_odds", "decision_flip", "deletion_area", "insertion_area",
        "monotonicity", "infidelity", "max_sensitivity", "local_lipschitz", "completeness_error", "agreement",
        "entropy", "effective_units", "gini", "weight_randomisation", "label_randomisation",
        "token_f1", "iou_f1", "auprc",
    } <= set(METRICS)  # fmt: skip


@pytest.mark.parametrize("name", SEEKING)
def test_the_truth_above_chance_and_above_its_inverse(name: str) -> None:
    metric, better = find("metric", name), entry("metric", name).facts["better"]
    sign = {"higher": 1, "lower": -1}[str(better)]
    takes_operator = any(p.name == "operator" for p in entry("metric", name).parameters)
    for params in [{"operator": "delete"}, {"operator": "mask"}] if takes_operator else [{}]:
        truth, inverse = (sign * _mean(metric, _relevance(_case(), kind), **params) for kind in ("truth", "inverse"))
        chance = [sign * _mean(metric, _relevance(_case(), "chance", draw), **params) for draw in range(DRAWS)]
        assert truth > max(chance), f"{name} {params}: truth {truth:.3f}, chance {chance}"
        assert truth > inverse, f"{name} {params}: truth {truth:.3f}, inverse {inverse:.3f}"


@pytest.mark.parametrize("name", METRICS)
def test_every_fact_is_stated(name: str) -> None:
    facts = entry("metric", name).facts
    # simple is not right: a description of the relevance has no direction
    assert facts["better"] in (("none",) if facts["family"] == "complexity" else ("higher", "lower"))
    for fact in ("family", "formula", "cite", "baseline", "ceiling", "cost", "misleads"):
        assert facts[fact], f"{name} does not state its {fact}"


@pytest.mark.parametrize("name", METRICS)
def test_metrics_of_removal_take_an_operator(name: str) -> None:
    found = entry("metric", name)
    takes = any(p.name == "operator" for p in found.parameters)
    assert takes == ("removal" in (found.facts["needs"] or ())), "at least two operators wherever units are removed"


@pytest.mark.parametrize("name", METRICS)
def test_undefined_is_nan_and_never_infinite(name: str) -> None:
    """Texts of no word and of one word, a relevance of zeros: a value, or NaN, which is counted."""
    case = ToyCase(("", "dull", "a truly wonderful film"))
    for row in (0.0, 1.0):
        flat = Relevance.of("planted", case.ids, [np.where(u.free, row, 0.0) for u in case.units], signed=True)
        got = find("metric", name)(case, flat).values
        assert not np.isinf(got).any()
        assert np.isnan(got[0]), "nothing can be said about an empty text"
