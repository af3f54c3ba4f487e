"""Evidence of the judge: per-example numbers, from a run or made by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from types import MappingProxyType
from typing import Any, cast

import numpy as np

from regard.judge.mean_tests import Mean
from regard.judge.other_evidence import Beside, beside_of
from regard.judge.slice_columns import slice_columns
from regard.measures.alpha_spending import fractions_now
from regard.records import Floats, Score, Text, decoded
from regard.registry import entry, names


@cache
def single_quantities() -> frozenset[str]:
    """Return the per-example quantities that the decorators of all experiments declare."""
    facts = [entry("experiment", name).facts for name in names("experiment")]
    return frozenset(str(name) for about in facts for name in cast("list[str]", about.get("gives", [])))


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """Curves of one ranking by one operator: (examples, sizes) p without its first units, and with them alone (or
    None).

    own: the ranking was made with this very operator, so it is no judge of it.
    """

    removed: Floats
    kept: Floats | None = None
    own: bool = False

    def same(self, other: Curves) -> bool:
        """Return whether two curves are bit-identical, which two different removal operators never are."""
        if (self.kept is None) != (other.kept is None):
            return False
        same_kept = self.kept is None or other.kept is None or np.array_equal(self.kept, other.kept, equal_nan=True)
        return bool(same_kept and np.array_equal(self.removed, other.removed, equal_nan=True))


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Evidence about one attention of one model. All arrays have one entry per example, in the same order.

    classes: the predicted class; clusters: what counts as one independent draw; probability: of the predicted class;
    neutral: its probability when nothing speaks for it. single: quantity -> values. pointing: (ranking, operator) ->
    curves over `sizes`. attention: in words. defects: what is wrong with the weights themselves, in words. beside: what
    is known about other networks, methods and heads. columns: (kind, column) -> the slice of each example. looks: the
    numbers of examples at which the verdict is planned to be asked, the last of them the planned maximum; () for once
    only. available: examples that there are, if known.
    """

    ids: tuple[str, ...]
    classes: tuple[str, ...]
    clusters: tuple[str, ...]
    probability: Floats
    neutral: Floats
    single: Mapping[str, Floats] = field(default_factory=dict)
    pointing: Mapping[tuple[str, str], Curves] = field(default_factory=dict)
    sizes: tuple[int, ...] = (1, 2, 3)
    attention: Text = ""
    layers: str | int = "last"
    heads: str | int = "mean"
    defects: tuple[tuple[str, Text], ...] = ()
    labels: tuple[str, ...] = ()
    beside: Beside = field(default_factory=Beside)
    columns: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    looks: tuple[int, ...] = ()
    available: int | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def fractions(self) -> tuple[float, ...]:
        """The information at every look so far, as parts of the planned maximum."""
        return fractions_now(self.looks, len(self))

    def mean(
        self,
        values: Floats,
        clusters: Sequence[str] | None = None,
        *,
        share: bool = False,
        bounds: tuple[float, float] | None = None,
    ) -> Mean:
        """The mean of per-example values for the claims of this look; clusters: those of all examples if not given."""
        names = self.clusters if clusters is None else clusters
        looks = (*(n for n in sorted(set(self.looks)) if 0 < n < len(self)), len(self)) if self.looks else ()
        return Mean.of(values, names, share=share, bounds=bounds, fractions=self.fractions, looks=looks)

    def mean_over_seeds(self, values: Floats, clusters: Sequence[str]) -> Mean:
        """The mean of (example, seed) values for the claims of this look."""
        return Mean.over_seeds(values, clusters, fractions=self.fractions)

    def of(self, name: str) -> Floats:
        """Return (examples,) values; all NaN without a measurement."""
        return self.single.get(name, np.full(len(self.ids), np.nan))

    def measured(self, name: str) -> bool:
        return bool(np.isfinite(self.of(name)).any())

    @property
    def operators(self) -> tuple[str, ...]:
        """Removal operators in the order of the plan, without those that gave the very same answers as another."""
        distinct: dict[str, None] = {}
        for _, operator in self.pointing:
            if operator not in distinct and not any(self._same(operator, other) for other in distinct):
                distinct[operator] = None
        return tuple(distinct)

    def _same(self, one: str, other: str) -> bool:
        rankings = [ranking for ranking, operator in self.pointing if operator == one]
        pairs = [(self.pointing[r, one], self.pointing.get((r, other))) for r in rankings]
        return all(b is not None and a.same(b) for a, b in pairs)


def neutral_levels(distributions: Sequence[Sequence[float] | None], targets: Sequence[int]) -> Floats:
    """(examples,) the probability of the predicted class when nothing speaks for it.

    One half for two classes; else the larger of 1/C and its mean over all examples.

    >>> neutral_levels([[0.9, 0.1], [0.2, 0.8]], [0, 1]).tolist()
    [0.5, 0.5]
    """
    rows = [row for row in distributions if row is not None]
    if not rows:
        return np.full(len(targets), 0.5)
    table = np.asarray(rows, np.float64)
    count = table.shape[1]
    level = np.full(count, 0.5) if count == 2 else np.maximum(1 / count, table.mean(0))
    return np.array([level[t] if 0 <= t < count else 1 / count for t in targets])


def evidence_of(
    examples: Sequence[Mapping[str, Any]],
    findings: Iterable[Score],
    *,
    defects: Sequence[Mapping[str, Any]] = (),
    labels: Sequence[str] = (),
    scores: Iterable[Score] = (),
    own: Mapping[str, str] = MappingProxyType({}),
    plain: Iterable[str] = (),
    schedule: Mapping[str, Any] = MappingProxyType({}),
    steps: bool = False,
) -> list[Evidence]:
    """Return the evidence about every audited attention, in the order of the run.

    examples: id, predicted, target, probability, distribution, cluster of each (see `Run.examples`). scores: the
    metrics of every explainer; own: explainer -> the operator it is made with; plain: explainers that see no model.
    steps: the predictions are tokens that a model wrote, one kind of answer whatever the token.
    schedule: of the run; `looks`, the planned cumulative numbers of examples, `available`, those that there are,
    `taken` and `stopped`: where the passes ended before the last planned look, the last one taken is the maximum.
    """
    decided = [e for e in examples if _decided(e)]
    groups: dict[tuple[str, str], list[Score]] = {}
    whole: list[Score] = []
    for score in findings:
        if "layers" in score.where and "heads" in score.where:
            groups.setdefault((str(score.where["layers"]), str(score.where["heads"])), []).append(score)
        else:  # about the network as a whole
            whole.append(score)
    if not decided:
        return []
    # what trains says which attention it is about, and may be all that there is about that one: it is no map to judge
    maps = {
        k: scores_of_map
        for k, scores_of_map in groups.items()
        if any(s.metric in (*single_quantities(), "pointing") for s in scores_of_map)
    }
    if maps:
        whole += [s for k, scores_of_map in groups.items() if k not in maps for s in scores_of_map]
        groups = maps
    metrics, plain = list(scores), frozenset(plain)
    looks = _looks(schedule)
    available = int(schedule["available"]) if schedule.get("available") else None
    clusters = {str(e["id"]): str(e.get("cluster") or e["id"]) for e in decided}
    evidences = []
    for scores_of_map in groups.values():
        other = [s for s in (*scores_of_map, *whole) if s.metric not in (*single_quantities(), "pointing")]
        beside = beside_of(other, metrics, [*clusters], clusters, own=own, plain=plain)
        evidence = _evidence(decided, scores_of_map, defects, labels)
        if steps:
            evidence = replace(evidence, classes=("token",) * len(evidence))
        evidences.append(replace(evidence, beside=beside, looks=looks, available=available))
    return evidences


def _looks(schedule: Mapping[str, Any]) -> tuple[int, ...]:
    """The looks that share the level.

    Passes and the clock do not depend on what was seen. A last look that they force may therefore spend all that is
    left of the level; the looks before it spent less than their fractions of this maximum.
    """
    name = "taken" if schedule.get("stopped") in ("passes", "time") and schedule.get("taken") else "looks"
    return tuple(int(n) for n in schedule.get(name) or ())


def _decided(example: Mapping[str, Any]) -> bool:
    """Return whether the model chose a class, with a finite probability."""
    distribution = example.get("distribution")
    return (
        distribution is not None
        and None not in distribution
        and example.get("probability") is not None
        and isinstance(example.get("target"), int)
    )


def _evidence(
    known: Sequence[Mapping[str, Any]],
    scores: Sequence[Score],
    defects: Sequence[Mapping[str, Any]],
    labels: Sequence[str],
) -> Evidence:
    place = {str(e["id"]): i for i, e in enumerate(known)}
    single: dict[str, Floats] = {}
    pointing: dict[tuple[str, str], Curves] = {}
    sizes: tuple[int, ...] = (1,)
    words: Text = ""
    sites = set[str]()
    for score in scores:
        if score.metric in single_quantities():
            into = single.setdefault(score.metric, np.full(len(known), np.nan))
            _lay(into, score, score.values, place)
        if score.metric == "keys":
            words = decoded(score.where.get("attention") or words)
            sites |= {str(s) for s in score.where.get("sites") or ()}  # type: ignore[union-attr]
        if score.metric == "pointing" and "removed" in score.curves:
            sizes = tuple(int(k) for k in score.grid)
            key = (score.method, str(score.where["operator"]))
            blank = np.full((len(known), len(sizes)), np.nan)
            before = pointing.get(key, Curves(blank.copy(), blank.copy() if "kept" in score.curves else None))
            _lay(before.removed, score, np.asarray(score.curves["removed"]), place)
            if before.kept is not None and "kept" in score.curves:
                _lay(before.kept, score, np.asarray(score.curves["kept"]), place)
            pointing[key] = Curves(before.removed, before.kept, bool(score.where.get("own")))
    first = scores[0].where
    return Evidence(
        ids=tuple(place),
        classes=tuple(str(e["predicted"]) for e in known),
        clusters=tuple(str(e.get("cluster") or e["id"]) for e in known),
        probability=np.array([float(e["probability"]) for e in known]),
        neutral=neutral_levels([e["distribution"] for e in known], [int(e["target"]) for e in known]),
        single=single,
        pointing=pointing,
        sizes=sizes,
        attention=words,
        layers=first["layers"],  # type: ignore[arg-type]
        heads=first["heads"],  # type: ignore[arg-type]
        defects=tuple(
            (str(d["what"]), decoded(d["sentence"]))
            for d in defects
            if str(d["site"]) in sites and (d["heads"] is None or first["heads"] in d["heads"])
        ),
        labels=tuple(labels),
        columns=slice_columns(known, labels),
    )


def _lay(into: Floats, score: Score, values: Floats, place: Mapping[str, int]) -> None:
    for name, value in zip(score.ids, values, strict=True):
        if name in place:
            into[place[name]] = value
