"""Evidence beside the audited attention: other networks, other methods, other heads, noise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from regard.records import Floats, Json, Score

REMOVALS = {"comprehensiveness": 1.0, "sufficiency": -1.0}
"""Stored metrics of removal, and the sign with which they speak for a method."""
SEEDS = "seeds"
"""The column of a finding that has a value for every row and training seed."""


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Values of one quantity: (rows, seeds); rows are examples, of the audit or of the test split of a training.

    clusters: what counts as one independent draw, for each row. where: the setting.
    """

    ids: tuple[str, ...]
    clusters: tuple[str, ...]
    values: Floats
    where: Mapping[str, Json] = field(default_factory=dict)

    def minus(self, other: Table, share: float = 1.0) -> tuple[Floats, tuple[str, ...]]:
        """(rows, seeds) self - share x other for the rows of both, and their clusters; one column serves all seeds."""
        place = {name: i for i, name in enumerate(other.ids)}
        rows = [i for i, name in enumerate(self.ids) if name in place]
        other_values = other.values[[place[self.ids[i]] for i in rows]]
        own_values = self.values[rows]
        if 1 not in (own_values.shape[1], other_values.shape[1]) and own_values.shape[1] != other_values.shape[1]:
            own_values, other_values = own_values.mean(-1, keepdims=True), other_values.mean(-1, keepdims=True)
        return own_values - share * other_values, tuple(self.clusters[i] for i in rows)


@dataclass(frozen=True, slots=True, eq=False)
class Beside:
    """tables: quantity -> every setting that it was measured in.

    methods: explainer -> operator -> (examples,) how well removal speaks of it, the larger the better, half from what
    is lost without its first units and half from what is kept by them alone. moved: explainer -> (examples,) how far
    noise moves it. forgets: explainer -> (examples,) its likeness after the model forgot everything. own: explainer ->
    the operator that it was made with. plain: explainers that look at no model.
    """

    tables: Mapping[str, tuple[Table, ...]] = field(default_factory=dict)
    methods: Mapping[str, Mapping[str, Floats]] = field(default_factory=dict)
    moved: Mapping[str, Floats] = field(default_factory=dict)
    forgets: Mapping[str, Floats] = field(default_factory=dict)
    own: Mapping[str, str] = field(default_factory=dict)
    plain: frozenset[str] = frozenset()

    def table(self, quantity: str, **where: Json) -> Table | None:
        """The first one in this setting; a lower bound only where there is nothing else."""
        candidates = self.tables.get(quantity, ())
        for table in sorted(candidates, key=lambda t: t.where.get("bound") == "lower"):
            if all(table.where.get(k) == v for k, v in where.items()):
                return table
        return None


def tables_of(findings: Iterable[Score], clusters: Mapping[str, str]) -> dict[str, tuple[Table, ...]]:
    """Map each quantity to its tables. The rows of a finding are its own; clusters come from the audit where it knows
    them.
    """
    tables: dict[str, list[Table]] = {}
    for score in findings:
        values = np.asarray(score.curves.get(SEEDS, score.values[:, None]), np.float64)
        own = tuple(clusters.get(name, name) for name in score.ids)
        where = {"of": score.method, **score.where}
        tables.setdefault(score.metric, []).append(Table(score.ids, own, values, where))
    return {name: tuple(some) for name, some in tables.items()}


def beside_of(
    findings: Sequence[Score],
    scores: Iterable[Score],
    ids: Sequence[str],
    clusters: Mapping[str, str],
    *,
    own: Mapping[str, str],
    plain: Iterable[str],
) -> Beside:
    """Findings that are no part of the evidence about the map itself, and the stored metrics of every explainer."""
    place = {name: i for i, name in enumerate(ids)}
    parts: dict[tuple[str, str], dict[str, Floats]] = {}
    changes: dict[str, Floats] = {}
    forgets: dict[str, Floats] = {}
    for score in scores:
        column = np.full(len(ids), np.nan)
        for name, value in zip(score.ids, score.values, strict=True):
            if name in place:
                column[place[name]] = value
        if score.metric in REMOVALS and "operator" in score.where:
            key = (score.method, str(score.where["operator"]))
            parts.setdefault(key, {})[score.metric] = REMOVALS[score.metric] * column
        elif score.metric == "max_sensitivity":
            changes[score.method] = column
        elif score.metric == "weight_randomisation":
            forgets[score.method] = column
    methods: dict[str, dict[str, Floats]] = {}
    for (method, operator), by_removal in parts.items():
        if len(by_removal) == len(REMOVALS):
            methods.setdefault(method, {})[operator] = 0.5 * np.sum([*by_removal.values()], axis=0)
    return Beside(
        tables=tables_of(findings, clusters),
        methods=methods,
        moved=changes,
        forgets=forgets,
        own=dict(own),
        plain=frozenset(plain),
    )
