"""Fourth step of an audit: run shards on an engine and store them. A shard that dies is retried example by example."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from regard.audits.estimate import Forecast, estimate, middle_first
from regard.audits.options import AuditOptions
from regard.audits.plan import Plan
from regard.audits.plan import shards as shards_of
from regard.audits.worker import SETUP, WORK
from regard.audits.worker_rates import WorkerRates
from regard.errors import phrase
from regard.protocols import Executor, Model, Outcome, Task
from regard.records import Json, Message, Spec, Text
from regard.registry import build, entry
from regard.store.ledger import Problem
from regard.store.run_writer import RunWriter
from regard.store.shard_result import ShardResult
from regard.trust import code_refused

RETRIES = 1
"""Maximum retries of a shard whose worker died."""


class Progress(Protocol):
    """Callback with examples done, total examples, and estimated seconds left; with a budget, in passes."""

    def __call__(self, done: int, total: int, eta: float | None, /) -> None: ...


def worker_count(options: AuditOptions) -> int:
    """Number of processes of the engine: its parameter `workers`, 1 if it has none."""
    spec = options.engine_spec
    default = {p.name: p.default for p in entry("engine", spec.name).parameters}.get("workers", 1)
    return int(str(spec.params.get("workers", default)))


def engine_of(
    model: Model, options: AuditOptions, threads: int, say: Callable[[Text], None], *, most: int | None = None
) -> tuple[Executor, dict[str, Json]]:
    """The engine by name, and how it opens the model; one of other processes needs a Spec that rebuilds the model.

    most: workers that fit into the memory of this machine. Fewer workers change no number.
    """
    spec = options.engine_spec
    if most is not None and not spec.params.get("address") and worker_count(options) > most:
        say(Message.of("memory.fewer_workers", n=worker_count(options), most=most))
        spec = Spec(spec.kind, spec.name, {**spec.params, "workers": most})
    local = bool(entry("engine", spec.name).facts.get("in_process"))
    if not local and model.spec is None:
        say(Message.of("estimate.live_module", name=model.name))
        spec, local = Spec("engine", "serial"), True
    if local or model.spec is None:
        return build(spec)(model), {}
    code = _sent_code(model.spec, options) if entry("engine", spec.name).facts.get("remote") else {}
    return build(spec)(), {"model": model.spec.to_json(), "threads": threads, **code}


def _sent_code(spec: Spec, options: AuditOptions) -> dict[str, Json]:
    """Python file of a user's model for workers on other machines; refused unless this command allows it."""
    from regard.models.open.stored_model import code_file

    code = code_file(spec.name) if spec.kind == "model" else None
    if code is None:
        return {}
    if not options.allow_code:
        raise code_refused(phrase("errors.audits.engine_engine_spec", engine_spec=options.engine_spec.name), spec.name)
    return {"code": code[0].read_text("utf-8")}


@contextmanager
def kept_workers(engine: Executor) -> Iterator[Executor]:
    """The engine, whose workers stay for the next `run` inside the block; engines without workers as they are."""
    keeping = getattr(engine, "keeping", None)
    with nullcontext(engine) if keeping is None else keeping() as held_engine:
        yield held_engine


@dataclass
class _Clock:
    """Progress and remaining time. A text of n positions weighs n x n: its n leave-one-outs."""

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


Settled = Callable[[Sequence[str], ShardResult | None, bool], None]
"""Callback for every settled shard: its examples, its page (None if given up), whether it ran just now."""


@dataclass(frozen=True, slots=True)
class Workshop:
    """Execution of shards: an engine, a way to open the model, and the run that stores the results.

    rates: counts the shards of every worker.
    """

    writer: RunWriter
    engine: Executor
    setup: Mapping[str, Json]
    rates: WorkerRates | None = None

    def run(
        self,
        shards: Sequence[Sequence[str]],
        task: Callable[[str, Sequence[str], bool], Task],
        settled: Settled,
        *,
        stage: str = "",
    ) -> None:
        """Run the shards that are not settled yet; return when every example is done or reported.

        task: key, examples, whether to use no other examples -> task. stage: see `RunWriter.key`.
        """
        entered = self.writer.settled()
        open_shards, singles = [], []
        for shard in shards:
            status = entered.get(self.writer.key(shard, stage))
            if status is None:
                open_shards.append(shard)
            elif status == "split":
                for name in shard:
                    key = self.writer.key([name], stage)
                    if key in entered:
                        settled([name], self.writer.page(key), False)
                    else:
                        singles.append([name])
            else:
                settled(shard, self.writer.page(self.writer.key(shard, stage)), False)
        singles += self._through(open_shards, partial(_together, task), settled, stage)
        for shard in self._through(singles, partial(_alone, task), settled, stage):
            raise AssertionError(f"{shard} was not settled")

    def _through(
        self, shards: Sequence[Sequence[str]], task: Callable[[str, Sequence[str]], Task], settled: Settled, stage: str
    ) -> list[list[str]]:
        """Store every outcome; return the examples of shards that failed as a whole, to be retried alone."""
        by_key = {self.writer.key(shard, stage): shard for shard in shards}
        again: list[list[str]] = []
        if not shards:
            return again
        tasks = (task(key, shard) for key, shard in by_key.items())
        with _ended(self.engine.run(SETUP, self.setup, WORK, tasks, retries=RETRIES)) as outcomes:
            for outcome in outcomes:
                shard = by_key[outcome.key]
                if self.rates is not None:
                    self.rates.add(outcome.worker, len(shard), outcome.seconds)
                if outcome.status == "ok":
                    self.writer.commit(shard, outcome.result, stage=stage)
                    settled(shard, outcome.result, True)
                elif len(shard) > 1:
                    self.writer.split(shard, stage=stage)
                    again += [[name] for name in shard]
                else:
                    where = "worker" if outcome.status == "dead" else "shard"
                    self.writer.give_up(shard, Problem(shard[0], where, outcome.message), stage=stage)
                    settled(shard, None, True)
                del outcome  # before the next task runs: its page holds dense attention
        return again


def _together(task: Callable[[str, Sequence[str], bool], Task], key: str, shard: Sequence[str]) -> Task:
    return task(key, shard, False)


def _alone(task: Callable[[str, Sequence[str], bool], Task], key: str, shard: Sequence[str]) -> Task:
    return task(key, shard, True)


def run_shards(
    workshop: Workshop, plan: Plan, *, progress: Progress | None = None, forecast: Forecast | None = None
) -> None:
    """Run every shard of an audit without a budget.

    The shard of middling length goes first; `forecast` gets the cost of all open shards, scaled from its own.
    """
    writer, lengths = workshop.writer, plan.subject.lengths
    clock = _Clock({name: float(max(1, n)) ** 2 for name, n in lengths.items()}, progress)
    every_shard, entered = shards_of(lengths), writer.settled()
    open_shards = middle_first([shard for shard in every_shard if writer.key(shard) not in entered])
    still_open = [name for shard in open_shards for name in shard]

    def settled(shard: Sequence[str], page: ShardResult | None, computed: bool) -> None:
        if computed and page is not None and forecast is not None and open_shards and shard is open_shards[0]:
            forecast(estimate(page, shard, lengths, still_open))
        clock.advance(shard, computed=computed)
        if computed:
            clock.report()

    finished = [shard for shard in every_shard if writer.key(shard) in entered]
    workshop.run(finished, plan.task, settled)
    clock.report()
    workshop.run(open_shards, plan.task, settled)


@contextmanager
def _ended(outcomes: Iterator[Outcome]) -> Iterator[Iterator[Outcome]]:
    """Yield the outcomes; end the workers behind them when the block ends, not at garbage collection."""
    try:
        yield outcomes
    finally:
        if isinstance(outcomes, Generator):
            outcomes.close()
