"""P: is there a map to read?"""

from __future__ import annotations

import numpy as np

from regard.judge.claim import Draft
from regard.judge.evidence import Evidence
from regard.judge.margins import EMPTY, FEWEST_KEYS, LEVEL, STRICT
from regard.judge.mean_tests import Mean, Test, all_of
from regard.records import Answer

RULE = (
    f"Fails if the median text has fewer than {FEWEST_KEYS} units to look at, if the weights themselves show a defect, "
    f"or if the map is within {EMPTY} (total variation) of equal weights, or of the map of the same text in another "
    f"order at the same places, with a one-sided test at {STRICT}. Holds if both distances are above {EMPTY}."
)
NOT = "It says nothing about whether the map is right."
WHY = {
    "one_key": "There is only one place to look, so looking there says nothing.",
    "uniform": "The model looks everywhere equally; a heat map of this would show noise.",
    "constant": "The map is the same whatever the text says: it tells you a position, not a reason.",
    "unused": "The answer stays the same wherever this attention looks; the decision is made elsewhere.",
}
NAMES = {"one_key": "one key", "uniform": "flat", "constant": "constant", "unused": "unused"}


def there(evidence: Evidence) -> tuple[Draft, str]:
    """The draft, and in one word why there is nothing ("" where there is something)."""
    keys = evidence.of("keys")
    flat = Mean.of(evidence.of("flat"), evidence.clusters)
    locked = Mean.of(evidence.of("locked"), evidence.clusters)
    is_flat = Test("distance from equal weights", "below", EMPTY, flat, {})
    is_locked = Test("distance from the shuffled text's map", "below", EMPTY, locked, {})
    differs = Test("distance from equal weights", "above", EMPTY, flat, {})
    depends = Test("distance from the shuffled text's map", "above", EMPTY, locked, {})
    for what, _ in evidence.defects:
        if what != "unused":  # that is about whether it matters
            shown = {"uniform": (is_flat,), "constant": (is_locked,)}.get(what, ())
            return _draft("fails", 0.0, WHY[what], f"P.{what}", (is_flat, is_locked), shown), NAMES[what]
    if np.isfinite(keys).any() and float(np.nanmedian(keys)) < FEWEST_KEYS:
        return _draft("fails", 0.0, WHY["one_key"], "P.keys", ()), "one key"
    if is_flat.p < STRICT:
        return _draft("fails", is_flat.p, WHY["uniform"], "P.flat", (is_flat,)), "flat"
    if is_locked.p < STRICT:
        return _draft("fails", is_locked.p, WHY["constant"], "P.locked", (is_locked,)), "constant"
    needed = (differs, depends) if evidence.measured("locked") else (differs,)
    if all(t.passes for t in needed):
        words = "There is a map: it is not flat, and it depends on what is read."
        if len(needed) == 1:
            words = "There is a map: it is not flat. Whether it depends on what is read could not be tested."
        return _draft("holds", all_of(needed), words, "P.there", needed), ""
    said = "It is not clear whether there is a map: it may be flat, or be about positions alone."
    return _draft("uninformative", float("nan"), said, "P.open", needed), ""


def _draft(
    answer: Answer, p: float, sentence: str, rule: str, tests: tuple[Test, ...], rests: tuple[Test, ...] | None = None
) -> Draft:
    # a map is called empty at its own, stricter level; it is no claim among those that are corrected together
    return Draft(
        "is there a map to read?", answer, float("nan") if p < min(STRICT, LEVEL) else p, sentence,
        "It is not clear whether there is a map.", rule, RULE, NOT, tests, (),
        tests if rests is None else rests, tests,
    )  # fmt: skip
