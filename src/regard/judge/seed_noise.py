"""Q6: is other attention with the same answer farther away than what another training seed does? Q7: is it stable?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from regard.judge.claim import Draft
from regard.judge.evidence import Evidence
from regard.judge.further_margins import ALIKE, FARTHER, UNLIKE
from regard.judge.mean_tests import Test
from regard.judge.other_evidence import Beside, Table
from regard.records import Answer, Json, Message
from regard.registry import question

NEEDS = Message("judge.seeds.needs")
APART = Message("judge.seeds.divergence")
BETWEEN = Message("judge.stable.between_seeds")
SHARES = {"alike": ALIKE, "unlike": UNLIKE}


@question(rank=10, family="map")
def seed_noise(evidence: Evidence) -> Draft:
    """Is other attention farther away than that of another training seed?"""
    beside = evidence.beside
    apart, far = beside.table("seed_jsd"), evidence.of("max_jsd")
    if apart is None or not np.isfinite(far).any():
        sentence = Message.of("judge.not_tested", needs=NEEDS)
        return _noise("uninformative", math.nan, sentence=sentence, rule="Q6.not tested", tests=(), row={})
    own_table = Table(evidence.ids, evidence.clusters, far[:, None])
    values, clusters = own_table.minus(apart)
    mean = evidence.mean_over_seeds(values, clusters)
    more, less = Test(APART, "above", FARTHER, mean), Test(APART, "below", FARTHER, mean)
    linear = evidence.of("linear")
    exact = evidence.measured("linear") and float(np.nanmin(linear)) > 0.5
    lower = apart.where.get("bound") == "lower"
    seeds = apart.values.shape[1]
    row: dict[str, Json] = {
        "other attention (nats)": _rounded(far),
        "siblings (nats)": _rounded(apart.values),
        "siblings": seeds,
        "siblings are a lower bound": lower,
        "other attention is exact": exact,
    }
    seed_change = beside.table("seed_change")
    row["siblings move the answer by"] = None if seed_change is None else _rounded(seed_change.values)
    row |= _adversary(beside)
    few = Message("judge.seeds.one_sibling") if seeds == 1 else ""
    if more.passes and not lower:
        sentence = Message.of("judge.seeds.holds", few=few)
        return _noise("holds", more.p, sentence=sentence, rule="Q6.holds", tests=(more, less), row=row, rests=(more,))
    if less.passes and exact:
        sentence = Message.of("judge.seeds.fails", few=few)
        return _noise("fails", less.p, sentence=sentence, rule="Q6.fails", tests=(more, less), row=row, rests=(less,))
    key, rule, nearest = "judge.seeds.open", "Q6.open", more
    if more.passes:
        key, rule = "judge.seeds.refitted", "Q6.lower bound on seeds"
    elif less.passes:
        key, rule, nearest = "judge.seeds.searched", "Q6.lower bound on others", less
    return _noise(
        "uninformative",
        math.nan,
        sentence=Message(key),
        rule=rule,
        tests=(more, less),
        row=row,
        rests=(),
        deciding=(nearest,),
    )


def _noise(
    answer: Answer,
    p: float,
    sentence: Message,
    rule: str,
    tests: tuple[Test, ...],
    row: Mapping[str, Json],
    rests: tuple[Test, ...] = (),
    deciding: tuple[Test, ...] = (),
) -> Draft:
    return Draft(
        question="seeds",
        answer=answer,
        p=p,
        sentence=sentence,
        rule=rule,
        margins={"farther": FARTHER},
        tests=tests,
        rows=(row,) if row else (),
        rests=rests,
        deciding=deciding,
        more="lower bound" not in rule,
    )


def _adversary(beside: Beside) -> dict[str, Json]:
    """Return the result of the network trained to look elsewhere, at the weight at which it went farthest."""
    rows = [t for t in beside.tables.get("adversary_jsd", ()) if "weight" in t.where]
    if not rows:
        return {}
    best = max(rows, key=lambda t: float(t.values.mean()))
    change = beside.table("adversary_tvd", weight=best.where["weight"])
    facts: dict[str, Json] = {"trained adversary (nats)": _rounded(best.values)}
    if change is not None:
        facts["trained adversary moves the answer by"] = _rounded(change.values)
    return facts


# ---------------------------------------------------------------------- stability


@question(rank=12, family="map")
def stable(evidence: Evidence) -> Draft:
    """Is the map stable between seeds and under noise?"""
    beside = evidence.beside
    tests_of: dict[Message, tuple[Test, Test, Test, Test]] = {}
    apart, chance = beside.table("seed_jsd"), beside.table("seed_jsd_chance")
    lower = apart is not None and apart.where.get("bound") == "lower"
    if apart is not None and chance is not None:
        tests_of[BETWEEN] = _four(evidence, apart, chance)
    for name, table in _noises(evidence, beside).items():
        tests_of[name] = _four(evidence, table, None)
    if not tests_of:
        sentence = Message.of("judge.stable.not_tested", needs=NEEDS)
        return _stability("uninformative", math.nan, sentence, "Q7.not tested", ())
    tests = tuple(t for four in tests_of.values() for t in four[:2])
    still = [name for name, (a, _, _, _) in tests_of.items() if a.passes and not (lower and name == BETWEEN)]
    restless = [name for name, (_, b, _, _) in tests_of.items() if b.passes]
    between = [name for name, (_, _, c, d) in tests_of.items() if c.passes and d.passes]
    p_of = {name: min(a.p, b.p, max(c.p, d.p)) for name, (a, b, c, d) in tests_of.items()}
    if still and len(still) == len(tests_of):
        sentence = Message.of("judge.stable.holds", still=still)
        rests = [tests_of[n][0] for n in still]
        return _stability(
            "holds", max(p_of[n] for n in still), sentence=sentence, rule="Q7.holds", tests=tests, rests=rests
        )
    if restless and len(restless) == len(tests_of):
        sentence = Message.of("judge.stable.fails", restless=restless)
        rests = [tests_of[n][1] for n in restless]
        return _stability(
            "fails", max(p_of[n] for n in restless), sentence=sentence, rule="Q7.fails", tests=tests, rests=rests
        )
    if still and restless:
        sentence = Message.of("judge.stable.differs", still=still, restless=restless)
        worst = max(min(p_of[n] for n in still), min(p_of[n] for n in restless))
        rests = [min((tests_of[n][k] for n in names), key=lambda t: t.p) for k, names in enumerate((still, restless))]
        return _stability("mixed", worst, sentence=sentence, rule="Q7.differs", tests=tests, rests=rests)
    if len(still) + len(restless) + len(between) == len(tests_of):
        sentence = Message.of("judge.stable.mixed", between=between)
        rests = [t for n in between for t in tests_of[n][2:]]
        return _stability("mixed", max(p_of.values()), sentence=sentence, rule="Q7.between", tests=tests, rests=rests)
    unclear = [name for name in tests_of if name not in (*still, *restless, *between)]
    sentence = Message.of("judge.stable.open", unclear=unclear)
    if lower and unclear == [BETWEEN]:
        sentence = Message("judge.stable.refitted")
    # what a few more examples would refute is not what left it open
    nearest = tuple(min(tests_of[n][:2], key=lambda t: t.p) for n in unclear)
    return _stability(
        "uninformative", math.nan, sentence=sentence, rule="Q7.open", tests=tests, rests=(), deciding=nearest
    )


def _noises(evidence: Evidence, beside: Beside) -> dict[Message, Table]:
    """Return the movement of the map under every noise: (examples, 1), as a share of its size."""
    tables = {}
    change = beside.moved.get("attention")
    if change is not None and np.isfinite(change).any():
        tables[Message("judge.stable.embedding_noise")] = Table(evidence.ids, evidence.clusters, change[:, None])
    for table in beside.tables.get("explanation_rank", ()):
        if table.where.get("of") == "attention" and "noise" in table.where and np.isfinite(table.values).any():
            name = Message.of("judge.stable.noise", noise=table.where["noise"])
            if "severity" in table.where:
                severity = table.where["severity"]
                name = Message.of("judge.stable.noise_at", noise=table.where["noise"], severity=severity)
            tables[name] = replace(table, values=1 - table.values)
    return tables


def _four(evidence: Evidence, apart: Table, chance: Table | None) -> tuple[Test, Test, Test, Test]:
    """stable, unstable, and the two that establish what lies between; relative to `chance` where there is one."""

    def test(claim: Literal["above", "below"], share: float) -> Test:
        if chance is None:
            name = Message("judge.stable.distance_noise")
            return Test(name, claim, share, evidence.mean_over_seeds(apart.values, apart.clusters))
        values, clusters = apart.minus(chance, share)
        name = Message.of("judge.stable.distance_seeds", share=share)
        return Test(name, claim, 0.0, evidence.mean_over_seeds(values, clusters))

    return test("below", ALIKE), test("above", UNLIKE), test("above", ALIKE), test("below", UNLIKE)


def _stability(
    answer: Answer,
    p: float,
    sentence: Message,
    rule: str,
    tests: tuple[Test, ...],
    rests: Sequence[Test] = (),
    deciding: tuple[Test, ...] = (),
) -> Draft:
    return Draft(
        question="stable",
        answer=answer,
        p=p,
        sentence=sentence,
        rule=rule,
        margins=SHARES,
        tests=tests,
        rests=tuple(rests),
        deciding=deciding,
    )


def _rounded(values: np.ndarray) -> float | None:
    finite = np.isfinite(values)
    return round(float(values[finite].mean()), 4) if finite.any() else None
