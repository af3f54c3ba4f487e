"""Rounds of an audit with a budget: the order of the examples, and the numbers at which it consults the judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from regard.measures.keyed_random import keyed_rng

PILOT = 16
"""Examples of the first round, if the budget allows."""
SMALLEST_PILOT = 2
LOOKS = (16, 32, 64, 100, 160, 240, 360, 540, 800)
"""Cumulative numbers of examples; later ones grow by half."""
MOST_CLASSES = 50
"""Maximum classes by which rounds are balanced; a model with more distinct answers counts as having none."""
_GOLDEN = 0.6180339887498949


def round_order(predictions: Sequence[Mapping[str, Any]], seed: int) -> list[str]:
    """The ids in the order in which rounds take them: predicted classes in turn, each spread over its lengths.

    predictions: id, target and length of each example (see `Run.predictions`).

    >>> rows = [{"id": f"{c}{n}", "target": c, "length": n} for c in (0, 1) for n in (1, 2, 3)]
    >>> [name[0] for name in round_order(rows, 0)][:4] in (["0", "1", "0", "1"], ["1", "0", "1", "0"])
    True
    """
    classes: dict[object, list[Mapping[str, Any]]] = {}
    for row in predictions:
        classes.setdefault(row["target"] if isinstance(row["target"], int) else None, []).append(row)
    if len(classes) > MOST_CLASSES:
        classes = {None: list(predictions)}
    turns = [_spread(rows, seed, str(name)) for name, rows in sorted(classes.items(), key=lambda item: str(item[0]))]
    return [name for turn in zip_longest(*turns) for name in turn if name is not None]


def _spread(rows: Sequence[Mapping[str, Any]], seed: int, key: str) -> list[str]:
    """Order the rows such that every beginning of the list is spread evenly over the lengths.

    Multiples of the golden ratio leave gaps of at most three sizes, so the first k keys are an even sample.
    """
    start = float(keyed_rng(seed, "rounds", key).random())
    ties = {str(row["id"]): float(keyed_rng(seed, "rounds", str(row["id"])).random()) for row in rows}
    ordered = sorted(rows, key=lambda row: (int(row["length"]), ties[str(row["id"])]))
    keys = [(start + i * _GOLDEN) % 1.0 for i in range(len(ordered))]
    return [str(ordered[i]["id"]) for i in sorted(range(len(ordered)), key=keys.__getitem__)]


def planned_looks(pilot: int, most: int) -> list[int]:
    """Return the cumulative numbers of examples at which to consult the judge: each about 1.5 times the last.

    >>> planned_looks(16, 90), planned_looks(16, 20), planned_looks(2, 2)
    ([16, 32, 64, 90], [16, 20], [2])
    """
    sizes = [n for n in LOOKS if pilot < n < most]
    while sizes and sizes[-1] * 1.5 < most and sizes[-1] >= LOOKS[-1]:
        sizes.append(round(sizes[-1] * 1.5))
    if len(sizes) > 1 and sizes[-1] * 1.25 > most:
        sizes.pop()
    return [*([pilot] if pilot < most else []), *sizes, most]
