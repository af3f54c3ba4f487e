"""The decision about one sentence: which of its sources to cite, from measured effects alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from regard.records import Floats
from regard.surveys.citation_reliability import answer_language
from regard.surveys.cited_answer import Alone, Pair, Status

DELTA = 1.0
"""Threshold of every effect, in nats: odds that fall to less than 0.37 of themselves."""
SECOND = 0.5
"""Minimum effect of a second cited source, as a share of the first one's: a long sentence shares a few words with
many sources.
"""
GAIN = 2.0
"""Minimum gain of a source alone over a prompt without sources, as a multiple of the threshold: the difference of
two newly read prompts is noisier than one effect.
"""
GAINS = {"zh": 5.0}
"""The same for languages that need more. A note makes every Chinese answer of its topic likelier for a model that knows
little Chinese: on development prompts such answers gained up to 5.0 nats (seed 82), copied ones at least 5.3."""
SUFFICIENT = 0.05
"""Least probability of the words that a source decides when the prompt holds no other source. A source that names one
value of a sort makes others of the sort likelier: hiding it can cost an answer that stands nowhere more than a nat. But
no source alone leads to such an answer."""
RAISE = 2.0
"""Minimum rise of a decisive word, as a multiple of the threshold: e^2 times its probability without sources."""
DECISIVE = 0.2
"""Least probability of the most likely decisive word. A note on a topic makes the whole sentence a little likelier (the
form, "in", "should", a full stop), and the gains add up. A copied sentence holds a word that the source makes likely
and that the model would hardly write without it. On development prompts from memory that were cited, this word had a
probability of at most .10, in copied ones of .38 or more."""
STRONG = 5.0
"""Where the limit of passes does not pay for the test of a source alone, the source is cited all the same if hiding it
and deleting it each cost this multiple of the threshold (5 nats: odds that fall below 1 % of themselves). Hiding a
source cost none of 400 sentences that come from nowhere as much (at most 4.0 nats; development seed 78)."""
QUIET = 1.0
"""Sources of different sentences are deleted together if hiding one costs the other's sentence less than this share of
the threshold. What it does cost is subtracted from the effect of the deletion; what it adds is left in."""
TOGETHER = 4
"""Most sources that are deleted together, where the limit of passes does not pay for smaller groups."""
SHARED = 0.5
"""A source that was deleted with others must cost its sentence this share of the threshold for every source of the
group, and no less than the threshold: deleting a source that does not matter moves a sentence all the same."""
RESERVE = 1.0
"""Passes that groups leave for the sentences that need a second measurement, and for hops."""
LIMIT = 6.0
"""Maximum passes over the prompt, all measurements included."""


class TooCostly(Exception):
    """A measurement that the limit of passes does not pay for."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Status of a sentence, the sources to cite, and the measurements behind it.

    checked: whether every measurement that the rule asked for was affordable.
    """

    status: Status
    cited: tuple[int, ...]
    pair: Pair | None = None
    alone: Alone | None = None
    checked: bool = True


class Measurements(Protocol):
    """Measurements that a decision may request beyond the effects of hiding; each costs a pass, or is `TooCostly`."""

    def exact(self, source: int) -> float:
        """Return the effect of deleting a source, alone or with sources that do not matter to the sentence."""
        ...

    def together(self, one: int, other: int) -> float:
        """Return the effect of hiding two sources together."""
        ...

    def pair(self, one: int, other: int) -> Pair:
        """Measure two sources together; used only if the best two may replace each other."""
        ...

    def alone(self, sources: Sequence[int]) -> Alone | None:
        """Measure the effect of some sources as the only ones; None if the objective has no such measure."""
        ...


def decision(
    effects: Sequence[float | None], whole: float, measurements: Measurements, *, delta: float, gain: float, check: int
) -> Decision:
    """Decide from the effects of hiding each source (None: not measured) and of deleting all.

    Necessary: hiding the source and deleting it both cost `delta`. Sufficient: it alone raises the sentence by `gain`
    over a prompt without sources, makes the words that it decides likely, and one word (`decisive_word`) that the
    model would hardly write without it. The second source is cited
    without the best one, or replaces it, only where deleting all costs `delta`; it replaces the best one only if hiding
    it as well costs `delta` more. check: most sources of a sentence. A sentence whose measurements are
    too costly is unclear; only the second test can be replaced, by effects of `STRONG` times the threshold.
    """
    try:
        return _decision(effects, whole, measurements, delta=delta, gain=gain, check=check)
    except TooCostly:
        return Decision("unclear", (), checked=False)


def needed_gain(answer: str, *, delta: float) -> float:
    """Return the gain, in nats, that a source alone needs for an answer in its language.

    >>> needed_gain("Rome.", delta=1.0), needed_gain("他住在北京。", delta=1.0)
    (2.0, 5.0)
    """
    return delta * GAINS.get(answer_language(answer), GAIN)


def sufficient(alone: Alone, *, gain: float) -> bool:
    """Return whether few sources alone lead to a sentence.

    >>> [sufficient(Alone(gain=3.0, probability=p, word=w), gain=2.0) for p, w in ((0.4, 0.8), (0.01, 0.8), (0.4, 0.1))]
    [True, False, False]
    """
    return alone.gain >= gain and alone.probability >= SUFFICIENT and alone.word >= DECISIVE


def decisive_word(log_p: Floats, without: Floats, *, delta: float) -> float:
    """Return the largest probability among the tokens that sources raise by `RAISE`; 0 if there are none.

    >>> round(decisive_word(np.log([0.9, 0.5, 0.1]), np.log([0.8, 0.01, 0.001]), delta=1.0), 6)
    0.5
    """
    raised = log_p - without >= RAISE * delta
    return float(np.exp(log_p[raised].max())) if raised.any() else 0.0


def candidates(effects: Sequence[float | None], *, delta: float, check: int) -> list[int]:
    """Return the sources of a sentence that hiding alone would cite, best first.

    >>> candidates([0.2, 3.0, 1.2, 1.6], delta=1.0, check=2)
    [1, 3]
    """
    ranked = sorted((-effect, c) for c, effect in enumerate(effects) if effect is not None)[:check]
    return [c for minus, c in ranked if -minus >= delta and minus <= SECOND * ranked[0][0]]


def separate_sources(
    effects: Sequence[Sequence[float | None]], *, delta: float, check: int, most: int = TOGETHER
) -> list[frozenset[int]]:
    """Return all candidates in groups of at most `most` that can be deleted together, early sources first.

    Each source of a group is the only candidate of its sentences, and the others do not matter to them.

    >>> separate_sources([[3, 0, 0.1], [0, 2, 0], [0, 0.2, 4]], delta=1.0, check=2, most=2)
    [frozenset({0, 1}), frozenset({2})]
    """
    own = [candidates(row, delta=delta, check=check) for row in effects]
    rivals = {c for numbers in own if len(numbers) > 1 for c in numbers}
    sentences: dict[int, list[int]] = {}
    for u, numbers in enumerate(own):
        for c in numbers:
            sentences.setdefault(c, []).append(u)

    def quiet(c: int, other: int) -> bool:
        return all((effects[u][c] or 0.0) < QUIET * delta for u in sentences[other])

    groups: list[list[int]] = []
    for c in sorted(sentences):
        open_groups = [group for group in groups if len(group) < most and not rivals & {c, *group}]
        fitting = [group for group in open_groups if all(quiet(c, other) and quiet(other, c) for other in group)]
        if fitting:
            fitting[0].append(c)
        else:
            groups.append([c])
    return [frozenset(group) for group in groups]


def needed(size: int, *, delta: float) -> float:
    """Return the drop that confirms a source which was deleted with others, `size` in all.

    >>> [needed(size, delta=1.0) for size in (1, 2, 3, 4)]
    [1.0, 1.0, 1.5, 2.0]
    """
    return delta * max(1.0, SHARED * size)


def _decision(
    effects: Sequence[float | None], whole: float, measurements: Measurements, *, delta: float, gain: float, check: int
) -> Decision:
    ranked = sorted((-effect, c) for c, effect in enumerate(effects) if effect is not None)
    best = [(c, -minus) for minus, c in ranked[:check]]
    strongest = best[0][1] if best else 0.0
    cited: list[int] = []
    for i, (c, effect) in enumerate(best):
        beside = effect >= SECOND * strongest if cited else whole >= delta
        if effect < delta or (i > 0 and not beside):
            break
        if measurements.exact(c) >= delta:
            cited.append(c)
    status: Status = "cite"
    pair: Pair | None = None
    replaced = not cited and min(strongest, whole) >= delta and len(best) > 1
    if replaced:  # by the second, if that matters as soon as the first is hidden
        first, second = best[0][0], best[1][0]
        replaced = measurements.together(first, second) - strongest >= delta and measurements.exact(second) < delta
    if replaced:  # together they must pass the test of one source
        pair = measurements.pair(first, second)
        if pair.exact >= delta:
            status, cited = "either", sorted((first, second))
    if not cited:
        return Decision("none" if max(whole, strongest) < delta else "unclear", (), pair)
    try:
        alone = measurements.alone(cited)
    except TooCostly:
        drops = [drop for c in cited for drop in (effects[c] or 0.0, measurements.exact(c))]
        if pair is not None or min(drops) < STRONG * delta:
            raise
        return Decision(status, tuple(cited))
    if alone is not None and not sufficient(alone, gain=gain):
        return Decision("unclear", (), pair, alone)
    return Decision(status, tuple(cited), pair, alone)
