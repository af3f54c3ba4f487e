"""Reader (`Run`) and writer (`RunWriter`) of a run directory. All access to runs goes through them.

run/ledger.sqlite    facts, examples, tasks, problems
    blobs/ab/...     results of the tasks, by content
    rationales.jsonl rationales marked by hand, if any
    manifest.json    the facts, for people
    tables/*.parquet the same numbers as tidy tables
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import asdict, fields, replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import InputError, UnknownName, in_words, phrase
from regard.records import Attention, Example, Json, Judgement, Relevance, Score, Summary
from regard.registry import upstairs
from regard.store.blobs import TEMPORARY, Blobs, damaged, pack, room_on_disk, unpack, write_atomically
from regard.store.frames import HasFrames
from regard.store.judgements import judgement_to_json
from regard.store.ledger import Ledger, Problem, canonical, not_a_run, task_key
from regard.store.manifest import now, refuse_other
from regard.store.rationales import FILE as MARKS
from regard.store.rationales import Mark, majority_rationales, read_marks
from regard.store.redaction import Redactor
from regard.store.result_tables import Scores, Summaries
from regard.store.shard_result import (
    Cost,
    ShardResult,
    attention_from_bytes,
    attention_to_bytes,
    joined_relevance,
    joined_scores,
    number,
)

BLANK = "label group parent slices rationale predicted target probability value distribution units"
"""Keys that every example has, if only as None."""
LATE = ("estimate", "preconditions", "repeatability", "schedule")
"""Facts that the audit establishes during the run."""
GENERATOR_DATA = "generator_data.jsonl"
"""The examples of a generator, written before the run begins."""
LARGEST_INLINE = 16384
"""Larger arrays become blobs that the examples refer to."""


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
        """Everything that decides the numbers of this run."""
        facts: dict[str, Any] = self._facts["identity"]
        return facts

    def with_judgements(self, judgements: Sequence[Judgement]) -> Run:
        """Return this run with other verdicts; write nothing."""
        other = copy(self)
        other._facts = {**self._facts, "judgements": [judgement_to_json(j) for j in judgements]}
        return other

    def conclusions(self) -> Mapping[str, Any] | None:
        """The stored form of the conclusions (see `audits.conclude`); None where the run has none."""
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
        """Return one dictionary per example, in data order; predictions are None where the model did not run.

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
            known = best and c.seconds and c.forwards
            limit_share = best * (c.forwards + c.backwards) / c.seconds if known else None
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
        results = [self._result(t.blob) for t in self._tasks if t.blob]
        # sort by first example, so that nothing depends on the order of completion
        last = len(self._order)
        results.sort(key=lambda p: min((self._order.get(str(r["id"]), last) for r in p.rows), default=last))
        if "schedule" in self._facts:  # later stages add pages without rows
            results.sort(key=lambda p: (0, 0, ()) if p.rows else (1, *self._place(p)))
        return results

    def _place(self, result: ShardResult) -> tuple[int, tuple[str, ...]]:
        """The place of a page without rows: its first example, then its content."""
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


class RunWriter:
    """The one writer of a run directory: a context manager that resumes after any interruption."""

    def __init__(self, path: Path, identity: Mapping[str, Json], *, text: bool = True) -> None:
        """text: whether to store words; if not, placeholders replace them everywhere."""
        self.path, self.identity = path, dict(identity)
        self.text, self._redactor, self._originals = text, Redactor(()), dict[str, dict[str, Any]]()
        _claim(path)
        self._ledger = Ledger.write(path)
        self._blobs = Blobs(path / "blobs")

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ledger.close()

    def settle(self, name: str, choice: Json) -> Json:
        """Make a setting of this machine part of the identity; a resumed run keeps its own.

        Call it before `open`. A resumed run without this setting stays without it.
        """
        begun = self._ledger.facts().get("identity")
        if begun is None:
            self.identity[name] = choice
        elif name in begun:
            self.identity[name] = begun[name]
        return self.identity.get(name, choice)

    def open(self, manifest: Mapping[str, Json], examples: Sequence[Example]) -> None:
        """Start or resume the run, and remove the unfinished files of a killed writer."""
        facts = self._ledger.facts()
        if not self.text:
            self._originals = {e.id: {"inputs": dict(e.inputs), "label": e.label} for e in examples}
            self._redactor = Redactor.over(self._originals.values())
        if "identity" in facts:
            if "manifest" not in facts:
                raise damaged(
                    self._ledger.file,
                    phrase("errors.store.table_row", table="fact", row="manifest"),
                    phrase("errors.store.manifest_run"),
                    phrase("errors.common.nothing"),
                )
            refuse_other(self.path, facts["identity"], self.identity)
            resumed = [*facts.get("resumed", []), now()]
            self._ledger.note(status="running", resumed=resumed)
        else:
            with room_on_disk(self.path):
                self._blobs.root.mkdir(exist_ok=True)
            rows = [self._row(example) for example in examples]
            rows = rows if self.text else [self._redactor.example(row) for row in rows]
            self._ledger.begin({"identity": self.identity, "manifest": dict(manifest), "status": "running"}, rows)
        referenced = {t.blob for t in self._ledger.tasks() if t.blob} | set(self._ledger.artifacts().values())
        referenced |= {
            value["blob"] for row in self._ledger.examples() for value in row["inputs"].values() if _is_far(value)
        }
        self._blobs.sweep(referenced)
        for left in self.path.glob(f"*{TEMPORARY}"):
            left.unlink()
        self._write_manifest()

    def _row(self, example: Example) -> dict[str, Json]:
        inputs: dict[str, Json] = {}
        for name, value in example.inputs.items():
            if not isinstance(value, np.ndarray):
                inputs[name] = value
            elif value.size <= LARGEST_INLINE:
                inputs[name] = value.tolist()
            else:
                inputs[name] = {"blob": self._blobs.put(pack({"array": value}, None)), "shape": list(value.shape)}
        return {
            "id": example.id,
            "inputs": inputs,
            **{name: getattr(example, name) for name in ("label", "group", "parent")},
            "slices": dict(example.slices),
            "cluster": example.cluster,
            "rationale": None if example.rationale is None else [list(place) for place in example.rationale],
            "alignment": None if example.alignment is None else [list(link) for link in example.alignment],
        }

    def settled(self) -> dict[str, str]:
        """Map the key of every entered task to "done" or "split" (its examples follow one by one)."""
        return {t.key: t.status for t in self._ledger.tasks()}

    def key(self, shard: Sequence[str], stage: str = "") -> str:
        """The key of a shard; stage: which of several passes over the same examples it belongs to."""
        return task_key(self.identity, [f"stage {stage}", *shard] if stage else shard)

    def page(self, key: str) -> ShardResult | None:
        """Return the stored result of a task; None if there is none."""
        blob = self._ledger.blob_of(key)
        return None if blob is None else ShardResult.from_bytes(self._blobs.get(blob), file=self._blobs.path(blob))

    def commit(self, shard: Sequence[str], result: ShardResult, *, stage: str = "") -> bool:
        """Store the result of a shard; return False and change nothing if it is already stored."""
        result = result if self.text else self._redacted(result)
        artifacts = {name: self._blobs.put(attention_to_bytes(sites)) for name, sites in result.attentions.items()}
        blob = self._blobs.put(result.to_bytes())
        key = self.key(shard, stage)
        return self._ledger.enter(key, "done", blob, problems=result.problems, artifacts=artifacts)

    def _redacted(self, result: ShardResult) -> ShardResult:
        rows, predictions = (
            tuple(self._redactor.example(row, self._originals.get(str(row["id"]))) for row in part)
            for part in (result.rows, result.predictions)
        )
        # findings may contain example texts
        findings = tuple(map(self._redactor.finding, result.findings))
        problems = tuple(map(self._without_words, result.problems))
        return replace(result, rows=rows, predictions=predictions, findings=findings, problems=problems)

    def _without_words(self, problem: Problem) -> Problem:
        return problem if self.text else replace(problem, message=self._redactor.message(problem.message))

    def split(self, shard: Sequence[str], *, stage: str = "") -> None:
        """Record that a shard failed as a whole and its examples follow one by one."""
        self._ledger.enter(self.key(shard, stage), "split", None)

    def give_up(self, shard: Sequence[str], problem: Problem, *, stage: str = "") -> None:
        """Record that a shard fails and must not be retried."""
        self._ledger.enter(self.key(shard, stage), "done", None, problems=[self._without_words(problem)])

    def schedule(self) -> dict[str, Any]:
        """Return the stored schedule of an audit with a budget; empty before it has one."""
        return dict(self._ledger.facts().get("schedule") or {})

    def note_schedule(self, schedule: Mapping[str, Json]) -> None:
        """Store the schedule of an audit with a budget, which a resumed run follows."""
        self._ledger.note(schedule=dict(schedule))

    def note_estimate(self, cost: Json) -> None:
        """Store the estimated cost; that of the first session stays."""
        if "estimate" not in self._ledger.facts():
            self._ledger.note(estimate=cost)

    def note_preconditions(self, preconditions: Json) -> None:
        """Store the precondition checks on the attention of some finished examples."""
        self._ledger.note(preconditions=preconditions)

    def note_conclusions(self, conclusions: Json) -> None:
        """Store the statistics that a report shows."""
        self._ledger.note(conclusions=conclusions)

    def note_activity(self, activity: Json) -> None:
        """Store the progress and the workers of this session, for `regard status`."""
        self._ledger.note(activity=activity)

    def repeatability(self) -> dict[str, Any] | None:
        """Return the stored repeatability check of the model, or None."""
        stored: dict[str, Any] | None = self._ledger.facts().get("repeatability")
        return stored

    def note_repeatability(self, repeatability: Json) -> None:
        """Store whether the model repeats its predictions, and its noise."""
        self._ledger.note(repeatability=repeatability)

    def close(self, status: str, *, summaries: Sequence[Summary] | None = None) -> None:
        """Store the status, and the summaries if any."""
        facts: dict[str, Json] = {"status": status, "finished": now()}
        if summaries is not None:
            facts["summaries"] = [summary_to_json(s) for s in summaries]
        self._ledger.note(**facts)
        self._write_manifest()

    def _write_manifest(self) -> None:
        facts = self._ledger.facts()
        late = {name: facts[name] for name in LATE if name in facts}
        manifest = {
            **facts["manifest"],
            **late,
            "status": facts.get("status", "running"),
            "identity": facts["identity"],
        }
        text = json.dumps(manifest, indent=2, ensure_ascii=False)
        with room_on_disk(self.path):
            write_atomically(self.path / "manifest.json", text.encode())


def _is_far(value: Any) -> bool:
    return isinstance(value, dict) and "blob" in value


SUMMARY_FIELDS = tuple(field.name for field in fields(Summary))
_NUMBERS = ("estimate", "low", "high")


def summary_to_json(s: Summary) -> dict[str, Json]:
    numbers = {name: number(getattr(s, name)) for name in _NUMBERS}
    return {**{name: getattr(s, name) for name in SUMMARY_FIELDS}, **numbers, "where": dict(s.where)}


def summary_from_json(row: Mapping[str, Any]) -> Summary:
    values = {name: row[name] for name in SUMMARY_FIELDS if name in row}
    numbers = {name: float("nan") if row[name] is None else row[name] for name in _NUMBERS}
    return Summary(**{**values, **numbers})


def _claim(path: Path) -> None:
    """Create the directory, or check that it is a run: never mix a run with other files."""
    if path.exists() and not path.is_dir():
        raise InputError(
            f"--out {path}",
            expected=phrase("errors.common.directory"),
            got=phrase("errors.common.file"),
            remedy=phrase("errors.common.choose_another_out"),
        )
    with room_on_disk(path):
        path.mkdir(parents=True, exist_ok=True)
    others = {entry.name for entry in path.iterdir()} - {"lock", GENERATOR_DATA}
    if others and not Ledger.exists(path):
        content = phrase("errors.common.directory_with_other_files", others=", ".join(sorted(others)[:3]))
        expected = phrase("errors.store.new_or_empty_directory")
        raise InputError(
            f"--out {path}", expected=expected, got=content, remedy=phrase("errors.common.choose_another_out")
        )
