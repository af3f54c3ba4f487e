"""A verdict before it is known how many questions were asked with it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from regard.judge.margins import LEVEL
from regard.judge.mean_tests import Test, examples_for
from regard.measures.significance import holm
from regard.records import Answer, Json, Message, Text, Verdict


@dataclass(frozen=True, slots=True)
class Draft:
    """p: of the claim that `answer` makes; NaN where it makes none. margins: the numbers that the rule names.

    rests: the tests that the claim rests on. deciding: where none is made, those that would have to pass for one, about
    `share` of the examples; more: whether more examples could bring that about. lost: the sentence where the claim does
    not survive the correction, if not the usual one of the question.
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


def settled(drafts: Sequence[Draft]) -> list[Verdict]:
    """The verdicts: p corrected over all questions that make a claim; what does not survive is uninformative."""
    family = max(1, sum(not math.isnan(d.p) for d in drafts))
    corrected = holm([d.p for d in drafts])
    return [_verdict(d, family, float(p)) for d, p in zip(drafts, corrected, strict=True)]


def _verdict(draft: Draft, family: int, corrected: float) -> Verdict:
    claimed = draft.answer != "uninformative"
    first = _hardest_first(draft.rests if claimed else draft.deciding)
    needed = draft.deciding if draft.more and not claimed else ()
    overruled: Text = ""
    if claimed and corrected >= LEVEL:
        lost: Text = draft.lost or Message(f"judge.{draft.question}.lost")
        draft = replace(draft, answer="uninformative", sentence=lost)
        overruled = Message.of("judge.rule.lost", n=family)
        needed = draft.tests
    # a claim stands or falls as a whole: its tests share its corrected p where theirs are smaller
    factor = corrected / draft.p if draft.p and not math.isnan(corrected) else float(family)
    ordered = (*first, *(t for t in draft.tests if t not in first))
    contrasts = tuple(t.contrast(family, min(1.0, t.p * max(1.0, factor))) for t in ordered)
    return Verdict(
        question=draft.question,
        answer=draft.answer,
        sentence=draft.sentence,
        rule=draft.rule,
        rule_in_words=Message(f"judge.{draft.question}.rule", draft.margins),
        not_claimed=Message(f"judge.{draft.question}.not_claimed"),
        contrasts=contrasts,
        rows=draft.rows,
        decides_at=examples_for(needed, family, draft.share) if needed else None,
        rests_on=len(first),
        overruled=overruled,
    )


def _hardest_first(tests: Sequence[Test]) -> tuple[Test, ...]:
    """The one that nearly failed, or that failed, before the others; what was not measured is no comparison."""
    return tuple(sorted((t for t in tests if t.mean.n), key=lambda t: -t.p))
