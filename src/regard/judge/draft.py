"""A verdict before it is known how many questions were asked with it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from regard.judge.comparing import Test, examples_for
from regard.judge.margins import LEVEL
from regard.measures.significance import holm
from regard.records import Answer, Json, Verdict


@dataclass(frozen=True, slots=True)
class Draft:
    """p: of the claim that `answer` makes; NaN where it makes none. open: what is said where it does not survive.

    deciding: the tests that would have to pass for an answer, about `share` of the examples.
    """

    question: str
    answer: Answer
    p: float
    sentence: str
    open: str
    rule: str
    rule_in_words: str
    not_claimed: str
    tests: tuple[Test, ...] = ()
    rows: tuple[Mapping[str, Json], ...] = ()
    deciding: tuple[Test, ...] = ()
    share: float = 1.0


def settled(drafts: Sequence[Draft]) -> list[Verdict]:
    """The verdicts: p corrected over all questions that make a claim; what does not survive is uninformative."""
    family = max(1, sum(not math.isnan(d.p) for d in drafts))
    corrected = holm([d.p for d in drafts])
    return [_verdict(d, family, float(p)) for d, p in zip(drafts, corrected, strict=True)]


def _verdict(draft: Draft, family: int, corrected: float) -> Verdict:
    survives = math.isnan(corrected) or corrected < LEVEL
    if not survives:
        lost = f"{draft.rule}, lost after correction for {family} questions"
        draft = replace(draft, answer="uninformative", sentence=draft.open, rule=lost, deciding=draft.tests)
    # a claim stands or falls as a whole: its tests share its corrected p where theirs are smaller
    factor = corrected / draft.p if draft.p and not math.isnan(corrected) else float(family)
    contrasts = tuple(t.contrast(family, min(1.0, t.p * max(1.0, factor))) for t in draft.tests)
    wanting = draft.answer == "uninformative" and draft.deciding
    return Verdict(
        draft.question, draft.answer, draft.sentence, draft.rule, draft.rule_in_words, draft.not_claimed, contrasts,
        draft.rows, examples_for(draft.deciding, family, draft.share) if wanting else None,
    )  # fmt: skip
