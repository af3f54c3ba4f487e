"""Fourth step of an audit: shards through an engine into a run. A shard that dies is tried one example at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from regard.audits.estimate import Forecast, estimate, middle_first
from regard.audits.options import AuditOptions
from regard.audits.plan import Plan
from regard.audits.plan import shards as shards_of
from regard.audits.worker import SETUP, WORK
from regard.protocols import Executor, Model, Outcome
from regard.records import Json, Message, Spec, Text
from regard.registry import build, entry
from regard.store.ledger import Problem
from regard.store.run import RunWriter
from regard.store.shard_result import ShardResult

RETRIES = 1
"""How often a shard is given out again after its worker died."""


class Progress(Protocol):
    """Called with examples done, all examples, and the seconds that are probably left."""

    def __call__(self, done: int, total: int, eta: float | None, /) -> None: ...


def worker_count(options: AuditOptions) -> int:
    """The processes of the engine: its parameter `workers`, 1 where it has none."""
    spec = options.engine_spec
    default = {p.name: p.default for p in entry("engine", spec.name).parameters}.get("workers", 1)
    return int(str(spec.params.get("workers", default)))


def engine_of(
    model: Model, options: AuditOptions, threads: int, say: Callable[[Text], None]
) -> tuple[Executor, dict[str, Json]]:
    """The engine by name, and how it opens the model; one of other processes needs a Spec that rebuilds the model."""
    spec = options.engine_spec
    local = bool(entry("engine", spec.name).facts.get("in_process"))
    if not local and model.spec is None:
        say(Message.of("estimate.live_module", name=model.name))
        spec, local = Spec("engine", "serial"), True
    if local or model.spec is None:
        return build(spec)(model), {}
    return build(spec)(), {"model": model.spec.to_json(), "threads": threads}


@dataclass
class _Clock:
    """How much is done and how long the rest will take. A text of n positions weighs n x n: its n leave-one-outs."""

    weights: Mapping[str, float]
    tell: Progress | None
    done: int = 0
    before: float = 0.0
    now: float = 0.0

    def __post_init__(self) -> None:
        self._total = sum(self.weights.values())
        self._start = time.monotonic()

    def advance(self, shard: Sequence[str], *, computed: bool = True) -> None:
        weight = sum(self.weights[name] for name in shard)
        self.done += len(shard)
        self.before, self.now = (self.before, self.now + weight) if computed else (self.before + weight, self.now)

    def report(self) -> None:
        if self.tell is None:
            return
        left = self._total - self.before - self.now
        spent = time.monotonic() - self._start
        eta = spent * left / self.now if self.now else None
        self.tell(self.done, len(self.weights), eta)


def run_shards(
    writer: RunWriter,
    plan: Plan,
    engine: Executor,
    setup: Mapping[str, Json],
    *,
    progress: Progress | None = None,
    forecast: Forecast | None = None,
) -> None:
    """Do what is not settled yet. Returns when every example is done or reported.

    The shard of middling length goes first; `forecast` gets the cost of all open shards, scaled from its own.
    """
    clock = _Clock({name: float(max(1, n)) ** 2 for name, n in plan.subject.lengths.items()}, progress)
    settled = writer.settled()
    open_shards, singles = [], []
    for shard in shards_of(plan.subject.lengths):
        status = settled.get(writer.key(shard))
        if status is None:
            open_shards.append(shard)
        elif status == "split":
            for name in shard:
                if writer.key([name]) in settled:
                    clock.advance([name], computed=False)
                else:
                    singles.append([name])
        else:
            clock.advance(shard, computed=False)
    clock.report()
    ordered = middle_first(open_shards)

    def pilot(shard: Sequence[str], page: ShardResult) -> None:
        if forecast is not None and shard is ordered[0]:
            forecast(estimate(page, shard, plan.subject.lengths, [name for names in ordered for name in names]))

    singles += _through(writer, plan, engine=engine, setup=setup, shards=ordered, clock=clock, committed=pilot)
    for shard in _through(writer, plan, engine=engine, setup=setup, shards=singles, clock=clock, alone=True):
        raise AssertionError(f"{shard} was not settled")


def _through(
    writer: RunWriter,
    plan: Plan,
    engine: Executor,
    setup: Mapping[str, Json],
    shards: Sequence[Sequence[str]],
    clock: _Clock,
    *,
    alone: bool = False,
    committed: Callable[[Sequence[str], ShardResult], None] | None = None,
) -> list[list[str]]:
    """Enter every outcome; examples of a shard that failed as a whole come back, to be tried alone."""
    by_key = {writer.key(shard): shard for shard in shards}
    again: list[list[str]] = []
    if not shards:
        return again
    tasks = (plan.task(key, shard, alone=alone) for key, shard in by_key.items())
    with _ended(engine.run(SETUP, setup, WORK, tasks, retries=RETRIES)) as outcomes:
        for outcome in outcomes:
            shard = by_key[outcome.key]
            if outcome.status == "ok":
                writer.commit(shard, outcome.result)
                if committed is not None:
                    committed(shard, outcome.result)
            elif len(shard) > 1:
                writer.split(shard)
                again += [[name] for name in shard]
                continue
            else:
                stage = "worker" if outcome.status == "dead" else "shard"
                writer.give_up(shard, Problem(shard[0], stage, outcome.message))
            clock.advance(shard)
            clock.report()
    return again


@contextmanager
def _ended(outcomes: Iterator[Outcome]) -> Iterator[Iterator[Outcome]]:
    """The outcomes; whatever happens inside, the workers behind them are ended now, not when memory is tidied."""
    try:
        yield outcomes
    finally:
        if isinstance(outcomes, Generator):
            outcomes.close()
