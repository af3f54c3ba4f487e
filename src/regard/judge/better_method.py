"""Q11, Q12: which explanation method, and which head, deserves to be read instead?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from regard.judge.claim import Draft
from regard.judge.evidence import Evidence
from regard.judge.further_margins import BEATS, REMEMBERS
from regard.judge.gain_over_random import ATTENTION, RANDOM
from regard.judge.margins import LEVEL
from regard.judge.mean_tests import Test, all_of, any_of
from regard.judge.other_evidence import Beside
from regard.records import Answer, Floats, Json, Message
from regard.registry import question

METHOD, HEAD = "better_method", "better_head"
MOST_ROWS = 12


@dataclass(frozen=True, slots=True)
class Rival:
    """Candidate method: its worth above random words, and its advantage over the audited attention."""

    name: str
    worth: Test
    little: Test
    over: Test | None
    row: Mapping[str, Json]
    able: bool = True


# ---------------------------------------------------------------------- methods


@question(rank=22, family="further")
def better_method(evidence: Evidence) -> Draft:
    """Which method should be shown instead?"""
    beside = evidence.beside
    rivals = [r for r in (_method(evidence, beside, name) for name in beside.methods) if r is not None]
    if not rivals:
        sentence = Message("judge.better_method.not_tested")
        return _draft(METHOD, "uninformative", math.nan, sentence, "Q11.not tested")
    rows = tuple(r.row for r in sorted(rivals, key=lambda r: -r.worth.mean.estimate))
    worthy = [r for r in rivals if all_of((replace(r.worth, times=len(rivals)),)) < LEVEL]
    good = [r for r in worthy if r.able]
    if good:
        best = max(good, key=lambda r: r.worth.mean.interval(0.95)[0])
        sentence = _named(best, good, rivals)
        worth, over = (None if t is None else replace(t, times=len(rivals)) for t in (best.worth, best.over))
        rests = tuple(t for t in (worth,) if t is not None)
        tests = tuple(t for t in (worth, over) if t is not None)
        return _draft(METHOD, "holds", all_of(rests), sentence, "Q11.holds", tests=tests, rows=rows, rests=rests)
    little = tuple(r.little for r in rivals)
    if all(t.passes for t in little):
        sentence = Message.of("judge.better_method.fails", n=len(rivals), beats=BEATS)
        return _draft(METHOD, "fails", all_of(little), sentence, "Q11.none", tests=little, rows=rows, rests=little)
    silent = [r.name for r in worthy if not r.able]
    if silent:
        sentence = Message.of("judge.better_method.insane", methods=silent)
        return _draft(METHOD, "uninformative", math.nan, sentence, "Q11.insane", tests=little, rows=rows)
    leading = max(rivals, key=lambda r: r.worth.mean.estimate)
    sentence, tests = Message("judge.better_method.lost"), (leading.worth, leading.little)
    return _draft(
        METHOD, "uninformative", math.nan, sentence, "Q11.open", tests=tests, rows=rows, deciding=(leading.worth,)
    )


def _method(evidence: Evidence, beside: Beside, name: str) -> Rival | None:
    chance = beside.methods.get(RANDOM, {})
    operators = [o for o in beside.methods[name] if o in chance and o != beside.own.get(name)]
    if name in beside.plain or name == RANDOM or not operators:
        return None
    gains = np.mean([beside.methods[name][o] - chance[o] for o in operators], axis=0)
    attention = beside.methods.get(ATTENTION, {})
    shared = [o for o in operators if o in attention]
    over = None
    if name != ATTENTION and shared:
        ahead = np.mean([beside.methods[name][o] - attention[o] for o in shared], axis=0)
        over = _test(
            "over_attention",
            name,
            claim="above",
            margin=0.0,
            values=ahead,
            evidence=evidence,
            operators=operators,
        )
    forgot = beside.forgets.get(name)
    remembers = forgot is not None and evidence.mean(forgot).p("above", REMEMBERS) < LEVEL
    worth = _test(
        "over_random", name, claim="above", margin=BEATS, values=gains, evidence=evidence, operators=operators
    )
    row: dict[str, Json] = {
        "method": name,
        "operators": [*operators],
        "above random": _rounded(gains),
        "above attention": None if over is None else round(over.mean.estimate, 4),
        "n": worth.mean.n,
        "like that of a randomised model": None if forgot is None else _rounded(forgot),
    }
    little = _test(
        "over_random", name, claim="below", margin=BEATS, values=gains, evidence=evidence, operators=operators
    )
    return Rival(name=name, worth=worth, little=little, over=over, row=row, able=not remembers)


def _named(best: Rival, good: Sequence[Rival], rivals: Sequence[Rival]) -> Message:
    others = [r.name for r in good if r.name != best.name]
    worth = best.worth.mean.estimate
    if best.name == ATTENTION:
        sentence = Message.of("judge.better_method.attention", worth=worth)
    else:
        ahead = best.over is not None and best.over.p * len(rivals) < LEVEL
        key = "judge.better_method.holds" if ahead else "judge.better_method.holds_beside"
        sentence = Message.of(key, method=best.name, worth=worth)
    also = [Message.of("judge.better_method.also", methods=others)] if others else []
    return Message.of("sentences", parts=[sentence, *also])


# ---------------------------------------------------------------------- heads


@question(rank=23, family="further")
def better_head(evidence: Evidence) -> Draft:
    """Which head should be shown instead?"""
    beside = evidence.beside
    tables = beside.tables.get("head_gain", ())
    audited = beside.table("head_gain", of=ATTENTION)
    single = [t for t in tables if t.where["of"] != ATTENTION]
    if not tables or audited is None:
        sentence = Message("judge.better_head.not_tested")
        return _draft(HEAD, "uninformative", math.nan, sentence, "Q12.not tested")
    if len(single) < 2:
        return _draft(HEAD, "uninformative", math.nan, Message("judge.better_head.one_head"), "Q12.one head")
    rivals = []
    for table in single:
        name = str(table.where["of"])
        mean = evidence.mean(table.values[:, 0], table.clusters)
        ahead, clusters = table.minus(audited)
        over = evidence.mean(ahead[:, 0], clusters)
        random = Message.of("judge.contrast.over_random", subject=name)
        worth = Test(random, "above", BEATS, mean, subject=name)
        little = Test(random, "below", BEATS, mean, subject=name)
        row: dict[str, Json] = {
            "head": name,
            "above random": round(mean.estimate, 4),
            "above attention": round(over.estimate, 4),
            "n": mean.n,
        }
        beyond = Test(Message.of("judge.contrast.over_attention", subject=name), "above", 0.0, over, subject=name)
        rivals.append(Rival(name, worth, little, beyond, row))
    ordered = sorted(rivals, key=lambda r: -r.worth.mean.estimate)
    rows = tuple(r.row for r in ordered[:MOST_ROWS])
    pairs = {r.name: tuple(replace(t, times=len(rivals)) for t in (r.worth, r.over) if t is not None) for r in rivals}
    good = [r for r in rivals if len(pairs[r.name]) == 2 and all_of(pairs[r.name]) < LEVEL]
    if good:
        best = max(good, key=lambda r: r.worth.mean.estimate)
        assert best.over is not None
        sentence = Message.of(
            "judge.better_head.holds",
            head=best.name,
            worth=best.worth.mean.estimate,
            over=best.over.mean.estimate,
            n=len(rivals),
        )
        tests = pairs[best.name]
        return _draft(HEAD, "holds", all_of(tests), sentence, "Q12.holds", tests=tests, rows=rows, rests=tests)
    # none is worth it if none beats random words, or none is ahead of the attention by an amount that matters
    behind = [r.little if r.over is None else replace(r.over, claim="below", margin=BEATS) for r in rivals]
    weaker_tests = [any_of((r.little, b)) for r, b in zip(rivals, behind, strict=True)]
    if all_of(weaker_tests) < LEVEL:
        worst = max(weaker_tests, key=lambda t: t.p)
        sentence = Message.of("judge.better_head.fails", n=len(rivals), beats=BEATS)
        p = all_of((worst,))
        return _draft(HEAD, "fails", p, sentence, "Q12.none", tests=(worst,), rows=rows, rests=(worst,))
    leading = ordered[0]
    sentence = Message.of("judge.better_head.open", n=len(rivals), head=leading.name)
    tests = (leading.worth, *(() if leading.over is None else (leading.over,)))
    return _draft(HEAD, "uninformative", math.nan, sentence, "Q12.open", tests=tests, rows=rows, deciding=tests)


def _draft(
    question: str,
    answer: Answer,
    p: float,
    sentence: Message,
    rule: str,
    *,
    tests: tuple[Test, ...] = (),
    rows: tuple[Mapping[str, Json], ...] = (),
    rests: tuple[Test, ...] = (),
    deciding: tuple[Test, ...] = (),
) -> Draft:
    margins = {"beats": BEATS} if question == HEAD else {"beats": BEATS, "remembers": REMEMBERS}
    return Draft(
        question=question,
        answer=answer,
        p=p,
        sentence=sentence,
        rule=rule,
        margins=margins,
        tests=tests,
        rows=rows,
        rests=rests,
        deciding=deciding,
    )


def _test(
    kind: Literal["over_random", "over_attention"],
    subject: str,
    claim: Literal["above", "below"],
    margin: float,
    values: Floats,
    evidence: Evidence,
    operators: Sequence[str],
) -> Test:
    where: dict[str, Json] = {"operator": ", ".join(operators)}
    label = Message.of(f"judge.contrast.{kind}", subject=subject)
    return Test(name=label, claim=claim, margin=margin, mean=evidence.mean(values), where=where, subject=subject)


def _rounded(values: Floats) -> float | None:
    finite = np.isfinite(values)
    return round(float(values[finite].mean()), 4) if finite.any() else None
