"""Hops: a sentence that depends on an earlier sentence of the answer, which depends on a source.

The answer is given, so neither hiding nor deleting a source touches what a sentence takes from the sentences before it.
This is found by hiding, from the rows after an earlier sentence, the tokens of it that its own sources decide. The rule
is that of a source. Necessary: hiding these tokens costs the threshold, and so does deleting the earlier sentences of
the chain with their sources, each of which could replace the others. Sufficient: the sentence after the earlier one
alone, without any source. A source that matters to the sentence itself must be one of the chain's. No word of the
sentence but its first may be unlikely where it stands, and one must lose the threshold by itself, for sentences of one
form lend each other their form: all their words then lose a little. Sentences are traced in order, so chains of several
hops are followed to the prompt.

A sentence that cannot be traced may still repeat a word that an earlier sentence took from a source. If hiding the word
there costs it the threshold, the sentence is unclear: that it does not come from the sources is not shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from regard.errors import Unsupported
from regard.models.chat.answer_objective import AnswerObjective
from regard.models.chat.log_odds import log_probabilities, weighted_probability
from regard.records import Bools, Floats, Ints
from regard.surveys.answer_sufficiency import Measured as MeasuredAlone
from regard.surveys.citation_rule import SUFFICIENT, TooCostly, decisive_word, needed, sufficient
from regard.surveys.cited_answer import Alone, CitedSentence, Trace

DECIDED = 0.5
"""Minimum loss of log-probability, in nats, of a token that a source decides."""
NEAREST = 8
"""Maximum earlier sentences to try for one sentence, nearest first."""


class Measured(MeasuredAlone, Protocol):
    """The measurements that a trace needs."""

    @property
    def effects(self) -> Floats: ...
    def deleted_with(self, numbers: Sequence[int]) -> frozenset[int]: ...
    def costs(self, u: int, numbers: Iterable[int]) -> list[float]: ...
    def afford(self, passes: float) -> None: ...


def traced(evidence: Measured, sentences: Sequence[CitedSentence]) -> list[CitedSentence]:
    """Return the sentences, with a trace for those that have no citation of their own but an earlier sentence has."""
    if evidence.objective.contrasted or not any(sentence.cited for sentence in sentences):
        return list(sentences)
    tracer = Tracer(evidence)
    results: list[CitedSentence] = []
    for u, sentence in enumerate(sentences):
        try:
            trace = None if sentence.cited else tracer.trace(u, results)
            repeats = tracer.repeated(u, results) if trace is None and sentence.status == "none" else None
        except TooCostly:  # it may come from an earlier sentence: that it comes from nowhere is not shown
            results.append(replace(sentence, status="unclear", checked=False))
            continue
        if repeats is not None:
            sentence = replace(sentence, status="unclear", repeats=repeats)
        results.append(sentence if trace is None else replace(sentence, trace=trace, status="traced", supported=True))
    return results


def hop_cost(objective: AnswerObjective, u: int, earlier: Sequence[int]) -> float:
    """Return the largest cost, in passes, of tracing a sentence to an earlier one without reading a prompt again."""
    own = later_words(objective, u)
    if not earlier or np.exp(log_probabilities(objective.rows.base)[own]).min() < SUFFICIENT:
        return 0.0
    owners = objective.owners
    forgotten = [objective.forgotten_cost(owners == w) for w in earlier]
    lengths = [int((owners == w).sum()) for w in (*earlier, u)]
    read = int(own[-1]) + max(lengths) + 2 * lengths[-1]
    return sum(forgotten) + forgotten[-1] + read / len(objective.rows.prompt)


def later_words(objective: AnswerObjective, u: int) -> Ints:
    """Return the tokens of a sentence but its first, if it has more than one."""
    own = np.flatnonzero(objective.owners == u)
    return own[1:] if len(own) > 1 else own


class Tracer:
    """Follow sentences to earlier ones; decided: the tokens of every sentence that its sources decide."""

    def __init__(self, evidence: Measured) -> None:
        self.evidence, self.objective = evidence, evidence.objective
        self.base = log_probabilities(self.objective.rows.base)
        self._decided: dict[int, Bools] = {}
        self._forgotten: dict[int, tuple[Floats, Floats]] = {}
        self._bare: dict[tuple[int, int], tuple[float, Floats, float, Floats]] = {}

    def decided(self, u: int, sentence: CitedSentence) -> Bools:
        """Return which tokens of a cited or traced sentence its sources, or the sentence before, decide."""
        if u not in self._decided:
            if sentence.trace is not None:
                drops = self.base - self._forget(sentence.trace.sentence)[1]
            else:
                drops = self.evidence.token_drops(u, sentence.cited)
            self._decided[u] = (self.objective.owners == u) & (drops >= DECIDED)
        return self._decided[u]

    def trace(self, u: int, earlier: Sequence[CitedSentence]) -> Trace | None:
        """Return the earlier sentence that costs most when its decided tokens are hidden, if it passes the rule."""
        own = later_words(self.objective, u)
        if np.exp(self.base[own]).min() < SUFFICIENT:
            return None  # a word that nothing makes likely: the sentence may share no more than its form
        direct = {c for c, effect in enumerate(self.evidence.effects[u]) if effect >= self.evidence.delta}
        sourced = [w for w in range(u) if _sources(earlier[w]) and direct <= set(_sources(earlier[w]))]
        nearest = [w for w in reversed(sourced) if self.decided(w, earlier[w]).any()][:NEAREST]
        try:
            if len(nearest) > 1 and self._joint_effect(u, nearest) < self.evidence.delta:
                return None  # not even all of them together
            effects = [(float(self.objective.base[u] - self._forget(w)[0][u]), w) for w in nearest]
        except Unsupported:
            return None
        carried = [(e, w) for e, w in effects if (self.base - self._forget(w)[1])[own].max() >= self.evidence.delta]
        effect, best = max(carried, default=(0.0, -1))
        if effect < self.evidence.delta:
            return None
        before, sources = earlier[best].trace, _sources(earlier[best])
        path = (*(before.path if before else ()), best)
        alone = self._alone(u, path, self.base - self._forget(best)[1])
        if not sufficient(alone, gain=self.evidence.gain):
            return None  # before the costlier test
        log_p, exact, least = self._exact(u, path, sources)
        alone = self._alone(u, path, self.base - log_p)
        if exact < least or not sufficient(alone, gain=self.evidence.gain):
            return None
        return Trace(sentence=best, path=path, sources=sources, effect=effect, exact=exact, alone=alone)

    def repeated(self, u: int, earlier: Sequence[CitedSentence]) -> int | None:
        """Return the last earlier sentence of which this one repeats a word from a source, and depends on the word."""
        tokens, owners = np.array(self.objective.rows.answer), self.objective.owners
        own = owners == u
        sourced = [w for w in range(u) if _sources(earlier[w])][-NEAREST:]
        decided = np.logical_or.reduce([np.zeros_like(own), *(self.decided(w, earlier[w]) for w in sourced)])
        before = decided & np.isin(tokens, tokens[own])
        if not before.any():
            return None
        self.evidence.afford(self.objective.forgotten_cost(before))
        try:
            drops = self.base - self.objective.forgotten(before)[1]
        except Unsupported:
            return None
        drops[~(own & np.isin(tokens, tokens[before]))] = 0.0
        if drops.max() < self.evidence.delta:
            return None
        return int(owners[np.flatnonzero(before & (tokens == tokens[drops.argmax()]))[-1]])

    def _joint_effect(self, u: int, sentences: Sequence[int]) -> float:
        """Hide the decided tokens of several earlier sentences together."""
        tokens = np.logical_or.reduce([self._decided[w] for w in sentences])
        self.evidence.afford(self.objective.forgotten_cost(tokens))
        return float(self.objective.base[u] - self.objective.forgotten(tokens)[0][u])

    def _forget(self, w: int) -> tuple[Floats, Floats]:
        if w not in self._forgotten:
            self.evidence.afford(self.objective.forgotten_cost(self._decided[w]))
            self._forgotten[w] = self.objective.forgotten(self._decided[w])
        return self._forgotten[w]

    def _exact(self, u: int, path: Sequence[int], sources: Sequence[int]) -> tuple[Floats, float, float]:
        """Delete the whole path with its sources: (tokens,) log-probabilities of the answer, the drop, and the least.

        Sources that were deleted with others are deleted with them again: that prompt was read before.
        """
        owners = self.objective.owners
        first = int(np.flatnonzero(owners == u)[0])
        before = [i for i in range(first) if owners[i] not in path]
        key = self.evidence.deleted_with(sources)
        value, own = self.evidence.isolated(self.evidence.reader.without(key), u, before)
        log_p = self.base.copy()
        log_p[owners == u] = own
        others = self.evidence.costs(u, key - set(sources))
        least = needed(len(key), delta=self.evidence.delta) if others else self.evidence.delta
        return log_p, float(self.objective.base[u]) - value - sum(others), least

    def _alone(self, u: int, path: Sequence[int], drops: Floats) -> Alone:
        """Read the sentence after the last of the path alone, and after nothing, without any source."""
        if (u, path[-1]) not in self._bare:
            reader, owners = self.evidence.reader, self.objective.owners
            bare = reader.without(frozenset(range(len(reader.sources))))
            after = self.evidence.isolated(bare, u, [int(i) for i in np.flatnonzero(owners == path[-1])])
            self._bare[u, path[-1]] = *after, *self.evidence.isolated(bare, u, [])
        value, log_p, nothing, without = self._bare[u, path[-1]]
        weights = np.maximum(drops[self.objective.owners == u], 0.0)
        word = decisive_word(log_p, without, delta=self.evidence.delta)
        return Alone(gain=value - nothing, probability=weighted_probability(log_p, weights), word=word)


def _sources(sentence: CitedSentence) -> tuple[int, ...]:
    """Return the sources that a sentence comes from, cited or traced."""
    return sentence.trace.sources if sentence.trace else sentence.cited
