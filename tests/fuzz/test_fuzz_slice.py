"""A slice of the fuzz campaign with a fixed seed; `make fuzz` is the whole of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.fuzz import kills, self_check
from benchmarks.fuzz.corpus import CORPUS
from benchmarks.fuzz.pool import Result, Task, Worker, build_originals
from benchmarks.fuzz.record import again
from benchmarks.fuzz.shares import divided

SEED = 13
INPUTS = 500
KILLS = 5
MANY_MINUTES = 3600
"""A safety net: a case that hangs is found by its CPU time, long before."""


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_originals(tmp_path_factory.mktemp("fuzz") / "originals")


@pytest.fixture(scope="module")
def worker(originals: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    one = Worker(originals, tmp_path_factory.mktemp("worker") / "work")
    yield one
    one.close()


def failures(results: list[Result]) -> str:
    bad = [r for r in results if not r.good]
    return "\n".join(f"{r.kind}: {r.detail}\n    {again(r.task)}" for r in bad)


@pytest.mark.timeout(MANY_MINUTES)
def test_past_failures_stay_fixed(worker: Worker) -> None:
    tasks = [Task("corpus", 0, number) for number, entry in enumerate(CORPUS) if not entry.slow]
    results = [worker.run(task) for task in tasks]
    named = {f"{CORPUS[r.task.number].name}: {r.kind}: {r.detail}" for r in results if not r.good}
    assert not named, "\n".join(sorted(named))


@pytest.mark.timeout(MANY_MINUTES)
def test_hostile_inputs_end_in_a_clear_sentence(worker: Worker) -> None:
    results = [worker.run(Task(t, SEED, n)) for t, count in divided(INPUTS).items() for n in range(count)]
    assert not failures(results), failures(results)
    assert {r.kind for r in results} == {"ok", "clear error"}


@pytest.mark.timeout(MANY_MINUTES)
def test_killed_commands_resume_to_the_same_bytes(originals: Path, tmp_path: Path) -> None:
    figures = kills.figures(originals, tmp_path / "kills", SEED, KILLS)
    assert figures["met"], figures
    assert figures["totals"]["kills"] >= KILLS


@pytest.mark.timeout(MANY_MINUTES)
def test_bad_ends_are_told_from_good_ones(originals: Path, tmp_path: Path) -> None:
    worker = Worker(originals, tmp_path / "work", cpu_seconds=2.0, asleep=4)
    kinds = [kind for kind, _ in self_check.expected(tmp_path)]
    try:
        assert [worker.run(Task("self_check", 0, number)).kind for number in range(len(kinds))] == kinds
    finally:
        worker.close()


def test_equal_seeds_make_equal_cases(originals: Path, tmp_path: Path) -> None:
    from benchmarks.fuzz.case import generator
    from benchmarks.fuzz.materials import Materials
    from benchmarks.fuzz.targets import readers

    seen = []
    for name in ("one", "two"):
        folder = tmp_path / name
        for number in range(10):
            (folder / str(number)).mkdir(parents=True)
            readers.case(generator(SEED, "readers", number), Materials(originals), folder / str(number))
        seen.append({p.relative_to(folder): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()})
    assert seen[0] == seen[1]
    assert len(seen[0]) >= 10
