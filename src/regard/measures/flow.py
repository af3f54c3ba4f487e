"""Attention flow (Abnar & Zuidema 2020): the maximum flow from the output position down to each input.

Nodes are positions in layers, edges carry at most as much as the attention there. The graph is dense and layered, so
Dinic's algorithm needs no edge lists. Uses numba if installed (`pip install regard[fast]`), else scipy, else plain
Python; the values agree to 1e-6.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.errors import phrase
from regard.measures.dinic import flow_to_every_input

Floats = NDArray[np.float64]
Engine = Literal["numba", "scipy", "python"]
_WHOLE = 1 << 30
_ENGINE: ContextVar[Engine | None] = ContextVar("engine of max_flows", default=None)


class Flows(NamedTuple):
    """Maximum flows. values: (n,) flow to each input. bound: (n,) the smaller of inflow and capacity at the input.

    If the two are equal, the flow is saturated: it says nothing about the layers between.
    """

    values: Floats
    bound: Floats

    @property
    def saturated(self) -> NDArray[np.bool_]:
        return self.values >= self.bound - 1e-6


def max_flows(layers: Sequence[ArrayLike], entrance: ArrayLike, *, engine: Engine | None = None) -> Flows:
    """The maximum flow to every input.

    layers: one (n, n) matrix per layer, the lowest first; [i, j] is the capacity from position i to position j below.
    entrance: (n,) capacity into each position of the last layer. Without layers, the inflow arrives unchanged.

    >>> a = np.array([[0.5, 0.5], [1.0, 0.0]])
    >>> max_flows([a, a], [1.0, 0.0]).values.tolist()
    [1.0, 0.5]
    """
    enters = np.asarray(entrance, np.float64)
    if not len(layers):
        return Flows(enters, enters)
    caps = np.ascontiguousarray(np.stack([np.asarray(a, np.float64) for a in reversed(layers)]))
    if caps.ndim != 3 or caps.shape[1:] != (len(enters), len(enters)):
        raise ValueError(phrase("errors.measures.flow_matrices", shape=caps.shape[1:]))
    enters = np.minimum(enters, caps[0].sum(1))
    bound = np.minimum(enters.sum(), caps[-1].sum(0))
    values = _ENGINES[engine or _ENGINE.get() or best_engine()](caps, enters, bound)
    return Flows(np.minimum(values, bound), bound)


@contextmanager
def uncompiled() -> Iterator[None]:
    """Disable compilation inside the block: for a few inputs, compiling takes longer than the flow."""
    token = _ENGINE.set("scipy" if importlib.util.find_spec("scipy") is not None else "python")
    try:
        yield
    finally:
        _ENGINE.reset(token)


@cache
def best_engine() -> Engine:
    """The fastest installed engine."""
    for name in ("numba", "scipy"):
        if importlib.util.find_spec(name) is not None:
            return "numba" if name == "numba" else "scipy"
    return "python"


@cache
def _compiled() -> Callable[[Floats, Floats, Floats], Floats]:
    import numba

    compiled: Callable[[Floats, Floats, Floats], Floats] = numba.njit(cache=True)(flow_to_every_input)
    return compiled


def _by_numba(caps: Floats, enters: Floats, bound: Floats) -> Floats:
    return _compiled()(caps, enters, bound)


def _by_scipy(caps: Floats, enters: Floats, bound: Floats) -> Floats:
    """Compute the flow by scipy, with capacities as integers up to 2^30: exact to n / 2^31."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    depth, n, _ = caps.shape
    level, i, j = np.nonzero(caps > 0)
    start = np.flatnonzero(enters > 0)
    source = (depth + 1) * n
    rows = np.concatenate([level * n + i, np.full(len(start), source)])
    columns = np.concatenate([(level + 1) * n + j, start])
    whole = np.rint(np.concatenate([caps[level, i, j], enters[start]]) * _WHOLE).astype(np.int32)
    graph: Any = csr_array((whole, (rows, columns)), shape=(source + 1, source + 1))
    return np.array([maximum_flow(graph, source, depth * n + t).flow_value / _WHOLE for t in range(n)])


_ENGINES: dict[Engine, Callable[[Floats, Floats, Floats], Floats]] = {
    "numba": _by_numba,
    "scipy": _by_scipy,
    "python": flow_to_every_input,
}
