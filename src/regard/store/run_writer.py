"""Writer of a run directory. `run.py` describes the files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from regard.errors import InputError, phrase
from regard.records import Example, Json, Summary
from regard.store.blobs import TEMPORARY, Blobs, damaged, pack, room_on_disk, write_atomically
from regard.store.ledger import Ledger, Problem, task_key
from regard.store.manifest import now, refuse_other
from regard.store.redaction import Redactor
from regard.store.run import LATE, summary_to_json
from regard.store.shard_result import ShardResult, attention_to_bytes

GENERATOR_DATA = "generator_data.jsonl"
"""File with the examples of a generator, written before the run begins."""
LARGEST_INLINE = 16384
"""Array size in bytes above which an array becomes a blob."""


class RunWriter:
    """The one writer of a run directory: a context manager that resumes after any interruption."""

    def __init__(self, path: Path, identity: Mapping[str, Json], *, text: bool = True) -> None:
        """Open or resume the run. text: whether to store words; if not, placeholders replace them everywhere."""
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
