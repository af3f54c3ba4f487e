"""Replacement of attention weights at test time, by size of the largest weight."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from regard.experiments._finding import finding
from regard.experiments._map import Map, setting
from regard.experiments._weight_batches import answers, changes, decided, given, moved, read
from regard.protocols import Case, Findings
from regard.records import Floats, Json, Score
from regard.registry import InProfile, experiment

EDGES = (0.0, 0.25, 0.5, 0.75, 1.0)


@experiment(
    question="Does the prediction depend on these weights, and more so the larger the largest one is?",
    needs=("attention",),
    cite="Jain & Wallace 2019; Vashishth et al. 2019; Wiegreffe & Pinter 2019",
    formula="median over draws of the total variation between predictions under the model's weights and under "
    "permuted, equal or random (Dirichlet) ones, by the largest weight; ceiling: attention on one unit at best",
    cost="`times` x 2 + 1 forwards and one per unit above the attention; 1 gradient in all where the answer is linear",
    misleads="the model was not trained with such weights; a small change may mean that all states carry the same "
    "information, or that the prediction is saturated; compare with the ceiling",
    profile=(
        InProfile(("standard",), 11, "times=20"),
        InProfile(("full",), 11),
    ),
)
def replacement(case: Case, *, times: int = 100, layers: str | int = "last", heads: str | int = "mean") -> Findings:
    """Change of the prediction under permuted, uniform and random weights, by largest weight.

    Returns, for each way (`permuted`, `uniform`, `random`; `one unit` is the ceiling): `replaced_change`, the median
    over draws (the largest for `one unit`), all examples together and by `largest_weight`; `replaced_flips`, the share
    of draws in which the decision changes; and, where examples have labels, `replaced_correct`, the share of draws with
    the right decision, beside that of the model itself (`attention`, the baseline): is attention here only a gate?
    Curve `distance`: (examples, draws) of the permutations. Undefined below two units.
    """
    map_list, lines = read(case, layers, heads, "replacement")
    base, own = decided(case)
    orders = [_orders(case, i, len(m), times) for i, m in enumerate(map_list)]
    shares = [case.rng(i, "replacement", 1).dirichlet(np.ones(len(m)), size=times) for i, m in enumerate(map_list)]
    ways: dict[str, list[list[Floats]]] = {
        "permuted": [moved(m, o) for m, o in zip(map_list, orders, strict=True)],
        "uniform": [given(m, np.full((1, len(m)), 1 / len(m))) for m in map_list],
        "random": [given(m, s) for m, s in zip(map_list, shares, strict=True)],
        "one unit": [given(m, np.eye(len(m))) for m in map_list],
    }
    short = np.array([len(m) < 2 for m in map_list])
    labels = _labels(case, base.shape[1])
    scores = []
    for way, weights in ways.items():
        outputs = answers(case, map_list, weights, lines)
        apart = changes(outputs, base)
        change = np.array([np.max(a) if way == "one unit" else np.median(a) for a in apart])
        flips = np.array([np.mean(rows.argmax(-1) != own[i]) for i, rows in enumerate(outputs)])
        where: dict[str, Json] = setting(layers, heads, role="ceiling" if way == "one unit" else "method")
        curves = {"distance": np.stack(apart)} if way == "permuted" else {}
        change = np.where(short, np.nan, change)
        scores.append(finding("replaced_change", case.ids, change, where, method=way, curves=curves))
        scores += _binned(case, map_list, way, change, where)
        scores.append(finding("replaced_flips", case.ids, np.where(short, np.nan, flips), where, method=way))
        if labels is not None and way != "one unit":
            share = [np.mean(rows.argmax(-1) == label) for rows, label in zip(outputs, labels, strict=True)]
            right = np.where(np.isnan(labels) | short, np.nan, share)
            scores.append(finding("replaced_correct", case.ids, right, where, method=way, better="higher"))
    if labels is not None:
        correct = np.where(np.isnan(labels), np.nan, own == labels)
        where = setting(layers, heads, role="baseline")
        scores.append(finding("replaced_correct", case.ids, correct, where, better="higher"))
    return scores


def _orders(case: Case, i: int, n: int, times: int) -> np.ndarray:
    return case.rng(i, "replacement", 0).permuted(np.tile(np.arange(n), (times, 1)), axis=1)


def _binned(case: Case, found: list[Map], way: str, change: Floats, where: dict[str, Json]) -> list[Score]:
    """Score the examples of each bin of the largest weight separately, as in Jain & Wallace's figures."""
    largest = np.array([m.alpha.max(initial=0.0) for m in found])
    scores = []
    for low, high in pairwise(EDGES):
        inside = np.flatnonzero((largest >= low) & ((largest < high) | (high == EDGES[-1])) & ~np.isnan(change))
        if len(inside):
            ids = tuple(case.ids[i] for i in inside)
            scores.append(
                finding(
                    "replaced_change", ids, change[inside], {**where, "largest_weight": f"{low}-{high}"}, method=way
                )
            )
    return scores


def _labels(case: Case, classes: int) -> Floats | None:
    """Return (examples,) the class of each label, NaN without one; None if no example has a label."""
    place = {name: k for k, name in enumerate(case.labels)} if len(case.labels) == classes else {}
    label_classes = np.array([place.get(str(e.label), np.nan) for e in case.examples], np.float64)
    return None if np.isnan(label_classes).all() else label_classes
