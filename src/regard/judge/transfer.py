"""Q8: does it transfer to another model? And what training says about the need for attention, and about hiding."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from regard.judge.claim import Draft
from regard.judge.further_margins import HELPS, HIDDEN, NEEDED
from regard.judge.margins import FOUND, GOOD, LEVEL, POOR
from regard.judge.mean_tests import Mean, Test, all_of
from regard.judge.other_evidence import Beside
from regard.judge.seed_noise import NEEDS
from regard.records import Answer, Json

RULE = (
    "By siblings: the word that this network looks at most is taken from the input of its siblings; holds if that "
    f"costs more than {GOOD} of what the best single word costs them (beyond a random word), fails if less than "
    f"{POOR}; asked only if the best word costs more than {FOUND}. By a bag of words that must look where this network "
    f"looks: holds if its accuracy is more than {HELPS} above that under equal weights, fails if less. Mixed if the "
    "two differ."
)
NOT = "It does not say that another model would look at the same words by itself. It never decides the reading."
OPEN = "Whether another model can use this attention could not be shown."
NEED_RULE = (
    f"Holds if the network trained under equal weights loses more than {NEEDED} of accuracy, over the same seeds and "
    "texts; fails if less."
)
NEED_NOT = "A network may use its attention although the task can be done without. It never decides the reading."
HIDE_RULE = (
    f"Holds if a network trained to hide them has less than {HIDDEN} of its attention on words and still moves its "
    f"answer by more than {HIDDEN} when they are deleted; fails if it cannot."
)
HIDE_NOT = "It is about what training can do to this kind of network, not about this one."

Part = tuple[Answer, float, str, tuple[Test, ...], Mapping[str, Json], tuple[Test, ...]]
"""Answer, p, sentence, tests, row, and the tests that the answer rests on."""


def transfer(beside: Beside) -> Draft:
    parts = [part for part in (_by_siblings(beside), _by_words(beside)) if part is not None]
    if not parts:
        said = f"Not tested: it needs {NEEDS}."
        return _draft("uninformative", math.nan, said, "Q8.not tested", (), ())
    tests = tuple(t for part in parts for t in part[3])
    rows = tuple(part[4] for part in parts)
    sure = [part for part in parts if part[0] != "uninformative"]
    answers = {part[0] for part in sure}
    if len(answers) > 1:
        said = " ".join(part[2] for part in sure)
        rests = tuple(t for part in sure for t in part[5])
        return _draft("mixed", max(part[1] for part in sure), said, "Q8.differs", tests, rows, rests)
    if sure:
        said = " ".join(part[2] for part in sure)
        surest = min(sure, key=lambda part: part[1])
        p, rule = min(1.0, len(parts) * surest[1]), f"Q8.{surest[0]}"
        return _draft(surest[0], p, said, rule, tests, rows, surest[5])
    nearest = min(tests, key=lambda t: t.mean.decides_at(t.margin, 1))
    return _draft("uninformative", math.nan, parts[0][2], "Q8.open", tests, rows, (), (nearest,))


def _by_siblings(beside: Beside) -> Part | None:
    ours, best = beside.table("transfer_gain", of="attention"), beside.table("transfer_gain", of="best")
    if ours is None or best is None:
        return None
    much = Test("what the best word costs siblings", "above", FOUND, Mean.over_seeds(best.values, best.clusters), {})
    good, not_good = (_share(beside, GOOD, claim) for claim in ("above", "below"))
    bad, not_bad = (_share(beside, POOR, claim) for claim in ("below", "above"))
    own = beside.table("transfer_gain", of="own attention")
    row: dict[str, Json] = {
        "by": "siblings", "siblings": ours.values.shape[1], "this network's word": _mean(ours.values),
        "the best word": _mean(best.values), "the siblings' own word": None if own is None else _mean(own.values),
    }  # fmt: skip
    tests = (much, good, bad)
    if not much.passes:
        said = "No single word matters enough to the siblings to compare with."
        return "uninformative", math.nan, said, tests, row, ()
    if good.passes:
        said = "The word that this network looks at most is one that its siblings' answers depend on, too."
        return "holds", all_of((much, good)), said, tests, row, (much, good)
    if bad.passes:
        said = "The word that this network looks at most matters little to its siblings."
        return "fails", all_of((much, bad)), said, tests, row, (much, bad)
    if not_bad.passes and not_good.passes:
        said = "The word that this network looks at most is part of what its siblings' answers depend on."
        rests = (much, not_bad, not_good)
        return "mixed", all_of(rests), said, tests, row, rests
    return "uninformative", math.nan, OPEN, tests, row, ()


def _share(beside: Beside, share: float, claim: str) -> Test:
    ours, best = beside.table("transfer_gain", of="attention"), beside.table("transfer_gain", of="best")
    assert ours is not None
    assert best is not None
    values, clusters = ours.minus(best, share)
    name = f"what this network's word costs siblings - {share} x the best word"
    return Test(name, claim, 0.0, Mean.over_seeds(values, clusters), {})  # type: ignore[arg-type]


def _by_words(beside: Beside) -> Part | None:
    base, flat = (beside.table("probe_correct", attention=name) for name in ("base", "uniform"))
    if base is None or flat is None:
        return None
    values, clusters = base.minus(flat)
    mean = Mean.over_seeds(values, clusters)
    name = "accuracy of words under this attention - under equal weights"
    more, less = Test(name, "above", HELPS, mean, {}), Test(name, "below", HELPS, mean, {})
    row: dict[str, Json] = {"by": "a bag of words", "seeds": base.values.shape[1]}
    for kind in ("base", "trained", "uniform", "adversary"):
        table = beside.table("probe_correct", attention=kind)
        row[f"accuracy, {kind}"] = None if table is None else _mean(table.values)
    points = f"{100 * mean.estimate:.1f} points"
    if more.passes:
        said = f"A bag of words that must look where this network looks answers better, by {points}."
        return "holds", more.p, said, (more, less), row, (more,)
    if less.passes:
        said = f"A bag of words that must look where this network looks answers no better (by {points})."
        return "fails", less.p, said, (more, less), row, (less,)
    return "uninformative", math.nan, OPEN, (more, less), row, ()


def needed(beside: Beside) -> Draft | None:
    """Does the task need it? Only where the control was trained."""
    own, flat = (beside.table("control_correct", attention=name) for name in ("trained", "uniform"))
    if own is None or flat is None:
        return None
    values, clusters = own.minus(flat)
    mean = Mean.over_seeds(values, clusters)
    name = "accuracy - accuracy when trained under equal weights"
    more, less = Test(name, "above", NEEDED, mean, {}), Test(name, "below", NEEDED, mean, {})
    rows: list[dict[str, Json]] = [{"attention": "trained", "when": "", "accuracy": _mean(own.values)}]
    rows.append({"attention": "uniform", "when": "training and test", "accuracy": _mean(flat.values)})
    for table in beside.tables.get("replaced_accuracy", ()):
        where = table.where
        rows.append(
            {"attention": where["attention"], "when": where["when"], "accuracy": _mean(table.values)}
        )  # fmt: skip
    answer: Answer = "holds" if more.passes else "fails" if less.passes else "uninformative"
    said = {
        "holds": "A network of this kind that looks everywhere equally does worse: the task needs attention.",
        "fails": "A network of this kind that looks everywhere equally does as well: the task needs no attention, so "
        "tests of attention say little about what can be learned here.",
    }.get(answer, "Whether the task needs attention could not be told.")
    p = {"holds": more.p, "fails": less.p}.get(answer, math.nan)
    rests = {"holds": (more,), "fails": (less,)}.get(answer, ())
    return Draft(
        "does the task need attention?", answer, p, said, "Whether the task needs attention could not be told.",
        f"Q9.{answer}", NEED_RULE, NEED_NOT, (more, less), tuple(rows), rests, (more,),
    )  # fmt: skip


def hides(beside: Beside) -> Draft | None:
    """Could such a network hide what it uses? Only where it was tried."""
    mass, use = (beside.table(name, network="deceptive", rows="texts") for name in ("hidden_attention", "hidden_use"))
    if mass is None or use is None:
        return None
    at, moves = Mean.over_seeds(mass.values, mass.clusters), Mean.over_seeds(use.values, use.clusters)
    gone = Test("attention on the hidden words", "below", HIDDEN, at, {})
    seen = Test("attention on the hidden words", "above", HIDDEN, at, {})
    used = Test("change of the answer without the hidden words", "above", HIDDEN, moves, {})
    idle = Test("change of the answer without the hidden words", "below", HIDDEN, moves, {})
    answer: Answer = "uninformative"
    rests: tuple[Test, ...] = ()
    if gone.passes and used.passes:
        answer, p, rests, said = "holds", all_of((gone, used)), (gone, used), (
            "Yes: a network of this kind can be trained to use words that its attention does not show."
        )  # fmt: skip
    elif 2 * min(seen.p, idle.p) < LEVEL:
        answer, p, rests, said = "fails", min(1.0, 2 * min(seen.p, idle.p)), (min(seen, idle, key=lambda t: t.p),), (
            "No: when it was trained to hide these words, it still looked at them or stopped using them."
        )  # fmt: skip
    else:
        p, said = math.nan, "Whether a network of this kind can hide what it uses could not be told."
    rows: list[dict[str, Json]] = []
    for network in ("honest", "deceptive", "without"):
        row: dict[str, Json] = {"network": network}
        for quantity in ("deceptive_accuracy", "hidden_attention", "hidden_use"):
            table = beside.table(quantity, network=network)
            row[quantity] = None if table is None else _mean(table.values)
        rows.append(row)
    return Draft(
        "could such a network hide what it uses?", answer, p, said,
        "Whether a network of this kind can hide what it uses could not be told.", f"Q10.{answer}", HIDE_RULE,
        HIDE_NOT, (gone, used, seen, idle), tuple(rows), rests, (gone, used),
    )  # fmt: skip


def _draft(
    answer: Answer, p: float, said: str, rule: str, tests: tuple[Test, ...], rows: tuple[Mapping[str, Json], ...],
    rests: tuple[Test, ...] = (), deciding: tuple[Test, ...] = (),
) -> Draft:  # fmt: skip
    return Draft(
        "does it transfer to another model?", answer, p, said, OPEN, rule, RULE, NOT, tests, rows, rests, deciding
    )


def _mean(values: np.ndarray) -> float | None:
    there = np.isfinite(values)
    return round(float(values[there].mean()), 4) if there.any() else None
