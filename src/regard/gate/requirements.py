"""Requirements on the judge: a share by its interval, an answer, the overall reading."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any, Final

from regard.errors import InputError, UnknownName, phrase
from regard.gate.check import Check, Result, judge_interval, named
from regard.gate.policy import Level, Policy, Requirement
from regard.gate.run_numbers import RunNumbers
from regard.measures.intervals import Interval
from regard.records import Message, Text
from regard.store.judgements import answer_id

OPEN: Final = ("not settled", "not tested", "too few", "undecided")
"""Answers and readings that decide nothing."""
UNDEFINED: Final = Interval(math.nan, math.nan, math.nan, math.nan)


def required_check(stored: RunNumbers, requirement: Requirement, policy: Policy, allowed: Collection[str]) -> Check:
    """Check one requirement of the first judgement of a run.

    A share has the interval of the judge, whose level holds over all looks; the policy's confidence does not change it.
    """
    judgements = stored.run.manifest.get("judgements") or ()
    if not judgements:
        raise InputError(
            phrase("errors.common.run_run", run=stored.run.path),
            expected=phrase("errors.gate.run_with_verdicts"),
            got=phrase("errors.common.none"),
            remedy=phrase("errors.gate.regard_audit_without_explainers"),
        )
    judgement, level = judgements[0], "warn" if requirement.name in allowed and requirement.name else requirement.level
    if requirement.share is not None:
        return _share(stored, judgement, requirement, policy, level)
    if requirement.verdict:
        found, passing = str(judgement["reading"]), requirement.verdict
        name, title = named(requirement.name, "verdict", Message("gate.title.verdict"))
    else:
        verdicts = {str(v["question"]): v for v in judgement["verdicts"]}
        if requirement.question not in verdicts:
            raise UnknownName(phrase("errors.gate.question_this_run"), requirement.question, verdicts)
        found, passing = answer_id(verdicts[requirement.question]), requirement.answer
        about = Message.of("gate.title.answer", question=requirement.question)
        name, title = named(requirement.name, f"answer to {requirement.question}", about)
    result: Result = "pass" if found in passing else "inconclusive" if found in OPEN else "fail"
    reason: Text = Message("gate.undecided") if result == "inconclusive" else ""
    if result == "pass" and not stored.complete:
        result, reason = "inconclusive", Message("gate.incomplete")
    return Check(
        name=name,
        title=title,
        result=result,
        level=level,
        required=Message.of("gate.words", words=" | ".join(passing)),
        found=UNDEFINED,
        n=int(judgement["n"]),
        clusters=int(judgement["n"]),
        reason=reason,
        words=found,
    )


def _share(
    stored: RunNumbers, judgement: Mapping[str, Any], requirement: Requirement, policy: Policy, level: Level
) -> Check:
    graded, least = judgement.get("graded") or {}, requirement.share or 0.0
    n = int(graded.get("n") or 0)
    if graded.get("share") is None or judgement["reading"] == "nothing to read":
        interval = UNDEFINED
    else:
        low, high = graded["low"], graded["high"]
        ends = (-math.inf if low is None else low, math.inf if high is None else high)
        interval = Interval(graded["share"], *ends, graded["level"])
    result, reason = judge_interval(
        interval, least, math.inf, clusters=n, fewest=policy.fewest, complete=stored.complete
    )
    name, title = named(requirement.name, "share of the best method", Message("gate.title.share"))
    return Check(
        name=name,
        title=title,
        result=result,
        level=level,
        required=Message.of("gate.min", x=least),
        found=interval,
        n=n,
        clusters=n,
        reason=reason,
    )
