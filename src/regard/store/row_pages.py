"""Pages of a pass over every row: a ledger beside the run, which knows shards and no examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from regard.records import Json
from regard.store.blobs import Blobs, room_on_disk
from regard.store.ledger import Ledger, Problem, task_key
from regard.store.manifest import refuse_other
from regard.store.shard_result import ShardResult

FOLDER = "rows"
"""Directory of these pages in a run."""
MOST_PROBLEMS = 1000
"""Maximum number of stored problems; the others are counted."""


class RowPages:
    """The one writer of the pages; a context manager that resumes after any interruption."""

    def __init__(self, path: Path, identity: Mapping[str, Json], *, text: bool = True) -> None:
        """Open or resume the pages. text: whether messages may be stored, which can hold words of the data."""
        self.path, self.identity, self.text = path, dict(identity), text
        with room_on_disk(path):
            (path / "blobs").mkdir(parents=True, exist_ok=True)
        self._ledger = Ledger.write(path)
        self._blobs = Blobs(path / "blobs")
        facts = self._ledger.facts()
        if "identity" in facts:
            refuse_other(path, facts["identity"], self.identity)
        else:
            self._ledger.note(identity=self.identity)
        self._statuses = {task.key: task.status for task in self._ledger.tasks()}
        self.problems = len(self._ledger.problems())

    def __enter__(self) -> RowPages:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ledger.close()

    def key(self, shard: Sequence[str]) -> str:
        """Key of consecutive rows, identified by the first and the last."""
        return task_key(self.identity, [shard[0], shard[-1], str(len(shard))])

    def status(self, key: str) -> str | None:
        """ "done", "split" (its rows follow one by one), or None before the shard is entered."""
        return self._statuses.get(key)

    def page(self, key: str) -> ShardResult | None:
        """Return the stored page of a shard; None if the shard was abandoned."""
        blob = self._ledger.blob_of(key)
        return None if blob is None else ShardResult.from_bytes(self._blobs.get(blob), file=self._blobs.path(blob))

    def commit(self, key: str, page: ShardResult) -> None:
        """Store the page of a shard."""
        blob = self._blobs.put(replace(page, attentions={}, relevances=()).to_bytes())
        self._enter(key, blob, page.problems)

    def give_up(self, key: str, problem: Problem) -> None:
        """Record that a row fails and must not be retried."""
        self._enter(key, None, (problem,))

    def split(self, key: str) -> None:
        """Record that the rows of a shard follow one by one."""
        self._ledger.enter(key, "split", None)
        self._statuses[key] = "split"

    def note_activity(self, activity: Json) -> None:
        """Store the progress and the workers of this session, for `regard status`."""
        self._ledger.note(activity=activity)

    def _enter(self, key: str, blob: str | None, problems: Sequence[Problem]) -> None:
        recorded = problems[: max(0, MOST_PROBLEMS - self.problems)]
        recorded = recorded if self.text else [replace(problem, message="") for problem in recorded]
        self._ledger.enter(key, "done", blob, problems=recorded)
        self._statuses[key] = "done"
        self.problems += len(problems)
