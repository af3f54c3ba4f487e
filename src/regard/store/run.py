"""Reader of a run directory; `run_writer.py` writes it. All access to runs goes through them.

run/ledger.sqlite    facts, examples, tasks, problems
    blobs/ab/...     results of the tasks, by content
    rationales.jsonl rationales marked by hand, if any
    manifest.json    the facts, for people
    tables/*.parquet the same numbers as tidy tables
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import asdict, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from regard.errors import UnknownName, in_words, phrase
from regard.records import Attention, Json, Judgement, Relevance, Score, Summary
from regard.registry import upstairs
from regard.store.blobs import Blobs, damaged, unpack
from regard.store.frames import HasFrames
from regard.store.judgements import judgement_to_json
from regard.store.ledger import Ledger, canonical, not_a_run
from regard.store.rationales import FILE as MARKS
from regard.store.rationales import Mark, majority_rationales, read_marks
from regard.store.result_tables import Scores, Summaries
from regard.store.shard_result import Cost, ShardResult, attention_from_bytes, joined_relevance, joined_scores, number

BLANK = "label group parent slices rationale predicted target probability value distribution units"
"""Keys that every example has, possibly as None."""
LATE = ("estimate", "preconditions", "repeatability", "schedule")
"""Facts that the audit establishes during the run."""


class Run(HasFrames):
    """The results of an audit, read from its directory, also while it is running.

    The content is a snapshot of the moment of opening.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        with Ledger.read(self.path) as ledger:
            self._facts = ledger.facts()
            self._examples = ledger.examples()
            self._tasks = ledger.tasks()
            self._problems = ledger.problems()
            self._artifacts = ledger.artifacts()
        if "manifest" not in self._facts:
            raise not_a_run(self.path, phrase("errors.store.run_that_stopped_before_first"))
        self._blobs = Blobs(self.path / "blobs")
        self._marks = read_marks(self.path / MARKS)

    def __repr__(self) -> str:
        finished, total = self.progress
        status = f"{self._facts.get('status', 'running')}, {finished} of {total} examples"
        verdict = upstairs("run_verdict")(self._facts.get("judgements", []))
        return f"Run({str(self.path)!r}: {status}{f'; {verdict}' if verdict else ''})"

    @property
    def manifest(self) -> Mapping[str, Any]:
        facts: dict[str, Any] = self._facts["manifest"]
        status, judgements = self._facts.get("status", "running"), self._facts.get("judgements", [])
        late: dict[str, Any] = {name: self._facts[name] for name in (*LATE, "shift", "plan") if name in self._facts}
        return {**facts, **late, "status": status, "skipped": self.skipped, "judgements": judgements}

    @property
    def identity(self) -> Mapping[str, Any]:
        """Identity of the run: every setting that its numbers depend on."""
        facts: dict[str, Any] = self._facts["identity"]
        return facts

    def with_judgements(self, judgements: Sequence[Judgement]) -> Run:
        """Return this run with other verdicts; write nothing."""
        other = copy(self)
        other._facts = {**self._facts, "judgements": [judgement_to_json(j) for j in judgements]}
        return other

    def conclusions(self) -> Mapping[str, Any] | None:
        """Stored form of the conclusions (see `audits.conclude`); None if the run has none."""
        stored: Mapping[str, Any] | None = self._facts.get("conclusions")
        return stored

    @property
    def progress(self) -> tuple[int, int]:
        """Number of finished examples, and of all; with a budget, of those that its schedule plans."""
        finished = len(self._finished & set(self._order))
        schedule = self._facts.get("schedule")
        if schedule is None:
            return finished, len(self._examples)
        complete = self._facts.get("status") == "complete"
        planned = 0 if complete else max(schedule.get("looks") or [schedule["available"]])
        return finished, max(finished, planned)

    @cached_property
    def _finished(self) -> set[str]:
        """Examples with results, and examples that failed."""
        return {str(row["id"]) for result in self._results for row in result.rows} | {p.id for p in self._problems}

    def predictions(self) -> list[dict[str, Any]]:
        """Return the prediction of every example that was predicted, in data order, with its label and cluster.

        An audit with a budget predicts more examples than it explains; without one, these are the explained examples.
        """
        answers: dict[str, Mapping[str, Any]] = {
            str(row["id"]): row for result in self._results for row in (*result.predictions, *result.rows)
        }
        return [
            {"id": e["id"], "label": e.get("label"), "cluster": e.get("cluster") or e["id"], **answers[e["id"]]}
            for e in self._examples
            if e["id"] in answers
        ]

    @property
    def skipped(self) -> dict[str, str]:
        """Map methods that the model supports for no example to the reason, in the current language."""
        skipped = {name: in_words(reason) for result in self._results for name, reason in result.skipped.items()}
        return {name: reason for name, reason in skipped.items() if name not in self._with_results}

    @property
    def _with_results(self) -> set[str]:
        """Methods, metrics and experiments with a result for at least one example."""
        scored = {f"{s.metric} of {s.method}" for result in self._results for s in result.scores}
        experiments = {f"experiment {s.where.get('experiment')}" for result in self._results for s in result.findings}
        return scored | experiments | {r.method for result in self._results for r in result.relevances}

    def examples(self) -> list[dict[str, Any]]:
        """Return one dictionary per example, in data order; predictions are None if the model did not run.

        A rationale marked by hand replaces the one of the data; `marked_by` lists its authors. A run with a budget
        lists the examples that it explained or that failed; `predictions` lists all that it predicted.
        """
        answers = {str(row["id"]): row for result in self._results for row in result.rows}
        blank: dict[str, Any] = dict.fromkeys(BLANK.split())
        by_hand: dict[str, dict[str, Any]] = {
            name: {"rationale": [list(p) for p in places]} for name, places in majority_rationales(self._marks).items()
        }
        for mark in self._marks:
            by_hand[mark.id].setdefault("marked_by", []).append(mark.author)
        blank["slices"] = {}
        return [
            {**blank, "cluster": e["id"], **e, **answers.get(e["id"], {}), **by_hand.get(e["id"], {})}
            for e in self._examples
            if "schedule" not in self._facts or e["id"] in self._finished
        ]

    def methods(self) -> list[str]:
        """List the explainers with a relevance, in the order of the plan."""
        methods: dict[str, None] = {}
        for result in self._results:
            methods.update(dict.fromkeys(r.method for r in result.relevances))
        planned = [str(m) for m in self._facts["manifest"].get("methods", [])]
        return [m for m in planned if m in methods] + [m for m in methods if m not in planned]

    def relevance(self, method: str) -> Relevance:
        """Return the relevance by one method for every example that it supports."""
        parts = [r for result in self._results for r in result.relevances if r.method == method]
        if not parts:
            raise UnknownName(phrase("errors.store.method_this_run"), method, self.methods())
        return joined_relevance(parts, self._order)

    def scores(self) -> Scores:
        """Return every metric of every method, one value per example; `.to_pandas()` has one row per value."""
        return self._joined(score for result in self._results for score in result.scores)

    def findings(self) -> Scores:
        """Return the scores of the experiments, one value per example; `where["experiment"]` names the experiment."""
        return self._joined(score for result in self._results for score in result.findings)

    def _joined(self, scores: Iterable[Score]) -> Scores:
        groups: dict[tuple[str, str, str], list[Score]] = {}
        for score in scores:
            key = (score.metric, score.method, canonical(dict(score.where)))
            groups.setdefault(key, []).append(score)
        # rows that are seeds or models, not examples, come from one task
        return Scores(p[0] if len(p) == 1 else joined_scores(p, self._order) for p in groups.values())

    def summaries(self) -> Summaries:
        """Return the summary numbers; empty before the run is complete. `.to_pandas()` has one row each."""
        return Summaries(summary_from_json(row) for row in self._facts.get("summaries", []))

    def _repr_html_(self) -> str:
        """The verdict, in a notebook."""
        return str(upstairs("run_html")(self))

    def records(self) -> list[dict[str, Json]]:
        """Build one dict per summary, with its setting as columns: the rows of `to_pandas` and `to_polars`."""
        return self.summaries().records()

    def problems(self) -> list[dict[str, str]]:
        """Return every failure with its stage, example id ("" for the whole run) and reason in the current language."""
        return [{"id": p.id, "stage": p.stage, "message": in_words(p.message)} for p in self._problems]

    def costs(self) -> list[dict[str, Any]]:
        """Return the cost of each method; `share` is its part of the total time.

        `limit` is the time of its arithmetic at the peak speed of the machine (a gradient counts as a second pass) over
        the time it took; None if unknown.
        """
        total: dict[tuple[str, str], Cost] = {}
        for result in self._results:
            for cost in result.costs:
                key = (cost.kind, cost.method)
                total[key] = total[key].plus(cost) if key in total else cost
        seconds = sum(c.seconds for c in total.values()) or 1.0
        limit = self.manifest.get("limit") or {}
        best = limit.get("forward_flops", 0.0) / limit.get("machine_flops", 1.0)
        rows = []
        for c in total.values():
            comparable = best and c.seconds and c.forwards
            limit_share = best * (c.forwards + c.backwards) / c.seconds if comparable else None
            rows.append({**asdict(c), "share": c.seconds / seconds, "limit": limit_share})
        return rows

    def array(self, reference: Mapping[str, Any]) -> NDArray[Any]:
        """Load a large input that `examples` refers to as {"blob": name, "shape": [...]}."""
        name = str(reference["blob"])
        arrays, _ = unpack(self._blobs.get(name), file=self._blobs.path(name))
        if "array" not in arrays:
            raise damaged(self._blobs.path(name), "", phrase("errors.store.array"), phrase("errors.common.nothing"))
        return arrays["array"]

    def marks(self, example_id: str) -> list[Mark]:
        """Return the rationales marked by hand for one example."""
        return [mark for mark in self._marks if mark.id == example_id]

    def show(self, view: str = "", *, lang: str = "en", static: bool = False, allow_code: bool = False) -> Any:
        """Draw the run in a notebook; `.save("page.html")`, `.svg`, `.png` or `.pdf` anywhere (see `live.show`)."""
        return upstairs("show")(self, view=view, lang=lang, static=static, allow_code=allow_code)

    def to_mlflow(self, *, run_name: str | None = None) -> str:
        """Log metrics, parameters, tags and the report into MLflow; return the id of its run."""
        return str(upstairs("to_mlflow")(self, run_name=run_name))

    def kept(self) -> list[str]:
        """List the ids of examples with stored attention, in data order."""
        return sorted(self._artifacts, key=lambda name: self._order.get(name, len(self._order)))

    def capture(self, example_id: str) -> list[Attention]:
        """Return every stored attention site of one example: weights of shape (1, head, query, key)."""
        if example_id not in self._artifacts:
            raise UnknownName(phrase("errors.store.kept_example"), example_id, self.kept())
        name = self._artifacts[example_id]
        return attention_from_bytes(self._blobs.get(name), file=self._blobs.path(name))

    @cached_property
    def _order(self) -> dict[str, int]:
        return {example["id"]: i for i, example in enumerate(self._examples)}

    @cached_property
    def _results(self) -> list[ShardResult]:
        # sort by first example, then by task, so that nothing depends on the order of completion
        results = [self._result(t.blob) for t in sorted(self._tasks, key=lambda t: t.key) if t.blob]
        last = len(self._order)
        results.sort(key=lambda p: min((self._order.get(str(r["id"]), last) for r in p.rows), default=last))
        if "schedule" in self._facts:  # later stages add pages without rows
            results.sort(key=lambda p: (0, 0, ()) if p.rows else (1, *self._place(p)))
        return results

    def _place(self, result: ShardResult) -> tuple[int, tuple[str, ...]]:
        """Sort key of a page without rows: its first example, then its content."""
        scores = (*result.scores, *result.findings)
        ids = {name for relevance in result.relevances for name in relevance.ids}
        ids |= {name for score in scores for name in score.ids}
        content = [f"explainer {r.method}" for r in result.relevances[:1]]
        content += [f"{s.where.get('experiment', '')} {s.metric} {s.method}" for s in scores[:1]]
        last = len(self._order)
        return min((self._order.get(name, last) for name in ids), default=last), tuple(content)

    def _result(self, name: str) -> ShardResult:
        result, file = (
            ShardResult.from_bytes(self._blobs.get(name), file=self._blobs.path(name)),
            self._blobs.path(name),
        )
        ids = {str(row["id"]) for row in result.rows} | {name for r in result.relevances for name in r.ids}
        if others := ids - self._order.keys():
            raise damaged(
                file,
                "",
                phrase("errors.store.examples_this_run"),
                phrase("errors.common.example_example", example=min(others)),
            )
        return result


SUMMARY_FIELDS = tuple(field.name for field in fields(Summary))
_NUMBERS = ("estimate", "low", "high")


def summary_to_json(s: Summary) -> dict[str, Json]:
    numbers = {name: number(getattr(s, name)) for name in _NUMBERS}
    return {**{name: getattr(s, name) for name in SUMMARY_FIELDS}, **numbers, "where": dict(s.where)}


def summary_from_json(row: Mapping[str, Any]) -> Summary:
    values = {name: row[name] for name in SUMMARY_FIELDS if name in row}
    numbers = {name: float("nan") if row[name] is None else row[name] for name in _NUMBERS}
    return Summary(**{**values, **numbers})
