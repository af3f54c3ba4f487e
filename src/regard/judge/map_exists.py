"""P: is there a map to read?"""

from __future__ import annotations

import numpy as np

from regard.judge.claim import Draft
from regard.judge.evidence import Evidence
from regard.judge.margins import EMPTY, FEWEST_KEYS, LEVEL, STRICT
from regard.judge.mean_tests import Test, all_of
from regard.records import Answer, Message
from regard.registry import question

QUESTION = "map"
MARGINS = {"fewest": FEWEST_KEYS, "empty": EMPTY, "strict": STRICT}
FLAT, LOCKED = Message("judge.map.distance_flat"), Message("judge.map.distance_shuffled")
VARIES = Message("judge.map.distance_others")
DEFECTS = {
    "one_key": Message("judge.map.one_key"),
    "uniform": Message("judge.map.uniform"),
    "constant": Message("judge.map.constant"),
    "unused": Message("judge.map.unused"),
}


@question(rank=0, family="first")
def map_exists(evidence: Evidence) -> Draft:
    """Is there a map to read?"""
    return there(evidence)[0]


def there(evidence: Evidence) -> tuple[Draft, str]:
    """The draft, and the kind of defect ("" where there is a map)."""
    keys = evidence.of("keys")
    flat = evidence.mean(evidence.of("flat"), bounds=(0.0, 1.0))
    locked = evidence.mean(evidence.of("locked"), bounds=(0.0, 1.0))
    is_flat, is_locked = Test(FLAT, "below", EMPTY, flat), Test(LOCKED, "below", EMPTY, locked)
    differs, depends = Test(FLAT, "above", EMPTY, flat), Test(LOCKED, "above", EMPTY, locked)
    # a row may depend on no unit, and yet differ between examples of one length: by the step that is due
    varies = Test(VARIES, "above", EMPTY, evidence.mean(evidence.of("varies"), bounds=(0.0, 1.0)))
    between = evidence.measured("varies") and varies.passes
    moves = between or (evidence.measured("locked") and depends.passes)
    for defect, _ in evidence.defects:
        # unused: about whether it matters; constant: about all rows of a site, and the audited one differs
        if defect != "unused" and not (defect == "constant" and moves):
            rests = {"uniform": (is_flat,), "constant": (is_locked,)}.get(defect, ())
            certain = tuple(t for t in rests if t.p < STRICT)
            return _nothing(defect, 0.0, f"P.{defect}", (is_flat, is_locked), certain), defect
    if np.isfinite(keys).any() and float(np.nanmedian(keys)) < FEWEST_KEYS:
        return _nothing("one_key", 0.0, "P.keys", (), ()), "one_key"
    if is_flat.p < STRICT:
        return _nothing("uniform", is_flat.p, "P.flat", (is_flat,), (is_flat,)), "uniform"
    if is_locked.p < STRICT and not between:
        return _nothing("constant", is_locked.p, "P.locked", (is_locked,), (is_locked,)), "constant"
    needed = (differs, varies if between else depends) if evidence.measured("locked") else (differs,)
    if all(t.passes for t in needed):
        sentence = Message("judge.map.holds" if len(needed) > 1 else "judge.map.holds_in_part")
        return _draft("holds", all_of(needed), sentence=sentence, rule="P.there", tests=needed, rests=needed), ""
    return _draft(
        "uninformative", float("nan"), sentence=Message("judge.map.open"), rule="P.open", tests=needed, rests=needed
    ), ""


def seems_empty(evidence: Evidence) -> bool:
    """Return whether an estimate suggests that there is no map: close to equal weights, or to its own shuffled self."""
    flat, locked, varies = (evidence.mean(evidence.of(name)).estimate for name in ("flat", "locked", "varies"))
    return flat < EMPTY or (locked < EMPTY and not varies > EMPTY)


def _nothing(defect: str, p: float, rule: str, tests: tuple[Test, ...], rests: tuple[Test, ...]) -> Draft:
    return _draft("fails", p, sentence=DEFECTS[defect], rule=rule, tests=tests, rests=rests)


def _draft(
    answer: Answer, p: float, sentence: Message, rule: str, tests: tuple[Test, ...], rests: tuple[Test, ...]
) -> Draft:
    # a map is called empty at its own, stricter level; it is no claim among those that are corrected together
    strict = p < min(STRICT, LEVEL)
    return Draft(
        question=QUESTION,
        answer=answer,
        p=float("nan") if strict else p,
        sentence=sentence,
        rule=rule,
        margins=MARGINS,
        tests=tests,
        rests=rests,
        deciding=tests,
        level=STRICT if strict else None,
    )
