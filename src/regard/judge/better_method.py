"""Q11, Q12: which explanation method, and which head, deserves to be read instead?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from regard.judge.claim import Draft
from regard.judge.evidence import Evidence
from regard.judge.further_margins import BEATS, REMEMBERS
from regard.judge.gain_over_random import ATTENTION, RANDOM
from regard.judge.margins import LEVEL
from regard.judge.mean_tests import Mean, Test, all_of
from regard.judge.other_evidence import Beside
from regard.measures.significance import holm
from regard.records import Answer, Floats, Json

METHOD_RULE = (
    "A method's words are worth what is lost without the first of them and kept by them alone (comprehensiveness and "
    "sufficiency, half each, over the operators that the method itself was not made with), minus the same of random "
    f"words. Holds if a method beats random words by more than {BEATS}, corrected for all methods; the one whose 95 % "
    "interval has the highest lower end is named, for not all are asked about every example. Fails if every method is "
    f"shown to stay below. A method that is more than {REMEMBERS} like itself after the model forgot everything is not "
    "named."
)
METHOD_NOT = "It does not say that the method is right, only that its words matter more to the model than random ones."
HEAD_RULE = (
    "A head's word is worth what is lost without it, minus what is lost without a random word. Holds if a head beats "
    f"random words by more than {BEATS}, and beats the audited attention, both corrected for all heads; fails if every "
    "head is shown to beat random words by less, or to be no better than the audited attention by more than that."
)
HEAD_NOT = "The best of many heads is best for these texts; it is a head to look at, not a reason."
MOST_ROWS = 12


@dataclass(frozen=True, slots=True)
class Rival:
    """One candidate: its worth above random words, and what it has over the audited attention."""

    name: str
    worth: Test
    little: Test
    over: Test | None
    row: Mapping[str, Json]
    able: bool = True


# ---------------------------------------------------------------------- methods


def methods_instead(evidence: Evidence, beside: Beside) -> Draft:
    rivals = [r for r in (_method(evidence, beside, name) for name in beside.methods) if r is not None]
    if not rivals:
        said = "Not tested: it needs explainers, random among them, and the metrics of removal."
        return _methods("uninformative", math.nan, said, "Q11.not tested", (), ())
    rows = tuple(r.row for r in sorted(rivals, key=lambda r: -r.worth.mean.estimate))
    corrected = holm([r.worth.p for r in rivals])
    good = [(r, float(p)) for r, p in zip(rivals, corrected, strict=True) if r.able and p < LEVEL]
    if good:
        best, p = max(good, key=lambda pair: pair[0].worth.mean.interval(0.95)[0])
        said = _named(best, [r for r, _ in good], rivals)
        tests = (best.worth, *(() if best.over is None else (best.over,)))
        return _methods("holds", p, said, "Q11.holds", tests, rows, (best.worth,))
    little = tuple(r.little for r in rivals)
    if all(t.passes for t in little):
        said = f"None of the {len(rivals)} methods beats random words by more than {BEATS}: nothing to read instead."
        return _methods("fails", all_of(little), said, "Q11.none", little, rows, little)
    silent = [r.name for r, p in zip(rivals, corrected, strict=True) if p < LEVEL and not r.able]
    if silent:
        said = f"Only {', '.join(silent)} beats random words, and shows the same when the model forgot everything."
        return _methods("uninformative", math.nan, said, "Q11.insane", little, rows)
    leading = max(rivals, key=lambda r: r.worth.mean.estimate)
    said = "Whether any method's words matter more than random ones could not be told."
    return _methods(
        "uninformative", math.nan, said, "Q11.open", (leading.worth, leading.little), rows, (), (leading.worth,)
    )


def _method(evidence: Evidence, beside: Beside, name: str) -> Rival | None:
    chance = beside.methods.get(RANDOM, {})
    operators = [o for o in beside.methods[name] if o in chance and o != beside.own.get(name)]
    if name in beside.plain or name == RANDOM or not operators:
        return None
    ours = np.mean([beside.methods[name][o] - chance[o] for o in operators], axis=0)
    attention = beside.methods.get(ATTENTION, {})
    shared = [o for o in operators if o in attention]
    over = None
    if name != ATTENTION and shared:
        ahead = np.mean([beside.methods[name][o] - attention[o] for o in shared], axis=0)
        over = _test(f"{name} - attention", "above", 0.0, ahead, evidence, operators)
    forgot = beside.forgets.get(name)
    sane = Test("", "above", REMEMBERS, Mean.of(forgot, evidence.clusters), {}) if forgot is not None else None
    worth = _test(f"{name} - random words", "above", BEATS, ours, evidence, operators)
    row: dict[str, Json] = {
        "method": name, "operators": [*operators], "above random": _rounded(ours),
        "above attention": None if over is None else round(over.mean.estimate, 4), "n": worth.mean.n,
        "like that of a randomised model": None if forgot is None else _rounded(forgot),
    }  # fmt: skip
    little = _test(f"{name} - random words", "below", BEATS, ours, evidence, operators)
    return Rival(name, worth, little, over, row, sane is None or not sane.passes)


def _named(best: Rival, good: Sequence[Rival], rivals: Sequence[Rival]) -> str:
    others = [r.name for r in good if r.name != best.name]
    also = f" Worth more than random ones, too: those of {', '.join(others)}." if others else ""
    amount = f"{best.worth.mean.estimate:.2f}"
    if best.name == ATTENTION:
        return f"None is better than attention itself, whose words are worth {amount} more than random ones.{also}"
    ahead = best.over is not None and best.over.p * len(rivals) < LEVEL
    beside = "and more than attention's" if ahead else "though not clearly more than attention's"
    return f"Read {best.name}: its words are worth {amount} more than random ones, {beside}.{also}"


def _methods(
    answer: Answer, p: float, said: str, rule: str, tests: tuple[Test, ...], rows: tuple[Mapping[str, Json], ...],
    rests: tuple[Test, ...] = (), deciding: tuple[Test, ...] = (),
) -> Draft:  # fmt: skip
    return Draft(
        "which explanation method deserves to be read?", answer, p, said,
        "Whether any method's words matter more than random ones could not be shown.", rule, METHOD_RULE, METHOD_NOT,
        tests, rows, rests, deciding,
    )  # fmt: skip


# ---------------------------------------------------------------------- heads


def heads_instead(evidence: Evidence, beside: Beside) -> Draft:
    tables = beside.tables.get("head_gain", ())
    audited = beside.table("head_gain", of=ATTENTION)
    single = [t for t in tables if t.where["of"] != ATTENTION]
    if not tables or audited is None:
        said = "Not tested: it needs the experiment single_heads (--profile standard)."
        return _heads("uninformative", math.nan, said, "Q12.not tested", (), ())
    if len(single) < 2:
        said = "There is only one head to read."
        return _heads("uninformative", math.nan, said, "Q12.one head", (), ())
    rivals = []
    for table in single:
        name = str(table.where["of"])
        mean = Mean.of(table.values[:, 0], table.clusters)
        ahead, clusters = table.minus(audited)
        over = Mean.of(ahead[:, 0], clusters)
        worth = Test(f"{name} - random words", "above", BEATS, mean, {})
        little = Test(f"{name} - random words", "below", BEATS, mean, {})
        row: dict[str, Json] = {
            "head": name, "above random": round(mean.estimate, 4), "above attention": round(over.estimate, 4),
            "n": mean.n,
        }  # fmt: skip
        rivals.append(Rival(name, worth, little, Test(f"{name} - attention", "above", 0.0, over, {}), row))
    ordered = sorted(rivals, key=lambda r: -r.worth.mean.estimate)
    rows = tuple(r.row for r in ordered[:MOST_ROWS])
    claims = [max(r.worth.p, r.over.p) if r.over else 1.0 for r in rivals]
    corrected = holm(claims)
    good = [(r, float(p)) for r, p in zip(rivals, corrected, strict=True) if p < LEVEL]
    if good:
        best, p = max(good, key=lambda pair: pair[0].worth.mean.estimate)
        assert best.over is not None
        said = (
            f"Read {best.name}: its word is worth {best.worth.mean.estimate:.2f} more than a random one, "
            f"{best.over.mean.estimate:.2f} more than that of the audited attention (best of {len(rivals)} heads)."
        )
        return _heads("holds", p, said, "Q12.holds", (best.worth, best.over), rows, (best.worth, best.over))
    # none is worth it if none beats random words, or none is ahead of the attention by an amount that matters
    behind = [
        Test(f"{r.name} - attention", "below", BEATS, r.over.mean, {}) if r.over is not None else r.little
        for r in rivals
    ]
    chosen = [a if a.p <= b.p else b for a, b in ((r.little, b) for r, b in zip(rivals, behind, strict=True))]
    if all(2 * t.p < LEVEL for t in chosen):
        worst = max(chosen, key=lambda t: t.p)
        said = (
            f"None of the {len(rivals)} heads alone is a better guide than the audited attention, by {BEATS} or more."
        )
        return _heads("fails", min(1.0, 2 * worst.p), said, "Q12.none", (worst,), rows, (worst,))
    leading = ordered[0]
    said = f"Whether one of the {len(rivals)} heads is a better guide could not be told; {leading.name} leads."
    tests = (leading.worth, *(() if leading.over is None else (leading.over,)))
    return _heads("uninformative", math.nan, said, "Q12.open", tests, rows, (), tests)


def _heads(
    answer: Answer, p: float, said: str, rule: str, tests: tuple[Test, ...], rows: tuple[Mapping[str, Json], ...],
    rests: tuple[Test, ...] = (), deciding: tuple[Test, ...] = (),
) -> Draft:  # fmt: skip
    return Draft(
        "which head deserves to be read instead?", answer, p, said,
        "Whether one head alone is a better guide could not be shown.", rule, HEAD_RULE, HEAD_NOT, tests, rows,
        rests, deciding,
    )  # fmt: skip


def _test(name: str, claim: str, margin: float, values: Floats, evidence: Evidence, operators: Sequence[str]) -> Test:
    mean = Mean.of(values, evidence.clusters)
    return Test(name, claim, margin, mean, {"operator": ", ".join(operators)})  # type: ignore[arg-type]


def _rounded(values: Floats) -> float | None:
    there = np.isfinite(values)
    return round(float(values[there].mean()), 4) if there.any() else None
