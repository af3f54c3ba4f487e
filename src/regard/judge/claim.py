"""Claim: a verdict before the number of questions asked with it is known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from regard.judge.margins import LEVEL
from regard.judge.mean_tests import Needed, Test, examples_for
from regard.records import Answer, Json, Message, Text, Verdict


@dataclass(frozen=True, slots=True)
class Draft:
    """p: of the claim that `answer` makes; NaN where it makes none. margins: the numbers that the rule names.

    rests: the tests that the claim rests on. deciding: where none is made, those that would have to pass for one, about
    `share` of the examples; more: whether more examples could bring that about. lost: the sentence where the claim does
    not survive the correction, if not the usual one of the question. level: of a claim that is not corrected.
    """

    question: str
    answer: Answer
    p: float
    sentence: Text
    rule: str
    margins: Mapping[str, Json] = field(default_factory=dict)
    tests: tuple[Test, ...] = ()
    rows: tuple[Mapping[str, Json], ...] = ()
    rests: tuple[Test, ...] = ()
    deciding: tuple[Test, ...] = ()
    more: bool = True
    share: float = 1.0
    lost: Message | None = None
    level: float | None = None


def settled(drafts: Sequence[Draft]) -> list[Verdict]:
    """Return the verdicts: correct p over all questions that make a claim; a claim that fails becomes uninformative."""
    family = max(1, sum(not math.isnan(d.p) for d in drafts))
    levels = holm_levels([d.p for d in drafts])
    return [_verdict(d, family, level) for d, level in zip(drafts, levels, strict=True)]


def holm_levels(p: Sequence[float]) -> list[float]:
    """Return the level at which Holm's procedure decides each of several claims; drafts without a claim get the
    strictest.

    >>> [round(x, 4) for x in holm_levels([0.001, 0.02, 0.04, float("nan")])]
    [0.0167, 0.025, 0.05, 0.0167]
    >>> [round(x, 4) for x in holm_levels([0.001, 0.04, 0.041])]
    [0.0167, 0.025, 0.025]
    """
    places = sorted((i for i, value in enumerate(p) if not math.isnan(value)), key=lambda i: p[i])
    levels = [LEVEL / max(1, len(places))] * len(p)
    level = 0.0
    for rank, place in enumerate(places):
        if rank == 0 or p[places[rank - 1]] < level:  # all before it stand
            level = LEVEL / (len(places) - rank)
        levels[place] = level
    return levels


def _verdict(draft: Draft, family: int, level: float) -> Verdict:
    level = draft.level or level
    claimed = draft.answer != "uninformative"
    first = _hardest_first(draft.rests if claimed else draft.deciding)
    needed = draft.deciding if draft.more and not claimed else ()
    overruled: Text = ""
    if claimed and draft.p >= level:
        lost: Text = draft.lost or Message(f"judge.{draft.question}.lost")
        draft = replace(draft, answer="uninformative", sentence=lost)
        overruled = Message.of("judge.rule.lost", n=family)
        needed = draft.rests or draft.tests
    ordered = (*first, *(t for t in draft.tests if t not in first))
    contrasts = tuple(t.contrast(level) for t in ordered)
    examples = examples_for(needed, level, draft.share) if needed else Needed(None, None, None)
    return Verdict(
        question=draft.question,
        answer=draft.answer,
        sentence=draft.sentence,
        rule=draft.rule,
        rule_in_words=Message(f"judge.{draft.question}.rule", draft.margins),
        not_claimed=Message(f"judge.{draft.question}.not_claimed"),
        contrasts=contrasts,
        rows=draft.rows,
        decides_at=examples.likely,
        decides_between=None if examples.low is None else (examples.low, examples.high),
        rests_on=len(first),
        overruled=overruled,
    )


def _hardest_first(tests: Sequence[Test]) -> tuple[Test, ...]:
    """Sort the comparisons that failed, or nearly failed, first; skip those that were not measured."""
    return tuple(sorted((t for t in tests if t.mean.n), key=lambda t: -t.p * t.times))
