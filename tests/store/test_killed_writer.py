"""A writer killed at every single step of its work: nothing that was committed is lost, nothing is there twice."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regard.records import Attention, Example, Relevance, Site
from regard.store.ledger import Ledger, Problem
from regard.store.run import Run
from regard.store.run_writer import RunWriter
from regard.store.shard_result import Cost, ShardResult

SHARDS = [["a", "b"], ["c", "d"]]
EXAMPLES = [Example(name, {"text": name}) for name in "abcd"]

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="hardware: needs fork")


def _page(shard: list[str]) -> ShardResult:
    rows = tuple({"id": name, "units": None} for name in shard)
    relevance = Relevance.of("m", shard, [[ord(name)] for name in shard])
    site = Attention(Site("s", 0, "self", 0, 1), np.full((1, 1, 1, 1), ord(shard[0]), np.float32))
    cost = Cost("explainer", "m", 1.0, len(shard))
    return ShardResult(
        rows, (relevance,), (), (), (cost,), (Problem(shard[0], "metric", "odd"),), {}, {shard[0]: [site]}
    )


def _write(path: Path) -> None:
    with RunWriter(path, {"seed": 0}) as writer:
        writer.open({"model": {"name": "m"}, "data": {"name": "d"}, "methods": ["m"]}, EXAMPLES)
        for shard in SHARDS:
            if writer.key(shard) not in writer.settled():
                writer.commit(shard, _page(shard))
        writer.close("complete", summaries=[])


def _content(path: Path) -> dict[str, Any]:
    run = Run(path)
    return {
        "status": run.manifest["status"], "relevance": run.relevance("m").values.tolist(), "kept": run.kept(),
        "problems": sorted(p["id"] for p in run.problems()), "costs": run.costs(), "progress": run.progress,
        "attention": [run.capture(name)[0].weights.tolist() for name in run.kept()],
    }  # fmt: skip


def _in_a_fork(action: Callable[[], None]) -> int:
    """Exit status of `action` in a process of its own; negative if it was killed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the child only writes files
        child = os.fork()
    if child == 0:
        try:
            action()
        except BaseException:
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def _killed_at(step: int, path: Path) -> None:
    """Write, and die just after the given step: every flush, every rename, every commit."""
    left = [step]

    def deadly(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            result = function(*given)
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return call

    os.fsync, os.replace = deadly(os.fsync), deadly(os.replace)
    Ledger._commit = deadly(Ledger._commit)  # type: ignore[method-assign]
    _write(path)


def test_a_writer_may_be_killed_at_any_step(tmp_path: Path) -> None:
    _write(tmp_path / "undisturbed")
    wanted = _content(tmp_path / "undisturbed")
    assert wanted["relevance"] == [97, 98, 99, 100]
    step = 0
    while True:
        step += 1
        path = tmp_path / f"killed-{step}"
        code = _in_a_fork(lambda step=step, path=path: _killed_at(step, path))
        if code == 0:
            break
        assert code == -signal.SIGKILL
        with Ledger.write(path) as book:
            assert book._connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            before = {t.key for t in book.tasks()}
        _write(path)
        assert _content(path) == wanted
        with Ledger.read(path) as book:
            assert before <= {t.key for t in book.tasks()}
        assert not list(path.rglob("*.part"))
    assert step > 20  # it was killed at very many places


def test_a_writer_killed_again_and_again_gets_there(tmp_path: Path) -> None:
    _write(tmp_path / "undisturbed")
    path = tmp_path / "run"
    deaths = 0
    for step in [2, 7, 4, 11, 8, 15, 6, 20, 12, 30, 100]:
        deaths += _in_a_fork(lambda step=step: _killed_at(step, path)) == -signal.SIGKILL
    assert deaths >= 5
    assert _content(path) == _content(tmp_path / "undisturbed")
