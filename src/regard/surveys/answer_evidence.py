"""Everything that is measured about one answer: effects of hiding and deleting sources, and the decision from them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from regard.errors import Unsupported
from regard.models.chat.answer import Answer, answer_units
from regard.models.chat.answer_objective import AnswerObjective
from regard.models.chat.log_odds import log_probabilities, weighted_probability
from regard.models.chat.prompt_reader import PromptReader
from regard.records import Floats, Message
from regard.surveys.answer_hops import traced
from regard.surveys.citation_rule import (
    LIMIT,
    QUIET,
    STRONG,
    Decision,
    TooCostly,
    candidates,
    decision,
    separate_sources,
)
from regard.surveys.cited_answer import Alone, CitedSentence, Group, Pair

MOST_ALONE = 64
"""More sources than this are ranked by gradient contributions first, and only the best are hidden one by one."""
BEST = 16
"""Sources of every sentence, of more than `MOST_ALONE`, that are hidden one by one; the others in groups as large."""


@dataclass(slots=True)
class Evidence:
    """The measurements of one answer; spans: (start, stop) of its sentences.

    effects: (sentences, sources) of hiding, NaN for a source that was hidden only together with others. limit: most
    passes over the prompt; where ranking alone costs more than half of it, twice the cost of the ranking. hops: trace
    sentences by way of earlier ones.
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
    _deletions: dict[frozenset[int], tuple[Floats, Floats]] = field(default_factory=dict)
    _nothing: dict[int, float] = field(default_factory=dict)
    _groups: list[frozenset[int]] = field(default_factory=list)

    def afford(self, passes: float) -> None:
        """Refuse a measurement of so many passes if it exceeds the limit."""
        if self.objective.passes + passes > max(self.limit, 2 * self.ranking_passes) + 1e-9:
            raise TooCostly

    def group_of(self, u: int) -> Group | None:
        """Return the sources that were deleted together with the only candidate of a sentence, if that costs enough."""
        own = candidates(self._row(u), delta=self.delta, check=self.check)
        group = next((group for group in self._groups if own[:1] and own[0] in group), frozenset[int]())
        if len(own) != 1 or not group or group not in self._deletions:
            return None
        others = sorted(group - {own[0]})
        exact = float(self.deletion(*group)[u] - np.maximum(np.nan_to_num(self.effects[u, others]), 0.0).sum())
        return Group(tuple(sorted(group)), exact) if exact >= self.delta else None

    def deletion(self, *numbers: int) -> Floats:
        """Return (sentences,) the exact effect of deleting sources together."""
        return self.objective.base - self._without(frozenset(numbers))[0]

    def alone(self, u: int, numbers: Sequence[int]) -> Alone:
        """Read a sentence straight after a prompt that holds some sources only, and after one that holds none.

        Without the sentences before it: what they say would compete with the sources, or replace them.
        """
        own = self.objective.owners == u
        weights = np.maximum(self.token_drops(u, numbers)[own], 0.0)
        everything = frozenset(range(len(self.reader.sources)))
        first = int(np.flatnonzero(own)[0])
        start = self._sentence_start(first)
        if 0 < start == first and weights[1:].sum() >= self.delta:
            weights[0] = 0.0  # which subject comes next was decided by the sentences before, which are not read
        before = range(start, first)
        if u not in self._nothing:
            self._nothing[u] = self.isolated(self.reader.without(everything), u, before)[0]
        value, log_p = self.isolated(self.reader.without(everything - frozenset(numbers)), u, before)
        return Alone(gain=value - self._nothing[u], probability=weighted_probability(log_p, weights))

    def _sentence_start(self, token: int) -> int:
        """Return the first token of the sentence that holds a token."""
        _, owners = answer_units(self.reply, "sentence")
        return int(np.flatnonzero(owners == owners[token])[0])

    def isolated(self, prompt: Sequence[int], u: int, before: Sequence[int]) -> tuple[float, Floats]:
        """Read a sentence after another prompt and some tokens of the answer, if that is affordable."""
        own = np.flatnonzero(self.objective.owners == u)
        self.afford(self.objective.cost(prompt, [*before, *map(int, own)]))
        return self.objective.isolated(prompt, u, before)

    def token_drops(self, u: int, numbers: Sequence[int]) -> Floats:
        """Return (tokens,) the log-probability that each token of the answer loses when cited sources are deleted.

        Taken from the deletions that cited them for sentence u: the largest loss, where they were deleted one by one.
        """
        group = self.group_of(u)
        keys = {frozenset(numbers), *(frozenset((c,)) for c in numbers)} & set(self._deletions)
        keys = keys or {frozenset(group.sources) if group else frozenset(numbers)}
        base = log_probabilities(self.objective.rows.base)
        drops: Floats = np.max([base - self._without(key)[1] for key in keys], axis=0)
        return drops

    def _without(self, key: frozenset[int]) -> tuple[Floats, Floats]:
        """Return (sentences,) values and (tokens,) log-probabilities after deleting sources."""
        if key not in self._deletions:
            prompt = self.reader.without(key)
            if self.ranking_passes and len(key) < len(self.reader.sources):  # ranking and the whole are always paid
                self.afford(self.objective.cost(prompt))
            self._deletions[key] = self.objective.deleted(prompt)
        return self._deletions[key]

    def hiding(self, groups: Sequence[Sequence[int]]) -> Floats:
        """Return (groups, sentences) the effect of hiding the sources of each group together."""
        if self.ranking == "leave_source_out":
            return np.stack([self.deletion(*group) for group in groups])
        hidden = np.stack([np.isin(self.reader.owners, group) for group in groups])
        return self.objective.base - self.objective.hidden(hidden)

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
        self._groups = separate_sources(effects, delta=self.delta, check=self.check)
        with suppress(TooCostly):
            for group in self._groups:
                self._without(group)
        measurements = [SentenceMeasurements(self, u) for u in range(len(effects))]
        weakest_first = np.argsort(np.nanmax(self.effects, axis=1), kind="stable")
        # what is necessary comes before what is sufficient: of that, strong effects can do without
        for u in map(int, weakest_first[::-1]):
            with suppress(TooCostly):
                for c in candidates(effects[u], delta=self.delta, check=self.check):
                    measurements[u].exact(c)
        decisions = {
            u: decision(effects[u], float(whole[u]), measurements[u], delta=self.delta, check=self.check)
            for u in map(int, weakest_first)
        }
        sentences = [self._sentence(u, row, float(whole[u]), decisions[u]) for u, row in enumerate(effects)]
        results = traced(self, sentences) if self.hops else sentences
        for numbers in dict.fromkeys(sentence.group.sources for sentence in results if sentence.group):
            names = ", ".join(str(c + 1) for c in numbers)
            self.notes.append(Message.of("cite.note.together", sources=names, quiet=QUIET * self.delta))
        untested = [s for s in results if s.cited and s.alone is None]
        if untested and not self.objective.contrasted:
            self.notes.append(Message.of("cite.note.strong", n=len(untested), strong=STRONG * self.delta))
        if missing := sum(not sentence.checked for sentence in results):
            self.notes.append(Message.of("cite.note.limit", n=missing, limit=self.limit))
        return results

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

    def _sentence(self, u: int, effects: Sequence[float | None], whole: float, outcome: Decision) -> CitedSentence:
        start, stop = self.spans[u]
        keys = [frozenset((c,)) for c in range(len(effects))]
        strongest = max(effect for effect in effects if effect is not None)
        return CitedSentence(
            text=self.reply.text[start:stop],
            start=start,
            stop=stop,
            tokens=int((self.objective.owners == u).sum()),
            log_odds=float(self.objective.base[u]),
            log_probability=float(self.objective.log_probabilities[u]),
            effects=tuple(effects),
            exact=tuple(float(self.deletion(*key)[u]) if key in self._deletions else None for key in keys),
            whole=whole,
            pair=outcome.pair,
            group=self.group_of(u) if outcome.checked else None,
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
    sentence: int

    def exact(self, source: int) -> float:
        """Delete one source; alone, unless it was deleted with others that do not matter to this sentence."""
        group = self.evidence.group_of(self.sentence)
        if group is not None and source in group.sources:
            return group.exact
        return float(self.evidence.deletion(source)[self.sentence])

    def pair(self, one: int, other: int) -> Pair:
        """Hide, and delete, two sources together."""
        self.evidence.afford(self.evidence.objective.row_cost(1))
        effect = float(self.evidence.hiding([[one, other]])[0, self.sentence])
        return Pair(effect=effect, exact=float(self.evidence.deletion(one, other)[self.sentence]))

    def alone(self, sources: Sequence[int]) -> Alone | None:
        """Delete all other sources; not for a contrast, which asks only which of two texts is likelier."""
        return None if self.evidence.objective.contrasted else self.evidence.alone(self.sentence, sources)
