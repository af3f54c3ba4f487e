"""Every change of a prediction stands beside what nothing changes and the most that could."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from test_debate import MODELS, case_of

from regard.desk.questions import edited
from regard.experiments._map import distances, maps
from regard.experiments.conicity import conicity
from regard.experiments.map_shape import map_shape
from regard.experiments.permutation import permutation
from regard.experiments.random_weights import random_weights
from regard.experiments.single_heads import single_heads
from regard.experiments.uniform_weights import uniform_weights
from regard.protocols import Findings
from regard.records import Floats

CHANGES: dict[str, tuple[Callable[..., Findings], str, str]] = {
    "permutation": (permutation, "permuted", "permuted_flips"),
    "uniform_weights": (uniform_weights, "uniform", "uniform_flips"),
    "random_weights": (random_weights, "random_weights", "random_flips"),
}


def columns(found: Findings) -> dict[str, Floats]:
    assert all(s.where.get("role", "method") == "method" for s in found if not s.metric.endswith(("_null", "_ceiling")))
    assert all(s.metric.endswith(f"_{s.where['role']}") for s in found if "role" in s.where)
    return {s.metric: s.values for s in found}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_lies_between_the_same_weights_and_all_on_one_unit(model: str, name: str) -> None:
    experiment, change, flips = CHANGES[name]
    case = case_of(MODELS[model]())
    found = columns(experiment(case))
    np.testing.assert_allclose(found[f"{change}_null"], 0, atol=1e-5)
    assert not found[f"{flips}_null"].any()
    most = [
        max(
            float(distances(case.subset([i]), edited(case.subset([i]), [[m.single(t)]]))[0][0][0])
            for t in range(len(m))
        )
        for i, m in enumerate(maps(case, "last", "mean", "here"))
    ]
    np.testing.assert_allclose(found[f"{change}_ceiling"], most, atol=1e-6)
    assert found[change].mean() < found[f"{change}_ceiling"].mean()
    assert (found[f"{flips}_ceiling"] >= (found[flips] >= 1)).all()


@pytest.mark.parametrize("model", MODELS)
def test_the_shape_of_a_map_lies_within_its_ceilings(model: str) -> None:
    found = columns(map_shape(case_of(MODELS[model]())))
    np.testing.assert_allclose(found["flat_ceiling"], 1 - 1 / found["keys"])
    assert ((found["flat"] <= found["flat_ceiling"] + 1e-9) & (found["flat_null"] < found["flat_ceiling"])).all()
    # the triangle: a map cannot be far from both unless its own shuffle is
    assert (found["shuffled_ceiling"] <= found["locked"] + found["follows"] + 1e-9).all()


@pytest.mark.parametrize("model", MODELS)
def test_random_directions_point_apart_by_one_over_the_root_of_their_number(model: str) -> None:
    case = case_of(MODELS[model](), 64)
    found = columns(conicity(case))
    units = np.array([len(m) for m in maps(case, "last", "mean", "here")])
    assert found["conicity_null"].mean() == pytest.approx(np.mean(1 / np.sqrt(units)), abs=0.05)


@pytest.mark.parametrize("model", MODELS)
def test_no_head_gains_more_than_the_unit_that_costs_most(model: str) -> None:
    case = case_of(MODELS[model](), 64)
    scores = single_heads(case)
    found = {s.metric: s.values for s in scores if s.where.get("role")}
    heads = [s.values for s in scores if s.metric == "head_gain"]
    assert heads
    assert all((h <= found["head_gain_ceiling"] + 1e-9).all() for h in heads)
    spread = found["head_gain_null"].std() / np.sqrt(len(case.ids))
    assert abs(found["head_gain_null"].mean()) < 4 * spread
