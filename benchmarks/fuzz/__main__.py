"""`python -m benchmarks.fuzz [--seed N] [--minutes M] [--long] [--only PART ...] [--case N]`: the fuzz campaign.

Without --long it takes `--minutes` in all: the corpus of past failures, some kills, an audit without a network, a short
soak, and random inputs for the rest of the time. --long runs the goal figures (10,000 inputs, 100 kills, 20 minutes of
soak, an hour of soak of the service) and writes results/fuzz.json after every step; the same command continues an
interrupted campaign. Every failure is printed with the command that reproduces it.
"""

from __future__ import annotations

import argparse
import itertools
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.fuzz import kills, offline, service, soak
from benchmarks.fuzz.corpus import CORPUS
from benchmarks.fuzz.pool import Result, Task, build_originals, run_all, stopped_at
from benchmarks.fuzz.record import RESULTS, Record, again
from benchmarks.fuzz.shares import SHARES, divided

PARTS = ("corpus", *SHARES, "kills", "offline", "soak", "service")
LONG_SEED = 13
SAVE_EVERY = 200


def main() -> int:
    options = _options()
    home = Path(tempfile.mkdtemp(prefix="regard-fuzz-"))
    try:
        originals = build_originals(home / "originals")
        if options.case is not None:
            return _one(options, originals, home)
        return _campaign(options, originals, home)
    finally:
        if options.keep:
            print(f"kept: {home}")
        else:
            shutil.rmtree(home, ignore_errors=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, help="of the inputs (default: by the clock; with --long fixed)")
    parser.add_argument("--minutes", type=float, default=10.0, help="in all, without --long")
    parser.add_argument("--long", action="store_true", help="the goal figures, into results/fuzz.json")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--case", type=int, help="one case of one target, with everything that it printed")
    parser.add_argument("--inputs", type=int, default=10_000, help="with --long")
    parser.add_argument("--kills", type=int, help="default: 10, with --long 100")
    parser.add_argument("--soak-minutes", type=float, help="default: 0.5, with --long 20")
    parser.add_argument("--requests", type=int, help="of the soak; default: 250, with --long 10,000")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--results", type=Path, help="file for the figures (default with --long: results/fuzz.json)")
    parser.add_argument("--keep", action="store_true", help="keep the temporary files")
    options = parser.parse_args()
    if options.seed is None:
        options.seed = LONG_SEED if options.long else int(time.time())
    return options


def _one(options: argparse.Namespace, originals: Path, home: Path) -> int:
    task = Task(options.only[0], options.seed, options.case)
    (result,) = run_all([task], originals, home / "work", workers=1)
    print(f"{result.kind}: {result.detail}")
    for words in result.commands:
        print("regard", *(repr(word) for word in words))
    return 0 if result.good else 1


def _campaign(options: argparse.Namespace, originals: Path, home: Path) -> int:
    began = time.monotonic()
    path = options.results or (RESULTS if options.long else None)
    record = Record(path, options.seed, "make fuzz LONG=1" if options.long else "make fuzz")
    print(f"seed {options.seed}", flush=True)
    parts = [part for part in options.only if part not in SHARES]
    if "corpus" in parts:
        _corpus(record, originals, home)
    if "kills" in parts and "kills" not in record.data:
        record.note(
            "kills",
            kills.figures(originals, home / "kills", options.seed, options.kills or (100 if options.long else 10)),
        )
        print(f"kills: {record.data['kills']['totals']}", flush=True)
    if "offline" in parts and "offline" not in record.data:
        record.note("offline", offline.figures(originals, home / "offline"))
        print(f"offline: {record.data['offline']}", flush=True)
    if "soak" in parts and "soak" not in record.data:
        minutes = options.soak_minutes or (20.0 if options.long else 0.5)
        requests = options.requests or (10_000 if options.long else 250)
        record.note("soak", soak.figures(originals, home / "soak", options.seed, minutes, requests))
        print(f"soak: {soak.told(record.data['soak'])}", flush=True)
    if "service" in parts and "service" not in record.data:
        minutes = options.soak_minutes or (60.0 if options.long else 0.5)
        record.note("service", service.figures(options.seed, 10_000, minutes))
        print(f"service: {service.told(record.data['service'])}", flush=True)
    targets = [part for part in options.only if part in SHARES]
    if targets:
        deadline = None if options.long else began + 60 * options.minutes
        _inputs(options, record, targets, originals, home, deadline)
    return _verdict(record)


def _corpus(record: Record, originals: Path, home: Path) -> None:
    tasks = [Task("corpus", 0, number) for number in record.todo("corpus", len(CORPUS))]
    for result in run_all(tasks, originals, home / "work"):
        _entered(record, result, CORPUS[result.task.number].name)
    record.write()
    print(f"corpus: {record.data['inputs'].get('corpus', {})}", flush=True)


def _inputs(
    options: argparse.Namespace, record: Record, targets: list[str], originals: Path, home: Path, deadline: float | None
) -> None:
    tasks = _counted(options, record, targets) if options.long else _endless(options.seed, targets)
    stop = stopped_at(deadline)
    for number, result in enumerate(run_all(tasks, originals, home / "work", options.workers, stop), 1):
        _entered(record, result)
        if number % SAVE_EVERY == 0:
            record.write()
            print(f"{number} inputs: {record.data['totals']}", flush=True)
    record.write()


def _counted(options: argparse.Namespace, record: Record, targets: list[str]) -> Iterator[Task]:
    """Yield the inputs that remain to be tried."""
    for target, count in divided(options.inputs).items():
        if target in targets:
            yield from (Task(target, options.seed, number) for number in record.todo(target, count))


def _endless(seed: int, targets: list[str]) -> Iterator[Task]:
    """Yield inputs of all targets in turn, by their shares."""
    counts = dict.fromkeys(targets, 0)
    for _ in itertools.count():
        target = min(targets, key=lambda name: counts[name] / SHARES[name])
        yield Task(target, seed, counts[target])
        counts[target] += 1


def _entered(record: Record, result: Result, name: str = "") -> None:
    record.enter(result)
    if not result.good:
        detail = result.detail if result.kind == "broken case" else result.detail[:300]
        print(f"{result.kind}: {name or result.task.target}: {detail}\n    {again(result.task)}", flush=True)


def _verdict(record: Record) -> int:
    """Compare every figure with its goal."""
    record.write()
    totals: dict[str, Any] = record.totals()
    bad = {kind: count for kind, count in totals.items() if kind != "inputs" and count}
    wrong = [f"{count} x {kind}" for kind, count in bad.items()]
    wrong += [
        f"{part} failed"
        for part in ("kills", "offline", "soak", "service")
        if not record.data.get(part, {}).get("met", True)
    ]
    record.finish(met=not wrong)
    print(f"{totals['inputs']} inputs, seed {record.data['seed']}: {', '.join(wrong) or 'no failure'}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
