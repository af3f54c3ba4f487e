"""Erasure of attention weights until the prediction flips."""

from __future__ import annotations

import numpy as np

from regard.desk.site_questions import weight_gradients
from regard.errors import Unsupported, phrase
from regard.experiments._finding import finding
from regard.experiments._map import Map, setting
from regard.experiments._weight_batches import answers, decided, read, without
from regard.measures.divergence import jsd
from regard.measures.ranking import order
from regard.protocols import Case, Findings
from regard.records import Bools, Floats, Ints, Json, Score
from regard.registry import InProfile, experiment

ROLES = {"random": "null", "best of these": "ceiling"}


@experiment(
    question="Does erasing the largest weight flip the prediction, and how many weights must go until it flips?",
    needs=("attention",),
    cite="Serrano & Smith 2019",
    formula="JS(p, p without the largest weight) beside that without another; share of the units whose weights are "
    "set to 0, the rest renormalised, until the decision changes, by attention, its gradient, their product, chance",
    cost="`steps` forwards above the attention for each of four orders, and a gradient",
    misleads="renormalization turns small weights into large ones; redundant evidence hides a flip; a single "
    "weight rarely flips the prediction even in faithful models",
    profile=(
        InProfile(("standard",), 12, "steps=12"),
        InProfile(("full",), 12),
    ),
)
def erasure(case: Case, *, steps: int = 32, layers: str | int = "last", heads: str | int = "mean") -> Findings:
    """Share of attention weights to erase, by several orders, until the prediction flips.

    Returns, for one weight (`attention`: the largest, `random`: another one, the null): `erased_js` (0..ln 2) and
    `erased_flips`. For sets in the order of `attention`, `gradient` (of the prediction by the weight), `product`,
    `random` (the null), and `best of these` (the ceiling): `erased_units`, the share of the units whose weights must
    go, 1 where the decision stays to the last unit; `erased_mass`, their share of the attention; `erased_never`.
    All sizes are tried up to `steps` units, else as many even steps. Undefined below two units. States are kept.
    """
    map_list, lines = read(case, layers, heads, "erasure")
    _, own = decided(case)
    short = np.array([len(m) < 2 for m in map_list])
    where: dict[str, Json] = setting(layers, heads)
    scores = _single(
        case,
        map_list,
        where,
        answers(case, map_list, [without(m, _one(case, i, m)) for i, m in enumerate(map_list)], lines),
    )
    orders = _orders(case, map_list)
    columns: dict[str, dict[str, Floats]] = {}
    for name, ranked in orders.items():
        sizes = [_sizes(len(m), steps) for m in map_list]
        away = [_first(ranked[i], sizes[i], len(m)) for i, m in enumerate(map_list)]
        outputs = answers(case, map_list, [without(m, a) for m, a in zip(map_list, away, strict=True)], lines)
        ends = np.array([_end(rows, int(own[i])) for i, rows in enumerate(outputs)])
        never = ends < 0
        units = np.array([1.0 if e < 0 else sizes[i][e] / len(map_list[i]) for i, e in enumerate(ends)])
        mass = np.array([1.0 if e < 0 else map_list[i].alpha[away[i][e]].sum() for i, e in enumerate(ends)])
        columns[name] = {"erased_units": units, "erased_mass": mass, "erased_never": never.astype(np.float64)}
    best = {metric: np.min([c[metric] for c in columns.values()], axis=0) for metric in columns["attention"]}
    for name, values in {**columns, "best of these": best}.items():
        for metric, column in values.items():
            role = {**where, "role": ROLES.get(name, "method")}
            scores.append(finding(metric, case.ids, np.where(short, np.nan, column), role, method=name))
    return scores


def _one(case: Case, i: int, m: Map) -> Bools:
    """Return (2, unit) weights: without the largest one, and without another random one."""
    largest = int(order(m.alpha)[0])
    others = [t for t in range(len(m)) if t != largest]
    other = others[int(case.rng(i, "erasure", "one").integers(len(others)))] if others else largest
    away = np.zeros((2, len(m)), np.bool_)
    away[0, largest] = away[1, other] = True
    return away


def _single(case: Case, found: list[Map], where: dict[str, Json], said: list[Floats]) -> list[Score]:
    base, own = decided(case)
    short = np.array([len(m) < 2 for m in found])
    scores = []
    for k, name in enumerate(("attention", "random")):
        role: dict[str, Json] = {**where, "role": ROLES.get(name, "method")}
        far = np.array([float(jsd(rows[k], base[i])) for i, rows in enumerate(said)])
        flips = np.array([float(rows[k].argmax() != own[i]) for i, rows in enumerate(said)])
        scores.append(finding("erased_js", case.ids, np.where(short, np.nan, far), role, method=name))
        scores.append(finding("erased_flips", case.ids, np.where(short, np.nan, flips), role, method=name))
    return scores


def _orders(case: Case, found: list[Map]) -> dict[str, list[Ints]]:
    ranked = {"attention": [order(m.alpha) for m in found]}
    try:
        slopes = [_slopes(case, i, m) for i, m in enumerate(found)]
        ranked["gradient"] = [order(_scaled(g)) for g, _ in slopes]
        ranked["product"] = [order(_scaled(p)) for _, p in slopes]
    except Unsupported:  # without gradients the other orders are still worth looking at
        pass
    ranked["random"] = [case.rng(i, "erasure", "set").permutation(len(m)) for i, m in enumerate(found)]
    return ranked


def _slopes(case: Case, i: int, m: Map) -> tuple[Floats, Floats]:
    """Return (unit,) the gradient by a unit's weights, and gradient x weight, summed over rows and heads."""
    gradients = {s.site.key: np.asarray(s.gradient, np.float64) for s in weight_gradients(case, i, "frozen")}
    gradient, product = np.zeros(len(m)), np.zeros(len(m))
    for rows in m.sites:
        if rows.read.site not in gradients:
            raise Unsupported(
                "erasure",
                expected=phrase("errors.experiments.gradient_site", site=rows.read.site),
                got=phrase("errors.common.none"),
            )
        whole = gradients[rows.read.site]
        head_gradient = whole if rows.read.heads is None else whole[list(rows.read.heads)]
        part = rows.by_unit(head_gradient[:, list(rows.read.queries)])
        gradient += part.sum((0, 1))
        product += (part * rows.weights).sum((0, 1))
    return gradient, product


def _scaled(values: Floats) -> Floats:
    """Scale the largest value to 1, so that ties are comparable."""
    largest = np.abs(values).max(initial=0.0)
    return values / largest if largest > 0 else values


def _sizes(n: int, steps: int) -> Ints:
    """Return the set sizes 1, 2, ... n - 1, or `steps` of them."""
    return np.unique(np.linspace(1, max(1, n - 1), min(max(1, n - 1), steps)).round().astype(np.int64))


def _first(ranked: Ints, sizes: Ints, n: int) -> Bools:
    away = np.zeros((len(sizes), n), np.bool_)
    for row, size in zip(away, sizes, strict=True):
        row[ranked[:size]] = True
    return away


def _end(rows: Floats, own: int) -> int:
    """Return the first step with a flipped prediction; -1 if none."""
    other = np.flatnonzero(rows.argmax(-1) != own)
    return int(other[0]) if len(other) else -1
