"""Q8: does it transfer to another model? And what training says about the need for attention, and about hiding."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

import numpy as np

from regard.judge.claim import Draft
from regard.judge.evidence import Evidence
from regard.judge.further_margins import HELPS, HIDDEN, NEEDED
from regard.judge.margins import FOUND, GOOD, LEVEL, POOR
from regard.judge.mean_tests import Test, all_of, any_of
from regard.judge.other_evidence import Table
from regard.judge.seed_noise import NEEDS
from regard.records import Answer, Json, Message
from regard.registry import question

MARGINS = {"good": GOOD, "poor": POOR, "found": FOUND, "helps": HELPS}
OPEN = Message("judge.transfer.lost")
SHARES: tuple[tuple[float, Literal["above", "below"]], ...] = (
    (GOOD, "above"),
    (GOOD, "below"),
    (POOR, "below"),
    (POOR, "above"),
)

Part = tuple[Answer, float, Message, tuple[Test, ...], Mapping[str, Json], tuple[Test, ...]]
"""Answer, p, sentence, tests, row, and the tests that the answer rests on."""


@question(rank=11, family="map")
def transfer(evidence: Evidence) -> Draft:
    """Do the maps carry over to other networks?"""
    parts = [part for part in (_by_siblings(evidence), _by_words(evidence)) if part is not None]
    if not parts:
        sentence = Message.of("judge.not_tested", needs=NEEDS)
        return _draft("uninformative", math.nan, sentence=sentence, rule="Q8.not tested", tests=(), rows=())
    tests = tuple(t for part in parts for t in part[3])
    rows = tuple(part[4] for part in parts)
    sure = [part for part in parts if part[0] != "uninformative"]
    answers = {part[0] for part in sure}
    sentence = Message.of("sentences", parts=[part[2] for part in sure])
    if len(answers) > 1:
        rests = tuple(t for part in sure for t in part[5])
        return _draft(
            "mixed",
            max(part[1] for part in sure),
            sentence=sentence,
            rule="Q8.differs",
            tests=tests,
            rows=rows,
            rests=rests,
        )
    if sure:
        surest = min(sure, key=lambda part: part[1])
        rests = tuple(replace(t, times=len(parts)) for t in surest[5])
        rule = f"Q8.{surest[0]}"
        return _draft(surest[0], all_of(rests), sentence=sentence, rule=rule, tests=tests, rows=rows, rests=rests)
    nearest = min(tests, key=lambda t: t.decides_at())
    return _draft(
        "uninformative",
        math.nan,
        sentence=parts[0][2],
        rule="Q8.open",
        tests=tests,
        rows=rows,
        rests=(),
        deciding=(nearest,),
    )


def _by_siblings(evidence: Evidence) -> Part | None:
    beside = evidence.beside
    attention_gain, best = beside.table("transfer_gain", of="attention"), beside.table("transfer_gain", of="best")
    if attention_gain is None or best is None:
        return None
    name = Message("judge.transfer.best_cost")
    much = Test(name, "above", FOUND, evidence.mean_over_seeds(best.values, best.clusters))
    good, not_good, bad, not_bad = (
        _share(evidence, attention_gain, best, share=share, claim=claim) for share, claim in SHARES
    )
    own = beside.table("transfer_gain", of="own attention")
    row: dict[str, Json] = {
        "by": "siblings",
        "siblings": attention_gain.values.shape[1],
        "this network's word": _mean(attention_gain.values),
        "the best word": _mean(best.values),
        "the siblings' own word": None if own is None else _mean(own.values),
    }
    tests = (much, good, bad)
    if not much.passes:
        return "uninformative", math.nan, Message("judge.transfer.nothing"), tests, row, ()
    if good.passes:
        return "holds", all_of((much, good)), Message("judge.transfer.holds"), tests, row, (much, good)
    if bad.passes:
        return "fails", all_of((much, bad)), Message("judge.transfer.fails"), tests, row, (much, bad)
    if not_bad.passes and not_good.passes:
        rests = (much, not_bad, not_good)
        return "mixed", all_of(rests), Message("judge.transfer.mixed"), tests, row, rests
    return "uninformative", math.nan, OPEN, tests, row, ()


def _share(evidence: Evidence, ours: Table, best: Table, *, share: float, claim: Literal["above", "below"]) -> Test:
    values, clusters = ours.minus(best, share)
    return Test(Message.of("judge.transfer.cost", share=share), claim, 0.0, evidence.mean_over_seeds(values, clusters))


def _by_words(evidence: Evidence) -> Part | None:
    beside = evidence.beside
    base, flat = (beside.table("probe_correct", attention=name) for name in ("base", "uniform"))
    if base is None or flat is None:
        return None
    values, clusters = base.minus(flat)
    mean = evidence.mean_over_seeds(values, clusters)
    name = Message("judge.transfer.accuracy")
    more, less = Test(name, "above", HELPS, mean), Test(name, "below", HELPS, mean)
    row: dict[str, Json] = {"by": "a bag of words", "seeds": base.values.shape[1]}
    for kind in ("base", "trained", "uniform", "adversary"):
        table = beside.table("probe_correct", attention=kind)
        row[f"accuracy, {kind}"] = None if table is None else _mean(table.values)
    points = round(100 * mean.estimate, 1)
    if more.passes:
        return "holds", more.p, Message.of("judge.transfer.bag_holds", points=points), (more, less), row, (more,)
    if less.passes:
        return "fails", less.p, Message.of("judge.transfer.bag_fails", points=points), (more, less), row, (less,)
    return "uninformative", math.nan, OPEN, (more, less), row, ()


@question(rank=20, family="further")
def needed(evidence: Evidence) -> Draft | None:
    """Does the task need attention? Only where the control was trained."""
    beside = evidence.beside
    own, flat = (beside.table("control_correct", attention=name) for name in ("trained", "uniform"))
    if own is None or flat is None:
        return None
    values, clusters = own.minus(flat)
    mean = evidence.mean_over_seeds(values, clusters)
    name = Message("judge.task.accuracy")
    more, less = Test(name, "above", NEEDED, mean), Test(name, "below", NEEDED, mean)
    rows: list[dict[str, Json]] = [{"attention": "trained", "when": "", "accuracy": _mean(own.values)}]
    rows.append({"attention": "uniform", "when": "training and test", "accuracy": _mean(flat.values)})
    for table in beside.tables.get("replaced_accuracy", ()):
        setting = {"attention": table.where["attention"], "when": table.where["when"]}
        rows.append({**setting, "accuracy": _mean(table.values)})
    answer: Answer = "holds" if more.passes else "fails" if less.passes else "uninformative"
    key = {"holds": "judge.task.holds", "fails": "judge.task.fails"}.get(answer, "judge.task.lost")
    p = {"holds": more.p, "fails": less.p}.get(answer, math.nan)
    return Draft(
        question="task",
        answer=answer,
        p=p,
        sentence=Message(key),
        rule=f"Q9.{answer}",
        margins={"needed": NEEDED},
        tests=(more, less),
        rows=tuple(rows),
        rests={"holds": (more,), "fails": (less,)}.get(answer, ()),
        deciding=(more,),
    )


@question(rank=21, family="further")
def hides(evidence: Evidence) -> Draft | None:
    """Could such a network hide what it uses? Only where it was tried."""
    beside = evidence.beside
    mass, use = (beside.table(name, network="deceptive", rows="texts") for name in ("hidden_attention", "hidden_use"))
    if mass is None or use is None:
        return None
    at, moves = (evidence.mean_over_seeds(t.values, t.clusters) for t in (mass, use))
    hidden, change = Message("judge.hide.attention"), Message("judge.hide.change")
    hidden_test, visible_test = Test(hidden, "below", HIDDEN, at), Test(hidden, "above", HIDDEN, at)
    effect_test, idle = Test(change, "above", HIDDEN, moves), Test(change, "below", HIDDEN, moves)
    answer: Answer = "uninformative"
    rests: tuple[Test, ...] = ()
    p, key = math.nan, "judge.hide.lost"
    if hidden_test.passes and effect_test.passes:
        answer, p, rests, key = (
            "holds",
            all_of((hidden_test, effect_test)),
            (hidden_test, effect_test),
            "judge.hide.holds",
        )
    elif all_of((either := any_of((visible_test, idle)),)) < LEVEL:
        answer, p, key, rests = "fails", all_of((either,)), "judge.hide.fails", (either,)
    rows: list[dict[str, Json]] = []
    for network in ("honest", "deceptive", "without"):
        row: dict[str, Json] = {"network": network}
        for quantity in ("deceptive_accuracy", "hidden_attention", "hidden_use"):
            table = beside.table(quantity, network=network)
            row[quantity] = None if table is None else _mean(table.values)
        rows.append(row)
    return Draft(
        question="hide",
        answer=answer,
        p=p,
        sentence=Message(key),
        rule=f"Q10.{answer}",
        margins={"hidden": HIDDEN},
        tests=(hidden_test, effect_test, visible_test, idle),
        rows=tuple(rows),
        rests=rests,
        deciding=(hidden_test, effect_test),
    )


def _draft(
    answer: Answer,
    p: float,
    sentence: Message,
    rule: str,
    tests: tuple[Test, ...],
    rows: tuple[Mapping[str, Json], ...],
    rests: tuple[Test, ...] = (),
    deciding: tuple[Test, ...] = (),
) -> Draft:
    return Draft(
        question="transfer",
        answer=answer,
        p=p,
        sentence=sentence,
        rule=rule,
        margins=MARGINS,
        tests=tests,
        rows=rows,
        rests=rests,
        deciding=deciding,
    )


def _mean(values: np.ndarray) -> float | None:
    finite = np.isfinite(values)
    return round(float(values[finite].mean()), 4) if finite.any() else None
