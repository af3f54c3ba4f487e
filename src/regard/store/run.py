"""A run directory, read (`Run`) and written (`RunWriter`). The only door to runs.

run/ledger.sqlite    the book: facts, examples, tasks, problems
    blobs/ab/...     what the tasks left, by content
    rationales.jsonl what people marked by hand, where somebody did
    manifest.json    the facts again, for people
    tables/*.parquet the same numbers as tidy tables
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import fields, replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import InputError, UnknownName
from regard.records import Attention, Example, Json, Judgement, Relevance, Score, Summary
from regard.registry import upstairs
from regard.store.blobs import TEMPORARY, Blobs, damaged, pack, room_on_disk, unpack, write_atomically
from regard.store.judgements import judgement_to_json
from regard.store.ledger import Ledger, Problem, canonical, not_a_run, task_key
from regard.store.manifest import now, refuse_other
from regard.store.rationales import FILE as MARKS
from regard.store.rationales import Mark, agreed, read_marks
from regard.store.redaction import Veil
from regard.store.shard_result import (
    Cost,
    Page,
    attention_from_bytes,
    attention_to_bytes,
    joined_relevance,
    joined_scores,
    number,
)

BLANK = (
    "label", "group", "parent", "slices", "rationale", "predicted", "target", "probability", "value", "distribution",
    "units",
)  # fmt: skip
"""What an example has in any case, if only as None."""
LATE = ("estimate", "preconditions", "repeatability")
"""Facts that are found out while the run goes on."""
LARGEST_INLINE = 16384
"""Arrays with more numbers than this are not written out among the examples, only referred to."""


class Run:
    """What an audit found, read from its directory; also while it is still going on.

    The content is that of the moment when it was opened.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        with Ledger.read(self.path) as book:
            self._facts = book.facts()
            self._examples = book.examples()
            self._tasks = book.tasks()
            self._problems = book.problems()
            self._artifacts = book.artifacts()
        if "manifest" not in self._facts:
            raise not_a_run(self.path, "a run that was stopped before it began")
        self._blobs = Blobs(self.path / "blobs")
        self._marks = read_marks(self.path / MARKS)

    def __repr__(self) -> str:
        done, total = self.progress
        return f"Run({str(self.path)!r}: {self.manifest['status']}, {done} of {total} examples)"

    @property
    def manifest(self) -> Mapping[str, Any]:
        facts: dict[str, Any] = self._facts["manifest"]
        status, judged = self._facts.get("status", "running"), self._facts.get("judgements", [])
        late: dict[str, Any] = {name: self._facts[name] for name in (*LATE, "shift") if name in self._facts}
        return {**facts, **late, "status": status, "skipped": self.skipped, "judgements": judged}

    def with_judgements(self, judgements: Sequence[Judgement]) -> Run:
        """This run with other verdicts than those in its book; nothing is written."""
        other = copy(self)
        other._facts = {**self._facts, "judgements": [judgement_to_json(j) for j in judgements]}
        return other

    @property
    def progress(self) -> tuple[int, int]:
        """Examples done, and all of them."""
        done = {str(row["id"]) for page in self._pages for row in page.rows} | {p.id for p in self._problems}
        return len(done & set(self._order)), len(self._examples)

    @property
    def skipped(self) -> dict[str, str]:
        """Methods that this model supports for no example, with the reason."""
        skipped = {name: reason for page in self._pages for name, reason in page.skipped.items()}
        return {name: reason for name, reason in skipped.items() if name not in self._judged}

    @property
    def _judged(self) -> set[str]:
        """Methods and metrics that left something for at least one example."""
        scored = {f"{s.metric} of {s.method}" for page in self._pages for s in page.scores}
        tried = {f"experiment {s.where.get('experiment')}" for page in self._pages for s in page.findings}
        return scored | tried | {r.method for page in self._pages for r in page.relevances}

    def examples(self) -> list[dict[str, Any]]:
        """One dictionary per example, in the order of the data; what the model said is None where it was not asked.

        A rationale marked by hand stands in place of the one of the data; `marked_by` says by whom.
        """
        said = {str(row["id"]): row for page in self._pages for row in page.rows}
        blank: dict[str, Any] = dict.fromkeys(BLANK)
        by_hand: dict[str, dict[str, Any]] = {
            name: {"rationale": [list(p) for p in places]} for name, places in agreed(self._marks).items()
        }
        for mark in self._marks:
            by_hand[mark.id].setdefault("marked_by", []).append(mark.author)
        blank["slices"] = {}
        return [
            {
                **blank,
                "cluster": example["id"],
                **example,
                **said.get(example["id"], {}),
                **by_hand.get(example["id"], {}),
            }
            for example in self._examples
        ]

    def methods(self) -> list[str]:
        """Every explainer that left a relevance, in the order of the plan."""
        found: dict[str, None] = {}
        for page in self._pages:
            found.update(dict.fromkeys(r.method for r in page.relevances))
        planned = [str(m) for m in self._facts["manifest"].get("methods", [])]
        return [m for m in planned if m in found] + [m for m in found if m not in planned]

    def relevance(self, method: str) -> Relevance:
        """What one method says about every example that it could be asked about."""
        parts = [r for page in self._pages for r in page.relevances if r.method == method]
        if not parts:
            raise UnknownName("method of this run", method, self.methods())
        return joined_relevance(parts, self._order)

    def scores(self) -> list[Score]:
        """Every metric of every method, one value per example."""
        return self._joined(score for page in self._pages for score in page.scores)

    def findings(self) -> list[Score]:
        """What the experiments left, one value per example; `where["experiment"]` says which one."""
        return self._joined(score for page in self._pages for score in page.findings)

    def _joined(self, scores: Iterable[Score]) -> list[Score]:
        groups: dict[tuple[str, str, str], list[Score]] = {}
        for score in scores:
            key = (score.metric, score.method, canonical(dict(score.where)))
            groups.setdefault(key, []).append(score)
        # rows that are no examples (seeds, models) come from one task
        return [p[0] if len(p) == 1 else joined_scores(p, self._order) for p in groups.values()]

    def summaries(self) -> list[Summary]:
        """The numbers that may be shown; empty before the run is complete."""
        return [summary_from_json(row) for row in self._facts.get("summaries", [])]

    def problems(self) -> list[dict[str, str]]:
        """What went wrong, for which example (id ""  for the whole run), at which stage."""
        return [{"id": p.id, "stage": p.stage, "message": p.message} for p in self._problems]

    def costs(self) -> list[dict[str, Any]]:
        """What each method spent; `share` is its part of all seconds. `limit`: the seconds that its arithmetic takes at
        the best speed of the machine (a gradient counts as a second pass) over those that it took; None if unknown.
        """
        total: dict[tuple[str, str], Cost] = {}
        for page in self._pages:
            for cost in page.costs:
                key = (cost.kind, cost.method)
                total[key] = total[key].plus(cost) if key in total else cost
        seconds = sum(c.seconds for c in total.values()) or 1.0
        limit = self.manifest.get("limit") or {}
        best = limit.get("forward_flops", 0.0) / limit.get("machine_flops", 1.0)
        return [
            {
                "kind": c.kind, "method": c.method, "seconds": c.seconds, "forwards": c.forwards,
                "backwards": c.backwards, "requests": c.requests, "share": c.seconds / seconds,
                "limit": best * (c.forwards + c.backwards) / c.seconds if best and c.seconds and c.forwards else None,
            }
            for c in total.values()
        ]  # fmt: skip

    def array(self, reference: Mapping[str, Any]) -> NDArray[Any]:
        """A large input that `examples` only refers to: {"blob": name, "shape": [...]}."""
        name = str(reference["blob"])
        arrays, _ = unpack(self._blobs.get(name), file=self._blobs.path(name))
        if "array" not in arrays:
            raise damaged(self._blobs.path(name), "", "an array", "nothing")
        return arrays["array"]

    def marks(self, example_id: str) -> list[Mark]:
        """What people marked by hand in one example."""
        return [mark for mark in self._marks if mark.id == example_id]

    def show(self, view: str = "", *, lang: str = "en", static: bool = False, allow_code: bool = False) -> Any:
        """Drawn in a notebook; `.save("page.html")`, `.svg`, `.png` or `.pdf` anywhere (see `live.show`)."""
        return upstairs("show")(self, view=view, lang=lang, static=static, allow_code=allow_code)

    def kept(self) -> list[str]:
        """Ids of the examples whose attention is kept, in the order of the data."""
        return sorted(self._artifacts, key=lambda name: self._order.get(name, len(self._order)))

    def capture(self, example_id: str) -> list[Attention]:
        """Every attention site of one kept example: weights of shape (1, head, query, key)."""
        if example_id not in self._artifacts:
            raise UnknownName("kept example", example_id, self.kept())
        name = self._artifacts[example_id]
        return attention_from_bytes(self._blobs.get(name), file=self._blobs.path(name))

    @cached_property
    def _order(self) -> dict[str, int]:
        return {example["id"]: i for i, example in enumerate(self._examples)}

    @cached_property
    def _pages(self) -> list[Page]:
        pages = [self._page(t.blob) for t in self._tasks if t.blob]
        # by the first example of each, so that nothing depends on which task was done first
        last = len(self._order)
        return sorted(pages, key=lambda p: min((self._order.get(str(r["id"]), last) for r in p.rows), default=last))

    def _page(self, name: str) -> Page:
        page, file = Page.from_bytes(self._blobs.get(name), file=self._blobs.path(name)), self._blobs.path(name)
        named = {str(row["id"]) for row in page.rows} | {name for r in page.relevances for name in r.ids}
        if others := named - self._order.keys():
            raise damaged(file, "", "examples of this run", f"example {min(others)}")
        return page


class RunWriter:
    """The one writer of a run directory: a context manager that may be entered again after any kind of death."""

    def __init__(self, path: Path, identity: Mapping[str, Json], *, text: bool = True) -> None:
        """text: whether words may be written; else placeholders stand in their place, everywhere."""
        self.path, self.identity = path, dict(identity)
        self.text, self._veil, self._originals = text, Veil(()), dict[str, dict[str, Any]]()
        _claim(path)
        self._book = Ledger.write(path)
        self._blobs = Blobs(path / "blobs")

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._book.close()

    def settle(self, name: str, choice: Json) -> Json:
        """Make a choice of this machine part of the identity. A run that was begun before keeps its own.

        Call it before `open`. A run that recorded no such choice stays without it.
        """
        begun = self._book.facts().get("identity")
        if begun is None:
            self.identity[name] = choice
        elif name in begun:
            self.identity[name] = begun[name]
        return self.identity.get(name, choice)

    def open(self, manifest: Mapping[str, Json], examples: Sequence[Example]) -> None:
        """Begin, or go on where it stopped. What a killed writer left half-done is swept away."""
        facts = self._book.facts()
        if not self.text:
            self._originals = {e.id: {"inputs": dict(e.inputs), "label": e.label} for e in examples}
            self._veil = Veil.over(self._originals.values())
        if "identity" in facts:
            if "manifest" not in facts:
                raise damaged(self._book.file, "table fact, row manifest", "the manifest of the run", "nothing")
            refuse_other(self.path, facts["identity"], self.identity)
            resumed = [*facts.get("resumed", []), now()]
            self._book.note(status="running", resumed=resumed)
        else:
            with room_on_disk(self.path):
                self._blobs.root.mkdir(exist_ok=True)
            rows = [self._row(example) for example in examples]
            rows = rows if self.text else [self._veil.example(row) for row in rows]
            self._book.begin({"identity": self.identity, "manifest": dict(manifest), "status": "running"}, rows)
        wanted = {t.blob for t in self._book.tasks() if t.blob} | set(self._book.artifacts().values())
        wanted |= {value["blob"] for row in self._book.examples() for value in row["inputs"].values() if _is_far(value)}
        self._blobs.sweep(wanted)
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
            "id": example.id, "inputs": inputs, "label": example.label, "group": example.group,
            "parent": example.parent, "slices": dict(example.slices), "cluster": example.cluster,
            "rationale": None if example.rationale is None else [list(place) for place in example.rationale],
            "alignment": None if example.alignment is None else [list(link) for link in example.alignment],
        }  # fmt: skip

    def settled(self) -> dict[str, str]:
        """Key of every entered task -> "done" or "split" (its examples follow one by one)."""
        return {t.key: t.status for t in self._book.tasks()}

    def key(self, shard: Sequence[str]) -> str:
        return task_key(self.identity, shard)

    def commit(self, shard: Sequence[str], page: Page) -> bool:
        """Enter what a task left; False if it was entered before, and then nothing changes."""
        page = page if self.text else self._veiled(page)
        artifacts = {name: self._blobs.put(attention_to_bytes(sites)) for name, sites in page.attentions.items()}
        blob = self._blobs.put(page.to_bytes())
        return self._book.enter(self.key(shard), "done", blob, problems=page.problems, artifacts=artifacts)

    def _veiled(self, page: Page) -> Page:
        rows = tuple(self._veil.example(row, self._originals.get(str(row["id"]))) for row in page.rows)
        # examples that an experiment kept to be shown are texts
        findings = tuple(map(self._veil.finding, page.findings))
        return replace(page, rows=rows, findings=findings, problems=tuple(map(self._without_words, page.problems)))

    def _without_words(self, problem: Problem) -> Problem:
        return problem if self.text else replace(problem, message=self._veil.words(problem.message))

    def split(self, shard: Sequence[str]) -> None:
        """Note that a task was given up as a whole: its examples follow one by one."""
        self._book.enter(self.key(shard), "split", None)

    def give_up(self, shard: Sequence[str], problem: Problem) -> None:
        """Note that a task cannot be done; it is not tried again."""
        self._book.enter(self.key(shard), "done", None, problems=[self._without_words(problem)])

    def note_estimate(self, cost: Json) -> None:
        """Store the estimated cost; that of the first session stays."""
        if "estimate" not in self._book.facts():
            self._book.note(estimate=cost)

    def note_preconditions(self, found: Json) -> None:
        """What a look at some of the finished examples said about the attention of the model."""
        self._book.note(preconditions=found)

    def repeatability(self) -> dict[str, Any] | None:
        """What is stored about whether the model repeats its answers; None if nothing is."""
        stored: dict[str, Any] | None = self._book.facts().get("repeatability")
        return stored

    def note_repeatability(self, found: Json) -> None:
        """Whether the model answers the same input the same way, and how large its noise is."""
        self._book.note(repeatability=found)

    def close(self, status: str, *, summaries: Sequence[Summary] | None = None) -> None:
        """Set the status, and the summaries if there are any."""
        facts: dict[str, Json] = {"status": status, "finished": now()}
        if summaries is not None:
            facts["summaries"] = [summary_to_json(s) for s in summaries]
        self._book.note(**facts)
        self._write_manifest()

    def _write_manifest(self) -> None:
        facts = self._book.facts()
        late = {name: facts[name] for name in LATE if name in facts}
        shown = {**facts["manifest"], **late, "status": facts.get("status", "running"), "identity": facts["identity"]}
        text = json.dumps(shown, indent=2, ensure_ascii=False)
        with room_on_disk(self.path):
            write_atomically(self.path / "manifest.json", text.encode())


def _is_far(value: Any) -> bool:
    return isinstance(value, dict) and "blob" in value


SUMMARY_FIELDS = tuple(field.name for field in fields(Summary))


def summary_to_json(s: Summary) -> dict[str, Json]:
    return {
        "metric": s.metric, "method": s.method, "estimate": number(s.estimate), "low": number(s.low),
        "high": number(s.high), "n": s.n, "clusters": s.clusters, "undefined": s.undefined, "seed": s.seed,
        "level": s.level, "better": s.better, "role": s.role, "where": dict(s.where),
    }  # fmt: skip


def summary_from_json(row: Mapping[str, Any]) -> Summary:
    known = {name: row[name] for name in SUMMARY_FIELDS if name in row}
    numbers = {name: float("nan") if row[name] is None else row[name] for name in ("estimate", "low", "high")}
    return Summary(**{**known, **numbers})


def _claim(path: Path) -> None:
    """Make the directory, or make sure that it is ours: nobody's files are ever mixed with a run."""
    if path.exists() and not path.is_dir():
        raise InputError(f"--out {path}", expected="a directory", got="a file", remedy="give another --out")
    with room_on_disk(path):
        path.mkdir(parents=True, exist_ok=True)
    others = {entry.name for entry in path.iterdir()} - {"lock"}
    if others and not Ledger.exists(path):
        raise InputError(
            f"--out {path}", expected="a new or empty directory, or a run to go on with",
            got=f"a directory with other files ({', '.join(sorted(others)[:3])})", remedy="give another --out",
        )  # fmt: skip
