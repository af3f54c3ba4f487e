"""Measurements of one answer: the effects of hiding and deleting sources, and the resulting decision."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from regard.errors import Unsupported
from regard.models.chat.answer import Answer
from regard.models.chat.answer_objective import AnswerObjective
from regard.models.chat.log_odds import log_probabilities
from regard.models.chat.prompt_reader import PromptReader
from regard.records import Floats, Message
from regard.surveys.answer_hops import hop_cost, traced
from regard.surveys.answer_sufficiency import Sufficiency
from regard.surveys.citation_rule import (
    LIMIT,
    QUIET,
    RESERVE,
    STRONG,
    TOGETHER,
    Decision,
    TooCostly,
    candidates,
    decision,
    needed,
    needed_gain,
    separate_sources,
    sufficient,
)
from regard.surveys.cited_answer import Alone, CitedSentence, Group, Pair

MOST_ALONE = 64
"""Maximum sources to hide one by one without ranking them by gradient contributions first."""
BEST = 16
"""Sources per sentence, of more than `MOST_ALONE`, to hide one by one; the others are hidden in groups as large."""


@dataclass(slots=True)
class Evidence:
    """The measurements of one answer; spans: (start, stop) of its sentences.

    effects: (sentences, sources) of hiding, NaN for a source that was hidden only together with others. limit: maximum
    passes over the prompt; if ranking alone costs more than half of it, twice the cost of the ranking. hops: trace
    sentences through earlier ones. pairs: (sentences,) effects of hiding two sources together.
    """

    reader: PromptReader
    reply: Answer
    objective: AnswerObjective
    spans: list[tuple[int, int]]
    delta: float
    check: int
    limit: float = LIMIT
    hops: bool = True
    ranking: str = "row_knock_out"
    ranking_passes: float = 0.0
    effects: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    notes: list[Message] = field(default_factory=list)
    pairs: dict[frozenset[int], Floats] = field(default_factory=dict)
    _deletions: dict[frozenset[int], tuple[Floats, Floats]] = field(default_factory=dict)
    _hidden: dict[int, Floats] = field(default_factory=dict)
    _groups: list[frozenset[int]] = field(default_factory=list)
    _short: bool = False
    _hops: float = 0.0

    def afford(self, passes: float) -> None:
        """Refuse a measurement of so many passes if it exceeds the limit."""
        if self.objective.passes + passes > self._limit:
            raise TooCostly

    @property
    def gain(self) -> float:
        """Return the gain that a source alone needs."""
        return needed_gain(self.reply.text, delta=self.delta)

    @property
    def _limit(self) -> float:
        return max(self.limit, 2 * self.ranking_passes) + 1e-9

    def group_of(self, u: int) -> Group | None:
        """Return the sources that were deleted together with the only candidate of a sentence, if the effect is
        large enough.
        """
        group = self.joint_deletion(u)
        return group if group and group.exact >= needed(len(group.sources), delta=self.delta) else None

    def joint_deletion(self, u: int) -> Group | None:
        """Return the group with which the only candidate of a sentence was deleted, and its effect."""
        own = self._candidates(self._row(u))
        group = next((group for group in self._groups if own[:1] and own[0] in group), frozenset[int]())
        drop = self._exact(group, u)
        if len(own) != 1 or len(group) < 2 or drop is None:
            return None
        return Group(tuple(sorted(group)), drop - sum(self.costs(u, group - {own[0]})))

    def costs(self, u: int, numbers: Iterable[int]) -> list[float]:
        """Return the cost of hiding each of some sources for a sentence, 0 if it gains."""
        return [max(0.0, float(np.nan_to_num(self.effects[u, c]))) for c in sorted(numbers)]

    def deleted_with(self, numbers: Sequence[int]) -> frozenset[int]:
        """Return the sources, or the group with which they were deleted if they were never deleted alone."""
        own = frozenset(numbers)
        return next((group for group in self._groups if own < group and own not in self._deletions), own)

    def deletion(self, *numbers: int, sentence: int | None = None, spare: bool = False) -> Floats:
        """Return (sentences,) the exact effect of deleting sources together.

        sentence: the requested one; if the limit is short, sentences that do not need it may be NaN.
        spare: only if the passes that hops may need are left.
        """
        return self.objective.base - self._without(frozenset(numbers), sentence, spare=spare)[0]

    def isolated(self, prompt: Sequence[int], u: int, before: Sequence[int]) -> tuple[float, Floats]:
        """Read a sentence after another prompt and some tokens of the answer, if that is affordable."""
        own = np.flatnonzero(self.objective.owners == u)
        self.afford(self.objective.cost(prompt, [*before, *map(int, own)]))
        return self.objective.isolated(prompt, u, before)

    def token_drops(self, u: int, numbers: Sequence[int]) -> Floats:
        """Return (tokens,) the log-probability that each token of the answer loses when cited sources are deleted.

        Based on the deletions that cited them for sentence u: the largest loss, if they were deleted one by one. Before
        any deletion, the loss when they are hidden.
        """
        group = self.group_of(u)
        keys = {frozenset(numbers), *(frozenset((c,)) for c in numbers)} & set(self._deletions)
        base = log_probabilities(self.objective.rows.base)
        if not keys and group is None and all(c in self._hidden for c in numbers):
            return np.asarray(np.max([base - self._hidden[c] for c in numbers], axis=0))
        keys = keys or {frozenset(group.sources) if group else frozenset(numbers)}
        tables = np.stack([base - self._without(key, u)[1] for key in keys])
        return np.asarray(np.max(np.where(np.isnan(tables), -np.inf, tables), axis=0))

    def _without(
        self, key: frozenset[int], sentence: int | None = None, *, spare: bool = False
    ) -> tuple[Floats, Floats]:
        """Return (sentences,) values and (tokens,) log-probabilities after deleting sources."""
        stored = self._deletions.get(key)
        if stored is None or np.isnan(stored[0] if sentence is None else stored[0][sentence]).any():
            if self.ranking_passes and len(key) < len(self.reader.sources):  # ranking and the whole are always paid
                self.afford(self._deletion_cost(key, sentence) + (self._hops if spare else 0.0))
            self._deletions[key] = self.objective.deleted(self.reader.without(key), self._needed(key, sentence))
        return self._deletions[key]

    def _deletion_cost(self, key: frozenset[int], sentence: int | None) -> float:
        return self.objective.cost(self.reader.without(key), range(self._needed(key, sentence)))

    def _needed(self, key: frozenset[int], sentence: int | None) -> int:
        """Return how many tokens of the answer a deletion reads: if the limit is short, up to its last sentence."""
        owners = self.objective.owners
        if sentence is None or not self._short:
            return len(owners)
        last = max(sentence, *(u for u in range(len(self.spans)) if key & set(self._candidates(self._row(u)))), 0)
        return int(np.flatnonzero(owners == last)[-1]) + 1

    def hiding(self, groups: Sequence[Sequence[int]]) -> Floats:
        """Return (groups, sentences) the effect of hiding the sources of each group together."""
        if self.ranking == "leave_source_out":
            return np.stack([self.deletion(*group) for group in groups])
        hidden = np.stack([np.isin(self.reader.owners, group) for group in groups])
        values, log_p = self.objective.hidden(hidden)
        self._hidden |= {group[0]: own for group, own in zip(groups, log_p, strict=True) if len(group) == 1}
        return self.objective.base - values

    def rank(self) -> None:
        """Measure the effect of every source on every sentence."""
        try:
            self.effects = self._screened()
        except Unsupported as problem:
            self.ranking = "leave_source_out"
            self.notes.append(Message.of("cite.note.no_rows", why=problem.got))
            self.effects = self._hidden_alone(range(len(self.reader.sources)))
        self.ranking_passes = self.objective.passes

    def sentences(self) -> list[CitedSentence]:
        """Check the best sources of every sentence, and decide."""
        whole = self.deletion(*range(len(self.reader.sources)))
        effects = [self._row(u) for u in range(len(self.spans))]
        weakest_first = [int(u) for u in np.argsort(np.nanmax(self.effects, axis=1), kind="stable")]
        sufficiency = Sufficiency(self)
        decisions: dict[int, Decision] = {}
        possible = {u: self._candidates(effects[u]) for u in weakest_first}
        own = {u: sources for u, sources in possible.items() if sources}
        self._short = not self._paid(own, sufficiency)
        if self._short:
            with suppress(TooCostly):
                sufficiency.gather(own)
            decisions = self._insufficient(own, sufficiency)
            remaining = [row for u, row in enumerate(effects) if u not in decisions]
            self._groups = self._affordable_groups(remaining)
            open_ends = [u for u in range(len(effects)) if self.hops and (u not in own or u in decisions)]
            self._hops = sum(hop_cost(self.objective, u, [w for w in sorted(own) if w < u]) for u in open_ends)
        with suppress(TooCostly):
            for group in self._groups:
                self._without(group, 0)
        measurements = {u: SentenceMeasurements(self, sufficiency, u) for u in weakest_first if u not in decisions}
        # what is necessary comes before what is sufficient: of that, strong effects can do without
        strongest_first = list(reversed(measurements))
        refuted = [u for u in strongest_first if measurements[u].refuted]
        for u in [u for u in strongest_first if u not in refuted]:
            with suppress(TooCostly):
                for c in possible[u]:
                    if measurements[u].exact(c) < self.delta and whole[u] < self.delta:
                        break
        for u in [u for u in measurements if self._short and u in own and u not in refuted]:
            with suppress(TooCostly):
                sufficiency.alone(u, possible[u])
        for u in refuted:
            with suppress(TooCostly):
                measurements[u].exact(possible[u][0])
        for u, evidence in measurements.items():
            decisions[u] = decision(
                effects[u], float(whole[u]), evidence, delta=self.delta, gain=self.gain, check=self.check
            )
        sentences = [self._sentence(u, row, float(whole[u]), decisions[u]) for u, row in enumerate(effects)]
        results = traced(self, sentences) if self.hops else sentences
        for sources in dict.fromkeys(sentence.group.sources for sentence in results if sentence.group):
            names = ", ".join(str(c + 1) for c in sources)
            self.notes.append(Message.of("cite.note.together", sources=names, quiet=QUIET * self.delta))
        wide = [s for s in results if s.cited and s.alone and set(s.alone.sources) > set(s.cited)]
        if wide:
            names = ", ".join(str(c + 1) for c in sorted(sufficiency.company))
            self.notes.append(Message.of("cite.note.company", n=len(wide), sources=names))
        untested = [s for s in results if s.cited and s.alone is None]
        if untested and not self.objective.contrasted:
            self.notes.append(Message.of("cite.note.strong", n=len(untested), strong=STRONG * self.delta))
        if missing := sum(not sentence.checked for sentence in results):
            self.notes.append(Message.of("cite.note.limit", n=missing, limit=self.limit))
        return results

    def _candidates(self, effects: Sequence[float | None]) -> list[int]:
        return candidates(effects, delta=self.delta, check=self.check)

    def _paid(self, own: Mapping[int, Sequence[int]], sufficiency: Sufficiency) -> bool:
        """Return whether the limit covers deleting every candidate alone, and every sentence with its own sources."""
        if len(own) < 2 or self.objective.contrasted or self.ranking != "row_knock_out":
            return True
        passes = sum(sufficiency.cost(u, numbers) + sufficiency.cost(u, ()) for u, numbers in own.items())
        single = {frozenset((c,)) for numbers in own.values() for c in numbers}
        passes += sum(self.objective.cost(self.reader.without(key)) for key in single)
        return self.objective.passes + passes + RESERVE <= self._limit

    def _affordable_groups(self, effects: Sequence[Sequence[float | None]]) -> list[frozenset[int]]:
        """Return the candidates in the smallest groups whose deletion the limit covers."""
        groups: list[frozenset[int]] = []
        for most in range(1, TOGETHER + 1):
            groups = separate_sources(effects, delta=self.delta, check=self.check, most=most)
            passes = sum(self._deletion_cost(group, 0) for group in groups)
            if self.objective.passes + passes + RESERVE <= self._limit:
                break
        return groups

    def _insufficient(self, own: Mapping[int, Sequence[int]], sufficiency: Sufficiency) -> dict[int, Decision]:
        """Decide about sentences to which no source leads, before any source is deleted for them."""
        decisions: dict[int, Decision] = {}
        for u, numbers in own.items():
            with suppress(TooCostly):
                if sufficiency.passes_together(u, numbers):
                    continue
            if self.effects[u, numbers[0]] >= STRONG * self.delta:
                continue
            with suppress(TooCostly):
                alone = sufficiency.alone(u, numbers)
                if not sufficient(alone, gain=self.gain):
                    decisions[u] = Decision("unclear", (), None, alone)
        return decisions

    def _row(self, u: int) -> list[float | None]:
        return [None if np.isnan(effect) else float(effect) for effect in self.effects[u]]

    def _hidden_alone(self, numbers: Sequence[int]) -> Floats:
        effects = np.full((len(self.spans), len(self.reader.sources)), np.nan)
        effects[:, list(numbers)] = self.hiding([[number] for number in numbers]).T
        return effects

    def _screened(self) -> Floats:
        """Hide every source; of very many, the best by gradients alone and the rest in groups that are halved."""
        count = len(self.reader.sources)
        try:
            many = count > MOST_ALONE
            members = np.arange(count)[:, None] == self.reader.owners[None]
            shares = self.objective.contributions(members) if many else np.zeros((1, count))
        except Unsupported:
            many = False
        if not many:
            return self._hidden_alone(range(count))
        best = sorted({int(c) for order in np.argsort(-shares, axis=1)[:, :BEST] for c in order})
        rest = [int(c) for c in np.argsort(-shares.max(0)) if c not in best]
        groups = [rest[start : start + BEST] for start in range(0, len(rest), BEST)]
        effects = self._hidden_alone(best)
        while groups:
            halves: list[list[int]] = []
            for group, drop in zip(groups, self.hiding(groups), strict=True):
                if len(group) == 1:
                    effects[:, group[0]] = drop
                elif drop.max() >= self.delta:
                    halves += [group[: len(group) // 2], group[len(group) // 2 :]]
            groups = halves
        self.notes.append(Message.of("cite.note.screened", n=count, alone=int(np.isfinite(effects[0]).sum())))
        return effects

    def _exact(self, key: frozenset[int], u: int) -> float | None:
        """Return the effect of a deletion on a sentence, if it was measured."""
        if key not in self._deletions or np.isnan(value := self._deletions[key][0][u]):
            return None
        return float(self.objective.base[u] - value)

    def _sentence(self, u: int, effects: Sequence[float | None], whole: float, outcome: Decision) -> CitedSentence:
        start, stop = self.spans[u]
        keys = [frozenset((c,)) for c in range(len(effects))]
        strongest = max(effect for effect in effects if effect is not None)
        exact = tuple(self._exact(key, u) for key in keys)
        single = any(exact[c] is not None for c in self._candidates(effects))
        together = self.group_of(u) if single else self.joint_deletion(u)
        return CitedSentence(
            text=self.reply.text[start:stop],
            start=start,
            stop=stop,
            tokens=int((self.objective.owners == u).sum()),
            log_odds=float(self.objective.base[u]),
            log_probability=float(self.objective.log_probabilities[u]),
            effects=tuple(effects),
            exact=exact,
            whole=whole,
            pair=outcome.pair,
            group=together if outcome.checked else None,
            alone=outcome.alone,
            checked=outcome.checked,
            status=outcome.status,
            cited=outcome.cited,
            trace=None,
            supported=bool(outcome.cited) or min(whole, strongest) >= self.delta,
        )


@dataclass(frozen=True, slots=True)
class SentenceMeasurements:
    """Further measurements of one sentence, for `citation_rule.decision`."""

    evidence: Evidence
    sufficiency: Sufficiency
    sentence: int

    def exact(self, source: int) -> float:
        """Delete one source; alone, unless it was deleted with others that do not matter to this sentence."""
        group = self.evidence.group_of(self.sentence)
        if group is not None and source in group.sources:
            return group.exact
        joint = self.evidence.joint_deletion(self.sentence)
        try:
            return float(self.evidence.deletion(source, sentence=self.sentence, spare=self.refuted)[self.sentence])
        except TooCostly:
            if joint is None or source not in joint.sources or not self.refuted:
                raise
            return joint.exact

    @property
    def refuted(self) -> bool:
        """Return whether deleting the only candidate costs less than the threshold, even together with others."""
        joint = self.evidence.joint_deletion(self.sentence)
        return joint is not None and joint.exact < self.evidence.delta

    def together(self, one: int, other: int) -> float:
        """Hide two sources together."""
        key = frozenset((one, other))
        if key not in self.evidence.pairs:
            self.evidence.afford(self.evidence.objective.row_cost(1))
            self.evidence.pairs[key] = self.evidence.hiding([[one, other]])[0]
        return float(self.evidence.pairs[key][self.sentence])

    def pair(self, one: int, other: int) -> Pair:
        """Hide, and delete, two sources together."""
        exact = self.evidence.deletion(one, other, sentence=self.sentence)[self.sentence]
        return Pair(effect=self.together(one, other), exact=float(exact))

    def alone(self, sources: Sequence[int]) -> Alone | None:
        """Delete all other sources; not for a contrast, which only compares two texts."""
        return None if self.evidence.objective.contrasted else self.sufficiency.alone(self.sentence, sources)
