"""Cost of a classifier's errors, overall and by group, beside the cheapest constant answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from regard.measures.intervals import Interval
from regard.measures.mean_interval import mean_interval

EVERYONE = "all"


@dataclass(frozen=True, slots=True)
class GroupCost:
    """Examples of one group: share of errors and mean cost with their intervals.

    constant: the mean cost of the cheapest answer that is the same for everyone (chosen on all examples).
    """

    group: str
    n: int
    errors: Interval
    cost: Interval
    constant: float


def error_costs(
    labels: Sequence[str],
    predictions: Sequence[str],
    costs: Mapping[tuple[str, str], float],
    *,
    groups: Sequence[str] | None = None,
    clusters: Sequence[str] | None = None,
) -> list[GroupCost]:
    """Mean cost per example over all examples, then of each group.

    costs: (label, prediction) -> cost; an unnamed pair costs 0 if both agree and 1 if they differ.

    >>> rows = error_costs(["bad", "good", "good"], ["good", "good", "good"], {("bad", "good"): 10})
    >>> round(rows[0].cost.estimate, 2), rows[0].constant, rows[0].n
    (3.33, 0.6666666666666666, 3)
    """

    def price(label: str, prediction: str) -> float:
        return float(costs.get((label, prediction), 0.0 if label == prediction else 1.0))

    ids = list(clusters) if clusters is not None else [str(i) for i in range(len(labels))]
    names = list(groups) if groups is not None else [EVERYONE] * len(labels)
    answers = sorted({*labels, *predictions})
    cheapest = min(answers, key=lambda answer: sum(price(label, answer) for label in labels))
    rows = []
    for group in (EVERYONE, *sorted(set(names) - {EVERYONE})):
        members = [i for i, name in enumerate(names) if group in (EVERYONE, name)]
        own = [ids[i] for i in members]
        spent = [price(labels[i], predictions[i]) for i in members]
        wrong = [float(labels[i] != predictions[i]) for i in members]
        rows.append(
            GroupCost(
                group=group,
                n=len(members),
                errors=mean_interval(wrong, own),
                cost=mean_interval(spent, own, kind="amount"),
                constant=sum(price(labels[i], cheapest) for i in members) / len(members),
            )
        )
    return rows
