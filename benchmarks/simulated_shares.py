"""Simulated evidence in which the map finds a given share of the possible effect on each example, with noise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from regard.judge.evidence import Curves, Evidence
from regard.records import Floats

OPERATORS = ("mask", "delete", "resample")
OTHERS = ("integrated_gradients", "gradient", "leave_one_out:mask", "leave_one_out:delete")
Draw = Callable[[np.random.Generator, int], Floats]


def truncated(mean: float, spread: float) -> Draw:
    """A normal distribution within 0..1: one peak, bounded."""

    def draw(rng: np.random.Generator, n: int) -> Floats:
        values = rng.normal(mean, spread, 40 * n)
        return np.asarray(values[(values >= 0) & (values <= 1)][:n])

    return draw


ONE_POPULATION: dict[str, Draw] = {
    "uniform": lambda rng, n: rng.random(n),
    "middle": lambda rng, n: rng.beta(4, 4, n),
    "wide": lambda rng, n: rng.beta(1.2, 1.2, n),
    "skewed to right": lambda rng, n: rng.beta(3, 1, n),
    "long tail to wrong": lambda rng, n: rng.beta(1.5, 0.7, n),
    "skewed to wrong": lambda rng, n: rng.beta(1, 3, n),
    "narrow at good": lambda rng, n: np.clip(rng.normal(0.7, 0.05, n), 0, 1),
    "narrow at poor": lambda rng, n: np.clip(rng.normal(0.3, 0.05, n), 0, 1),
    "truncated": truncated(0.6, 0.4),
    "all right": lambda rng, n: np.ones(n),
    "all wrong": lambda rng, n: np.zeros(n),
}
"""Populations with one peak."""


def two_populations(wrong: float) -> Draw:
    """Right (about .95) and wrong (about .05) inputs."""

    def draw(rng: np.random.Generator, n: int) -> Floats:
        flags = rng.random(n) < wrong
        return np.where(flags, rng.beta(1, 18, n), rng.beta(18, 1, n))

    return draw


def simulated(
    draw: Draw, n: int, seed: int, *, noise: float = 0.04, units: int = 15, clusters: int = 1, silent: float = 0.1
) -> Evidence:
    """Evidence over n examples.

    Effects differ from example to example (bounded, skewed); a share of the examples (`silent`) has none. Random
    rankings hit the evidence as often as chance does. Noise is that of the operators, with a size of its own for every
    example. clusters: examples of one cluster have the same share, effect and noise size.
    """
    rng = np.random.default_rng(seed)
    groups = np.arange(n) // clusters
    count = int(groups.max()) + 1
    share = draw(rng, count)[groups][:, None]
    reach = np.where(rng.random(count) < silent, 0.0, 0.48 * rng.beta(2, 1.2, count))[groups][:, None]
    size = (noise * rng.gamma(2.0, 0.5, count))[groups][:, None]
    sizes = (1, 2, 3)
    chance = {f"random:{d}": rng.random((n, 3)) < np.array(sizes) / units for d in range(2)}
    pointing: dict[tuple[str, str], Curves] = {}
    for operator in OPERATORS:
        for ranking in ("attention", *OTHERS, *chance):
            finds = chance[ranking] if ranking in chance else share if ranking == "attention" else np.ones((n, 1))
            removed = 0.98 - reach * finds + size * rng.standard_normal((n, 3))
            own = ranking == f"leave_one_out:{operator}"
            pointing[ranking, operator] = Curves(np.clip(removed, 0, 1), None, own)
    names = tuple(f"e{i}" for i in range(n))
    return Evidence(
        ids=names,
        classes=tuple("no" if i % 2 else "yes" for i in range(n)),
        clusters=tuple(f"c{g}" for g in groups),
        probability=np.full(n, 0.98),
        neutral=np.full(n, 0.5),
        pointing=pointing,
        labels=("no", "yes"),
    )
