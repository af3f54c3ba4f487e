"""Maximum flow through layers: against networkx, between engines, and what follows from its definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
from networkx.algorithms.flow import preflow_push

from regard.measures.flow import Engine, best_engine, max_flows
from regard.measures.rollout import with_residual

ENGINES: tuple[Engine, ...] = ("numba", "scipy", "python")


def attentions(depth: int, n: int, *, sharp: float = 0.2, residual: float = 0.5, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [with_residual(rng.dirichlet(np.full(n, sharp), size=n), residual) for _ in range(depth)]


def by_networkx(layers: list[np.ndarray], entrance: np.ndarray, target: int) -> float:
    graph = nx.DiGraph()
    depth, n = len(layers), len(entrance)
    for level, a in enumerate(reversed(layers)):
        for i in range(n):
            for j in range(n):
                graph.add_edge((level, i), (level + 1, j), capacity=float(a[i, j]))
    for i in range(n):
        graph.add_edge("in", (0, i), capacity=float(entrance[i]))
    value: float = nx.maximum_flow_value(graph, "in", (depth, target), flow_func=preflow_push)
    return value


ENTRANCES: dict[str, Callable[[int], np.ndarray]] = {
    "one row": lambda n: np.eye(n)[n // 2],
    "all rows": lambda n: np.full(n, 1 / n),
    "a pooling": lambda n: np.random.default_rng(9).dirichlet(np.ones(n)),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("entrance", ENTRANCES)
@pytest.mark.parametrize(("depth", "n", "sharp"), [(1, 5, 1.0), (2, 6, 0.2), (3, 7, 0.05), (6, 8, 0.1)])
def test_the_flow_is_that_of_networkx(engine: Engine, entrance: str, depth: int, n: int, sharp: float) -> None:
    pytest.importorskip(engine if engine != "python" else "numpy")
    layers, enters = attentions(depth, n, sharp=sharp, seed=depth), ENTRANCES[entrance](n)
    got = max_flows(layers, enters, engine=engine).values
    np.testing.assert_allclose(got, [by_networkx(layers, enters, t) for t in range(n)], atol=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_engines_agree_also_without_residual_and_with_holes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    layers = [a * (rng.random(a.shape) < 0.4) for a in attentions(4, 12, residual=0.0, seed=seed)]
    enters = np.eye(12)[0]
    found = [max_flows(layers, enters, engine=e).values for e in ENGINES if _there(e)]
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], atol=1e-6)


def _there(engine: Engine) -> bool:
    try:
        max_flows([np.eye(2)], [1.0, 0.0], engine=engine)
    except ImportError:
        return False
    return True


def test_a_causal_model_sends_nothing_to_what_comes_later() -> None:
    layers = [with_residual(np.tril(a) / np.tril(a).sum(-1, keepdims=True), 0.5) for a in attentions(3, 6, sharp=1)]
    got = max_flows(layers, np.eye(6)[2]).values
    assert (got[3:] == 0).all()
    assert (got[:3] > 0).all()


def test_one_layer_is_the_row_itself_and_no_layer_the_entrance() -> None:
    (a,) = attentions(1, 5)
    np.testing.assert_allclose(max_flows([a], np.eye(5)[3]).values, a[3], atol=1e-12)
    np.testing.assert_allclose(max_flows([], [0.2, 0.8]).values, [0.2, 0.8])


def test_no_flow_exceeds_its_bound_and_deep_flows_reach_it() -> None:
    shallow, deep = (max_flows(attentions(d, 16, sharp=0.5), np.eye(16)[0]) for d in (2, 10))
    for flows in (shallow, deep):
        assert (flows.values <= flows.bound + 1e-12).all()
    first = attentions(10, 16, sharp=0.5)[0]
    np.testing.assert_allclose(deep.bound, np.minimum(1, first.sum(0)))
    assert deep.saturated.all(), "at depth the flow only tells what the first layer pays to a unit"
    assert not shallow.saturated.any()


def test_more_residual_alone_leads_straight_down() -> None:
    assert max_flows([np.eye(4)] * 3, np.eye(4)[1]).values.tolist() == [0, 1, 0, 0]


def test_wrong_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="square"):
        max_flows([np.ones((3, 4))], np.ones(3))


def test_the_fastest_engine_that_is_there_is_taken(monkeypatch: Any) -> None:
    import importlib.util

    best_engine.cache_clear()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert best_engine() == "python"
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name if name == "scipy" else None)
    best_engine.cache_clear()
    assert best_engine() == "scipy"
    best_engine.cache_clear()
