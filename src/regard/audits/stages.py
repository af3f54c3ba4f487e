"""Shards of an audit with a budget, in stages: predictions, a pilot, rounds for the headline questions, the rest.

Passes decide how far it goes, and they are counted, so equal budgets in passes give equal runs. A budget in time
becomes one in passes when the pilot is finished. If the machine becomes slower after that, the clock ends a stage
before the passes do, never later. The run stores both decisions, and a resumed run follows them. Every stage leaves
pages that can be judged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from regard.audits import brief_protocol
from regard.audits.budget import Budget
from regard.audits.estimate import Estimate
from regard.audits.further import Item, best_item, further_items, headline_of, named
from regard.audits.options import AuditOptions
from regard.audits.plan import Plan, companions, shards
from regard.audits.rounds import PILOT, round_order
from regard.audits.schedule import (
    FURTHER_SHARE,
    TIMED_PREDICTIONS,
    Schedule,
    Spending,
    affordable_examples,
    announcement,
    duration,
    looks_within,
    pilot_size,
    predictions_within,
    slice_within,
)
from regard.audits.scheduler import Progress, Workshop
from regard.audits.shard import PREDICTIONS, Settings
from regard.audits.stage_clock import StageClock
from regard.desk.case import label, selected
from regard.measures.keyed_random import keyed_rng
from regard.protocols import Task
from regard.records import Example, Json, Message, Relevance, Text
from regard.store.shard_result import ShardResult, joined_relevance, relevance_to_json

PREDICTED_AT_ONCE = 32
"""Examples in a shard of predictions."""
SETTLED, OUT_OF_DATA, OUT_OF_PASSES, OUT_OF_TIME = "settled", "data", "passes", "time"


@dataclass(frozen=True, slots=True)
class Listeners:
    """Callbacks of the stages.

    piloted: after the pilot; is_settled: whether the judge has an answer to every headline question from the pages
    stored so far; is_awaited: whether more examples may settle a further one.
    """

    say: Callable[[Text], None]
    progress: Progress | None
    piloted: Callable[[Plan], None]
    is_settled: Callable[[], bool]
    is_awaited: Callable[[], bool] = lambda: False


@dataclass
class Stages:
    """Audit with a budget. `run` follows the stored schedule as far as there is one."""

    workshop: Workshop
    plan: Plan
    options: AuditOptions
    budget: Budget
    listeners: Listeners
    workers: int = 1

    def __post_init__(self) -> None:
        stored = self.workshop.writer.schedule()
        available = len(self.plan.subject.examples)
        self.schedule = Schedule.from_json(stored) if stored else Schedule(self.budget.text, available)
        self.spending = Spending()
        self.predictions: list[Mapping[str, Json]] = []
        self.explained: dict[str, dict[str, tuple[Relevance, int]]] = {}
        self.headline, self.items = self.plan.settings, list[Item]()
        self._answered: set[str] = set()
        self._pilot_backwards = 0
        self.clock = StageClock(self.budget, self.spending, self.workers)

    def run(self) -> None:
        """Run every stage."""
        self._predict()
        order = self._middle_first(round_order(self.predictions, self.options.seed))
        if not order:
            self._note(looks=(), stopped=OUT_OF_DATA)
            return
        self._prepare(order)
        cost = self._pilot(order)
        self.listeners.piloted(self.plan)
        self.clock.time_judge(self.listeners.is_settled)
        self._schedule_rounds(order, cost)
        count = self._rounds(order)
        self._further(self._explained(order, count))
        count = self._more_rounds(order, count)
        self._finish(count)

    # ------------------------------------------------------------------ predictions

    def _predict(self) -> None:
        examples = [example.id for example in self.plan.subject.examples]
        permutation = keyed_rng(self.options.seed, PREDICTIONS, len(examples)).permutation(len(examples))
        order = [examples[int(i)] for i in permutation]
        self._report(total=len(order))
        if not self.schedule.predictions:
            timed = order[:TIMED_PREDICTIONS]
            self._run_predictions(timed)
            pace = self.spending.seconds / self.workers / max(1, len(timed))
            self._note(predictions=predictions_within(self.budget, len(order), pace))
        else:
            self._run_predictions(order[:TIMED_PREDICTIONS])
        self._run_predictions(order[TIMED_PREDICTIONS : self.schedule.predictions])

    def _run_predictions(self, names: Sequence[str]) -> None:
        if not names:
            return
        settings = replace(self.plan.settings, explainers=(), metrics=(), experiments=(), companions=(), sampled=0)
        groups = shards({name: self.plan.subject.lengths[name] for name in names}, size=PREDICTED_AT_ONCE)

        def task(key: str, shard: Sequence[str], alone: bool) -> Task:
            return Task(key, {**self.plan.payload(shard, settings, alone=alone), "stage": PREDICTIONS})

        self.workshop.run(groups, task, self._settled, stage=PREDICTIONS)

    def _middle_first(self, order: Sequence[str]) -> list[str]:
        """Move an example of medium length to the front, where it is timed before the others."""
        ranked = sorted(order[:PILOT], key=lambda name: self.plan.subject.lengths[name])
        middle = ranked[len(ranked) // 2 : len(ranked) // 2 + 1]
        return [*middle, *(name for name in order if name not in middle)]

    def _prepare(self, order: Sequence[str]) -> None:
        """Store the attention of the first examples, and draw companions from those that the model can read."""
        readable = [example for example in self.plan.subject.examples if example.id in set(order)]
        settings = replace(self.plan.settings, companions=tuple(self._companions(order, readable)))
        self.plan = replace(self.plan, settings=settings, keep=order[: self.options.keep])
        self.headline = headline_of(settings, self.options)
        self.items = further_items(settings, self.options)

    def _companions(self, order: Sequence[str], readable: Sequence[Example]) -> list[Example]:
        """Draw companions at random; under the brief protocol fewer, from every predicted class in turn."""
        if not self.plan.settings.companions:
            return []
        if not self.plan.settings.headline:
            return companions(readable, self.options.seed)
        first = {*order[: brief_protocol.COMPANIONS]}
        return [example for example in readable if example.id in first]

    # ------------------------------------------------------------------ the headline questions

    def _pilot(self, order: Sequence[str]) -> int:
        """Run the first round and return its passes; one example of middling length goes first and is timed."""
        before, gradients = self.spending.passes, self.spending.backwards
        pace = self._timed(order[:1])
        first = self.spending.passes - before
        if not self.schedule.pilot:
            passes = self.clock.allowed_passes(pace)
            size = pilot_size(passes, self.spending.passes, first, len(order))
            self._note(pilot=size)
            if size < min(PILOT, len(order)):
                cost = duration(first * pace)
                self.listeners.say(Message.of("budget.small_pilot", n=size, usual=PILOT, passes=first, time=cost))
        pace = self._timed(order[1 : self.schedule.pilot]) or pace
        if not self.schedule.seconds_per_pass:
            self._note(seconds_per_pass=pace)
        self._pilot_backwards = self.spending.backwards - gradients
        return self.spending.passes - before

    def _timed(self, names: Sequence[str]) -> float:
        """Explain these examples; return the seconds per pass, storing included, 0 without any pass.

        Pages of an earlier session took the seconds that they recorded.
        """
        spending, start = replace(self.spending), self.clock.elapsed()
        self._explain(names)
        replayed = self.spending.before != spending.before
        spent = self.spending.seconds - spending.seconds if replayed else self.clock.elapsed() - start
        passes = spending.passes
        return spent / max(1, self.spending.passes - passes) if self.spending.passes > passes else 0.0

    def _schedule_rounds(self, order: Sequence[str], cost: int) -> None:
        if not self.schedule.looks:
            schedule = self.schedule
            passes = self.clock.allowed_passes(schedule.seconds_per_pass)
            most = affordable_examples(
                order,
                self.plan.subject.lengths,
                pilot=schedule.pilot,
                cost=cost,
                passes=passes - self.spending.passes,
                further=self._kept_back,
            )
            self._note(
                passes=passes,
                passes_per_example=round(cost / schedule.pilot, 3),
                looks=looks_within(schedule.pilot, most, rounds=not named(self.options)),
                further=tuple(item.name for item in self.items),
                slice=slice_within(self.budget, cost / schedule.pilot * schedule.seconds_per_pass, self.workers),
            )
        self.clock.planned_at = self.clock.elapsed()
        self._announce_plan()
        self.workshop.writer.note_estimate(self._estimate().to_json())

    @property
    def _kept_back(self) -> float:
        """Share of the rest that the rounds leave to further methods."""
        if not self.items:
            return 0.0
        return brief_protocol.FURTHER_SHARE if self.plan.settings.headline else FURTHER_SHARE

    def _estimate(self) -> Estimate:
        """Planned cost of the rounds, without further methods."""
        schedule, n = self.schedule, self.schedule.looks[-1]
        backwards = self._pilot_backwards * n / schedule.pilot
        return Estimate(
            examples=n,
            forwards=round(n * schedule.passes_per_example - 2 * backwards),
            backwards=round(backwards),
            seconds=n * schedule.passes_per_example * schedule.seconds_per_pass,
            skipped={},
        )

    def _rounds(self, order: Sequence[str]) -> int:
        """Run rounds until the headline questions are settled, or the passes or the data end; return the examples."""
        count = self.schedule.pilot
        for look in self.schedule.looks:
            end = self.schedule.taken[-1] if self.schedule.stopped else look
            why = OUT_OF_PASSES
            while count < min(look, end) and self.spending.passes < self.schedule.passes:
                names = order[count : min(look, count + self.schedule.slice)]
                if self._is_late(len(names) * self.schedule.passes_per_example, self._kept_back):
                    why = OUT_OF_TIME
                    break
                self._explain(names)
                count += len(names)
            is_taken = count in self.schedule.taken  # decided in an earlier session, from the pages of that moment
            if is_taken and self.schedule.stopped and count == self.schedule.taken[-1]:
                break
            if count < look:
                self._note(taken=(*self.schedule.taken, *(() if is_taken else (count,))), stopped=why)
                break
            if is_taken:
                continue
            last = look == self.schedule.looks[-1]
            enough = count >= min(PILOT, len(order)) and not named(self.options)
            settled = enough and self.listeners.is_settled()
            why = SETTLED if settled else self._end(look) if last else ""
            self._note(taken=(*self.schedule.taken, look), stopped=why)
            if settled:
                break
        return count

    def _end(self, look: int) -> str:
        return OUT_OF_DATA if look >= len(self.predictions) else OUT_OF_PASSES

    def _is_late(self, passes: float, kept_back: float = 0.0) -> bool:
        return self.clock.is_late(passes, self.schedule.seconds_per_pass, kept_back)

    def _explain(self, names: Sequence[str]) -> None:
        groups = shards({name: self.plan.subject.lengths[name] for name in names})
        with self.clock.paced():
            self.workshop.run(groups, partial(self._task, self.headline), self._settled, stage="headline")

    def _task(self, settings: Settings, key: str, shard: Sequence[str], alone: bool) -> Task:
        return Task(key, self.plan.payload(shard, settings, alone=alone))

    # ------------------------------------------------------------------ further methods

    def _further(self, names: Sequence[str]) -> None:
        """Spend the remaining passes on further methods, on as many of the explained examples as they pay for."""
        prior = self.schedule.passes_per_example
        while names and not (self.schedule.ended and self.spending.passes >= self.schedule.ended):
            left = self.schedule.passes - self.spending.passes
            choice = best_item(self.items, len(names), left, prior)
            if choice is None:
                return
            item, size = choice
            if self._is_late(size * item.expected(prior)):
                self._note(ended=self.spending.passes)
                return
            chunk = names[item.examples : item.examples + size]
            before = self.spending.passes
            groups = shards({name: self.plan.subject.lengths[name] for name in chunk})
            task = partial(self._further_task, item.settings)
            with self.clock.paced():
                self.workshop.run(groups, task, self._settled, stage=f"further {item.name}")
            item.examples, item.passes = item.examples + size, item.passes + self.spending.passes - before

    def _more_rounds(self, order: Sequence[str], count: int) -> int:
        """Explain more examples while the budget pays for whole rounds; return the examples.

        Each round includes every further method, and runs only if the judge expects it to settle a further question.
        The headline questions are settled by then.
        """
        looks = [look for look in self.schedule.looks if look > count] if self.schedule.stopped == SETTLED else []
        for look in looks:
            if look not in self.schedule.extended:  # not decided in an earlier session
                rate = self.schedule.passes_per_example
                cost = (look - count) * (rate + sum(item.expected(rate) for item in self.items))
                late = self.schedule.ended or self.schedule.actual or self._is_late(cost)
                if late or self.spending.passes + cost > self.schedule.passes or not self.listeners.is_awaited():
                    break
                self._note(extended=(*self.schedule.extended, look))
                self.listeners.say(Message.of("budget.extended", n=look))
            self._explain(order[count:look])
            count = look
            self._further(self._explained(order, count))
        return count

    def _explained(self, order: Sequence[str], count: int) -> list[str]:
        return [name for name in order[:count] if name in self._answered]

    def _further_task(self, settings: Settings, key: str, shard: Sequence[str], alone: bool) -> Task:
        payload = self.plan.payload(shard, settings, alone=alone)
        return Task(key, {**payload, "keep": [], "walk": [], "known": self._known(shard)})

    def _known(self, shard: Sequence[str]) -> list[Json]:
        """The relevances of the headline stage for these examples."""
        by_name, order = self.headline.by_name, {name: i for i, name in enumerate(shard)}
        relevances: list[Json] = []
        for spec in self.headline.explainers:
            rows = self.explained.get(label(spec, by_name), {})
            parts = [selected(rows[name][0], [rows[name][1]]) for name in shard if name in rows]
            if parts:
                relevances.append({"spec": spec.to_json(), **relevance_to_json(joined_relevance(parts, order))})
        return relevances

    # ------------------------------------------------------------------ accounts

    def _settled(self, shard: Sequence[str], page: ShardResult | None, computed: bool) -> None:
        if page is not None:
            seconds = sum(cost.seconds for cost in page.costs)
            self.spending.passes += page.passes
            self.spending.backwards += sum(cost.backwards for cost in page.costs)
            self.spending.seconds += seconds
            self.spending.before += 0.0 if computed else seconds
            self.predictions += page.predictions
            self._answered |= {str(row["id"]) for row in page.rows}
            for relevance in page.relevances:
                rows = self.explained.setdefault(relevance.method, {})
                rows.update({name: (relevance, i) for i, name in enumerate(relevance.ids)})
        self.clock.computes |= computed
        self._report()

    def _report(self, total: int = 0) -> None:
        if self.listeners.progress is None:
            return
        planned = self._planned_passes() if self.schedule.looks else self._guessed_passes()
        pace, left = self.schedule.seconds_per_pass, max(0, planned - self.spending.passes)
        eta = left * pace if self.schedule.looks and pace else None
        self.listeners.progress(self.spending.passes, max(planned, self.spending.passes, total), eta)

    def _guessed_passes(self) -> int:
        """Expected passes of the whole audit before the pilot has timed them: at the pace so far, if any."""
        if self.budget.passes is not None:
            return self.budget.passes
        share = self.clock.elapsed() / max(1e-9, (self.budget.seconds or 0.0) - self.clock.end)
        return int(self.spending.passes / min(1.0, max(share, 1e-3)))

    def _planned_passes(self) -> int:
        """Expected passes of the whole audit, at most those of the budget."""
        schedule = self.schedule
        rounds = 0 if schedule.stopped else schedule.looks[-1] - len(self._answered)
        expected = rounds * schedule.passes_per_example
        examples = len(self._answered) if schedule.stopped else schedule.looks[-1]
        for item in self.items:
            expected += item.expected(schedule.passes_per_example) * max(0, examples - item.examples)
        return min(schedule.passes, self.spending.passes + max(0, int(expected)))

    def _note(self, **changes: Json | tuple[int, ...] | tuple[str, ...]) -> None:
        self.schedule = replace(self.schedule, **changes)  # type: ignore[arg-type]
        self.workshop.writer.note_schedule(self.schedule.to_json())

    def _announce_plan(self) -> None:
        if self.plan.settings.headline:
            passes = round(self.schedule.passes_per_example)
            self.listeners.say(Message.of("budget.brief_protocol", limit=brief_protocol.LONG, passes=passes))
        self.listeners.say(announcement(self.schedule, self.spending.passes, len(self.items)))

    def _finish(self, count: int) -> None:
        items: dict[str, Json] = {item.name: item.examples for item in self.items if item.examples}
        actual: dict[str, Json] = {
            "passes": self.spending.passes,
            "seconds": round(self.clock.elapsed(), 1),
            "examples": count,
            "further": items,
        }
        if not self.schedule.actual:
            self._note(actual=actual)
        rounds = self.schedule.taken[-1] if self.schedule.extended else count
        self.listeners.say(Message(f"budget.stopped_{self.schedule.stopped}", {"n": rounds}))
        if self.schedule.ended:
            self.listeners.say(Message("budget.ended"))
        if self.listeners.progress is not None:
            self.listeners.progress(self.spending.passes, self.spending.passes, 0.0)
