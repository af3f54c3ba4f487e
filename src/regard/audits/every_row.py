"""Every row of the data in constant memory (`--every-row`): predictions, and scores of the named methods.

Rows are read, sent to the engine, stored and added up as they come. Sums are exact, so the result is the same whatever
the engine, the number of workers and the order in which shards come back. Verdicts come from the sample of the audit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Protocol

from regard.audits.fold import MOST_PARTS, role
from regard.audits.plan import Plan
from regard.audits.resolve import with_numbers
from regard.audits.shard import Settings
from regard.audits.worker import EVERY_ROW, SETUP, WORK
from regard.measures.bounded_mean import cluster_interval
from regard.measures.exact_sums import BucketSums, bucket_of
from regard.models.open.labels import named
from regard.protocols import Executor, Task
from regard.records import Example, Json, Score, Spec, Summary
from regard.store.blobs import write_atomically
from regard.store.example_json import example_to_json
from regard.store.ledger import Problem, canonical
from regard.store.row_pages import FOLDER, RowPages
from regard.store.run import summary_from_json, summary_to_json
from regard.store.shard_result import ShardResult

PREDICTED_ROWS, SCORED_ROWS = 512, 32
"""Rows of a shard that are only predicted, and rows that are also explained."""
FILE = "rows.json"


class Stream(Protocol):
    """Rows of a data set (see `datasets.row_stream`)."""

    @property
    def fingerprint(self) -> str: ...
    @property
    def labels(self) -> tuple[str, ...]: ...
    @property
    def walk(self) -> Callable[[], Iterator[Example]]: ...


@dataclass(frozen=True, slots=True)
class EveryRow:
    """Result of a pass over every row. rows: of the source. predicted: inputs with a prediction. problems: failures.

    summaries: accuracy, confidence and the named metrics over all rows, by predicted class and by slice, with intervals
    over groups of clusters. confusion: [label, predicted class, rows].
    """

    rows: int
    predicted: int
    problems: int
    unmatched: int
    summaries: tuple[Summary, ...]
    confusion: tuple[tuple[str, str, int], ...]

    def to_json(self) -> dict[str, Json]:
        return {
            **{name: getattr(self, name) for name in ("rows", "predicted", "problems", "unmatched")},
            "summaries": [summary_to_json(s) for s in self.summaries],
            "confusion": [[*row] for row in self.confusion],
        }

    @staticmethod
    def read(run: str | Path) -> EveryRow | None:
        """Read the stored result of a run; None if its audit did not read every row."""
        try:
            stored = json.loads((Path(run) / FOLDER / FILE).read_text("utf-8"))
        except OSError:
            return None
        counts = {name: int(stored[name]) for name in ("rows", "predicted", "problems", "unmatched")}
        summaries = tuple(summary_from_json(row) for row in stored["summaries"])
        confusion = tuple((str(a), str(b), int(n)) for a, b, n in stored["confusion"])
        return EveryRow(summaries=summaries, confusion=confusion, **counts)


@dataclass
class RunningFold:
    """Running sums over all rows so far: memory for numbers, classes and slices, none for rows."""

    seed: int
    specs: Mapping[str, Spec] = field(default_factory=dict)
    predicted: int = 0
    unmatched: int = 0
    sums: dict[tuple[str, str, str, str, str], BucketSums] = field(default_factory=dict)
    kinds: dict[tuple[str, str, str], Score] = field(default_factory=dict)
    confusion: dict[tuple[str, str], int] = field(default_factory=dict)
    too_many: set[str] = field(default_factory=set)

    def add(self, page: ShardResult, rows: Mapping[str, Example]) -> None:
        """Add a page; rows: the rows of its shard by id. A window of a long text belongs to its row."""
        answers = {str(row["id"]): row for row in page.predictions}
        owners = {name: rows[name] if name in rows else rows[name.rpartition("#")[0]] for name in answers}
        self.predicted += len(answers)
        classes = {name: str(row["predicted"]) for name, row in answers.items()}
        columns = {key for example in owners.values() for key in example.slices}
        parts = {"class": classes} | {
            column: {name: f"{column}={e.slices[column]}" for name, e in owners.items() if column in e.slices}
            for column in columns
        }
        buckets = {name: bucket_of(example.cluster) for name, example in owners.items()}
        labelled = [name for name, example in owners.items() if example.label is not None]
        for name in labelled:
            pair = (str(owners[name].label), classes[name])
            self.confusion[pair] = self.confusion.get(pair, 0) + 1
        right = [float(str(owners[name].label) == classes[name]) for name in labelled]
        self._count(_score("accuracy", labelled, right), buckets, parts)
        sure = [float(str(answers[name]["probability"])) for name in answers]
        self._count(_score("confidence", [*answers], sure), buckets, parts)
        for score in page.scores:
            self._count(score, buckets, parts)

    def _count(self, score: Score, buckets: Mapping[str, int], parts: Mapping[str, Mapping[str, str]]) -> None:
        name = (score.metric, score.method, canonical(dict(score.where)))
        self.kinds.setdefault(name, score)
        self._add((*name, "", ""), score, range(len(score.ids)), buckets)
        for column, membership in parts.items():
            groups: dict[str, list[int]] = {}
            for i, example in enumerate(score.ids):
                if example in membership:
                    groups.setdefault(membership[example], []).append(i)
            for part, places in groups.items():
                if column not in self.too_many:
                    self._add((*name, column, part), score, places, buckets)
            if len({key[4] for key in self.sums if key[:4] == (*name, column)}) > MOST_PARTS:
                self.too_many.add(column)
                self.sums = {key: value for key, value in self.sums.items() if key[3] != column}

    def _add(
        self, key: tuple[str, str, str, str, str], score: Score, places: Sequence[int], buckets: Mapping[str, int]
    ) -> None:
        sums = self.sums.setdefault(key, BucketSums())
        sums.add((score.values[i] for i in places), (buckets[score.ids[i]] for i in places))

    def summaries(self, level: float = 0.95) -> list[Summary]:
        """Summaries of all rows, then of every class and slice."""
        return [self._summary(key, level) for key in sorted(self.sums, key=lambda key: (key[3] != "", key))]

    def _summary(self, key: tuple[str, str, str, str, str], level: float) -> Summary:
        metric, method, where, column, part = key
        score, sums = self.kinds[metric, method, where], self.sums[key]
        interval = cluster_interval(sums.sums(), level=level)
        kind = {} if not column else {"class" if column == "class" else "slice": part}
        return Summary(
            metric=metric,
            method=method,
            estimate=sums.mean,
            low=interval.low,
            high=interval.high,
            n=sums.n,
            clusters=len(sums.counts),
            undefined=sums.undefined,
            seed=self.seed,
            level=level,
            better=score.better,
            role=role(score, self.specs.get(method)) if method != "model" else "method",
            where={**score.where, **kind},
        )


def _score(metric: str, ids: Sequence[str], values: Sequence[float]) -> Score:
    return Score(metric=metric, method="model", ids=tuple(ids), values=values, better="higher", where={})  # type: ignore[arg-type]


@dataclass
class RowAudit:
    """Pass over every row. progress: called with the number of rows done. count: called with each outcome's worker."""

    plan: Plan
    stream: Stream
    engine: Executor
    setup: Mapping[str, Json]
    scored: bool
    progress: Callable[[int], None]
    count: Callable[[str, int, float], None]

    def run(self, pages: RowPages) -> EveryRow:
        fold = RunningFold(self.plan.settings.seed, self.plan.settings.by_name)
        in_flight: dict[str, dict[str, Example]] = {}
        alone: list[Example] = []
        finished = 0

        def tasks(shards: Iterator[dict[str, Example]]) -> Iterator[Task]:
            nonlocal finished
            for shard in shards:
                key = pages.key([*shard])
                status = pages.status(key)
                if status == "split":
                    alone.extend(shard.values())
                elif status == "done":
                    page = pages.page(key)
                    finished += len(shard)
                    if page is not None:
                        fold.add(page, shard)
                else:
                    in_flight[key] = shard
                    yield Task(key, self._payload(shard))

        def through(shards: Iterator[dict[str, Example]]) -> None:
            nonlocal finished
            outcomes = self.engine.run(SETUP, self.setup, WORK, tasks(shards), retries=1)
            for outcome in outcomes:
                shard = in_flight.pop(outcome.key)
                if outcome.status == "ok":
                    pages.commit(outcome.key, outcome.result)
                    fold.add(outcome.result, shard)
                elif len(shard) > 1:
                    pages.split(outcome.key)
                    alone.extend(shard.values())
                    continue
                else:
                    where = "worker" if outcome.status == "dead" else "shard"
                    pages.give_up(outcome.key, Problem(next(iter(shard)), where, outcome.message))
                finished += len(shard)
                self.count(outcome.worker, len(shard), outcome.seconds)
                self.progress(finished)

        through(self._shards(fold))
        through({example.id: example} for example in [*alone])
        return EveryRow(
            rows=finished,
            predicted=fold.predicted,
            problems=pages.problems,
            unmatched=fold.unmatched,
            summaries=tuple(fold.summaries()),
            confusion=tuple((a, b, n) for (a, b), n in sorted(fold.confusion.items())),
        )

    def _shards(self, fold: RunningFold) -> Iterator[dict[str, Example]]:
        """Yield the rows of one shard after another, with the model's names for their labels."""
        table = [row for row in self.plan.subject.label_table if isinstance(row, dict)]
        names = {str(row["in the data"]): row["in the model"] for row in table}
        rows = map(with_numbers, self.stream.walk())
        size = SCORED_ROWS if self.scored else PREDICTED_ROWS
        while chunk := [*islice(rows, size)]:
            yield {e.id: e for e in map(partial(self._matched, names, fold), chunk)}

    def _matched(self, names: Mapping[str, Json], fold: RunningFold, example: Example) -> Example:
        if not names or example.label is None:
            return example
        label = str(named(example.label, self.stream.labels or self.plan.subject.data.labels))
        fold.unmatched += label not in names
        return replace(example, label=names.get(label))

    def _payload(self, shard: Mapping[str, Example]) -> dict[str, Json]:
        examples: list[Json] = [example_to_json(e) for e in shard.values()]
        return {"examples": examples, "settings": self.settings.to_json(), "stage": EVERY_ROW}

    @property
    def settings(self) -> Settings:
        """Settings of the audit without experiments; without methods where rows are only predicted."""
        own = replace(self.plan.settings, experiments=(), companions=(), sampled=0)
        return own if self.scored else replace(own, explainers=(), metrics=())


def rows_identity(plan: Plan, stream: Stream, settings: Settings, threads: int) -> dict[str, Json]:
    """Identity of this pass: every setting that changes its numbers."""
    return {
        "model": plan.identity["model"],
        "regard": plan.identity["regard"],
        "data": stream.fingerprint,
        "settings": settings.to_json(),
        "labels": plan.subject.label_table,
        "shard": [PREDICTED_ROWS, SCORED_ROWS],
        "threads": threads,
    }


def store(path: Path, result: EveryRow) -> None:
    """Write the result beside its pages."""
    text = json.dumps(result.to_json(), indent=1, ensure_ascii=False)
    write_atomically(path / FILE, text.encode())
