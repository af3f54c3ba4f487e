"""Q6: is other attention with the same answer farther away than what another training seed does? Q7: is it stable?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from regard.judge.claim import Draft
from regard.judge.evidence import Evidence
from regard.judge.further_margins import ALIKE, FARTHER, UNLIKE
from regard.judge.mean_tests import Mean, Test
from regard.judge.other_evidence import Beside, Table
from regard.records import Answer, Json

NOISE_RULE = (
    "For each text, the divergence of the most distant attention with the same prediction (within .05), minus the mean "
    f"divergence between this network and its siblings. Holds above {FARTHER} nats, fails below. Where the other "
    "attention was only searched for it cannot fail, and where the siblings are a lower bound it cannot hold."
)
NOISE_NOT = "It does not say which of the attentions is right. It never decides the reading."
NEEDS = "siblings (--siblings DIR ..., the family of `regard train --seeds 5`) or --profile full"
STABLE_RULE = (
    f"Between training seeds: stable if siblings' maps are nearer than {ALIKE} of the distance to the own map in "
    f"another order, unstable if farther than {UNLIKE} of it. Under noise that keeps the prediction: stable if the map "
    f"moves by less than {ALIKE} of its size (noise in the embeddings), or its rank correlation with itself falls by "
    f"less (noise in the text), unstable if by more than {UNLIKE}. Holds if all that was tried is stable, fails if all "
    "is unstable, mixed if one is and another is not, or if it is established to lie between."
)
STABLE_NOT = "A map that never moves may still be wrong, and one that moves may follow a model that moves."


def seed_noise(evidence: Evidence, beside: Beside) -> Draft:
    """Exclusivity beside what another seed does."""
    apart, far = beside.table("seed_jsd"), evidence.of("max_jsd")
    said = f"Not tested: it needs {NEEDS}."
    if apart is None or not np.isfinite(far).any():
        return _noise("uninformative", math.nan, said, "Q6.not tested", (), {})
    ours = Table(evidence.ids, evidence.clusters, far[:, None])
    values, clusters = ours.minus(apart)
    mean = Mean.over_seeds(values, clusters)
    more = Test("divergence of other attention - that of siblings", "above", FARTHER, mean, {})
    less = Test("divergence of other attention - that of siblings", "below", FARTHER, mean, {})
    linear = evidence.of("linear")
    exact = evidence.measured("linear") and float(np.nanmin(linear)) > 0.5
    lower = apart.where.get("bound") == "lower"
    seeds = apart.values.shape[1]
    row: dict[str, Json] = {
        "other attention (nats)": _rounded(far), "siblings (nats)": _rounded(apart.values), "siblings": seeds,
        "siblings are a lower bound": lower, "other attention is exact": exact,
    }  # fmt: skip
    moved = beside.table("seed_change")
    row["siblings move the answer by"] = None if moved is None else _rounded(moved.values)
    row |= _adversary(beside)
    few = " (one sibling only)" if seeds == 1 else ""
    if more.passes and not lower:
        said = f"Yes: attention with the same answer can differ more than that of another training seed does{few}."
        return _noise("holds", more.p, said, "Q6.holds", (more, less), row, (more,))
    if less.passes and exact:
        said = f"No: other attention with the same answer differs no more than that of another training seed{few}."
        return _noise("fails", less.p, said, "Q6.fails", (more, less), row, (less,))
    if more.passes:
        said = "Farther than what was refitted, but that is less than another seed would do, so it stays open."
        return _noise("uninformative", math.nan, said, "Q6.lower bound on seeds", (more, less), row, (), (more,))
    if less.passes:
        said = "Nothing farther was found than siblings are, but this model can only be searched, so there may be some."
        return _noise("uninformative", math.nan, said, "Q6.lower bound on others", (more, less), row, (), (less,))
    said = "Too few texts or siblings to tell whether other attention differs more than that of another seed."
    return _noise("uninformative", math.nan, said, "Q6.open", (more, less), row, (), (more,))


def _noise(
    answer: Answer, p: float, said: str, rule: str, tests: tuple[Test, ...], row: Mapping[str, Json],
    rests: tuple[Test, ...] = (), deciding: tuple[Test, ...] = (),
) -> Draft:  # fmt: skip
    return Draft(
        "is other attention with the same answer more than seed noise?", answer, p, said,
        "Whether other attention differs more than that of another seed could not be shown.", rule, NOISE_RULE,
        NOISE_NOT, tests, (row,) if row else (), rests, deciding, "lower bound" not in rule,
    )  # fmt: skip


def _adversary(beside: Beside) -> dict[str, Json]:
    """What a whole network that was trained to look elsewhere did, at the weight at which it went farthest."""
    rows = [t for t in beside.tables.get("adversary_jsd", ()) if "weight" in t.where]
    if not rows:
        return {}
    best = max(rows, key=lambda t: float(t.values.mean()))
    moved = beside.table("adversary_tvd", weight=best.where["weight"])
    found: dict[str, Json] = {"trained adversary (nats)": _rounded(best.values)}
    if moved is not None:
        found["trained adversary moves the answer by"] = _rounded(moved.values)
    return found


# ---------------------------------------------------------------------- stability


def stable(evidence: Evidence, beside: Beside) -> Draft:
    """Between seeds, and under noise; what was tried."""
    tried: dict[str, tuple[Test, Test, Test, Test]] = {}
    apart, chance = beside.table("seed_jsd"), beside.table("seed_jsd_chance")
    lower = apart is not None and apart.where.get("bound") == "lower"
    if apart is not None and chance is not None:
        tried["between training seeds"] = _four("distance of siblings' maps", apart, chance)
    for name, table in _noises(evidence, beside).items():
        tried[name] = _four("distance of the map under noise", table, None)
    if not tried:
        said = f"Not tested: it needs {NEEDS}, or --profile standard for noise."
        return _stability("uninformative", math.nan, said, "Q7.not tested", ())
    tests = tuple(t for four in tried.values() for t in four[:2])
    still = [name for name, (a, _, _, _) in tried.items() if a.passes and not (lower and name.startswith("between"))]
    restless = [name for name, (_, b, _, _) in tried.items() if b.passes]
    between = [name for name, (_, _, c, d) in tried.items() if c.passes and d.passes]
    p_of = {name: min(a.p, b.p, max(c.p, d.p)) for name, (a, b, c, d) in tried.items()}
    if still and len(still) == len(tried):
        said = f"The map stays nearly the same {_and(still)}."
        return _stability("holds", max(p_of[n] for n in still), said, "Q7.holds", tests, [tried[n][0] for n in still])
    if restless and len(restless) == len(tried):
        said = f"The map becomes another one {_and(restless)}."
        rests = [tried[n][1] for n in restless]
        return _stability("fails", max(p_of[n] for n in restless), said, "Q7.fails", tests, rests)
    if still and restless:
        said = f"The map stays nearly the same {_and(still)}, and becomes another one {_and(restless)}."
        worst = max(min(p_of[n] for n in still), min(p_of[n] for n in restless))
        rests = [min((tried[n][k] for n in names), key=lambda t: t.p) for k, names in enumerate((still, restless))]
        return _stability("mixed", worst, said, "Q7.differs", tests, rests)
    if len(still) + len(restless) + len(between) == len(tried):
        said = f"The map changes in part {_and(between)}."
        rests = [t for n in between for t in tried[n][2:]]
        return _stability("mixed", max(p_of.values()), said, "Q7.between", tests, rests)
    open_ = [name for name in tried if name not in (*still, *restless, *between)]
    said = f"How much of the map stays the same {_and(open_)} could not be told."
    if lower and open_ == ["between training seeds"]:
        said = "The last layer was only refitted, which says less than another seed would: it stays open."
    # what a few more examples would refute is not what left it open
    nearest = tuple(min(tried[n][:2], key=lambda t: t.p) for n in open_)
    return _stability("uninformative", math.nan, said, "Q7.open", tests, (), nearest)


def _noises(evidence: Evidence, beside: Beside) -> dict[str, Table]:
    """Every noise that the map was asked under: (examples, 1) how far it moved, as a share of its size."""
    found = {}
    moved = beside.moved.get("attention")
    if moved is not None and np.isfinite(moved).any():
        found["under a little noise in the embeddings"] = Table(evidence.ids, evidence.clusters, moved[:, None])
    for table in beside.tables.get("explanation_rank", ()):
        if table.where.get("of") == "attention" and "noise" in table.where and np.isfinite(table.values).any():
            said = f"under {table.where['noise']}"
            said += f" at severity {table.where['severity']}" if "severity" in table.where else ""
            found[said] = replace(table, values=1 - table.values)
    return found


def _four(name: str, apart: Table, chance: Table | None) -> tuple[Test, Test, Test, Test]:
    """stable, unstable, and the two that establish what lies between; relative to `chance` where there is one."""

    def test(claim: str, share: float) -> Test:
        if chance is None:
            mean = Mean.over_seeds(apart.values, apart.clusters)
            return Test(name, claim, share, mean, {})  # type: ignore[arg-type]
        values, clusters = apart.minus(chance, share)
        label = f"{name} - {share} x that of the own map in another order"
        return Test(label, claim, 0.0, Mean.over_seeds(values, clusters), {})  # type: ignore[arg-type]

    return test("below", ALIKE), test("above", UNLIKE), test("above", ALIKE), test("below", UNLIKE)


def _stability(
    answer: Answer, p: float, said: str, rule: str, tests: tuple[Test, ...], rests: Sequence[Test] = (),
    deciding: tuple[Test, ...] = (),
) -> Draft:  # fmt: skip
    return Draft(
        "is it stable?", answer, p, said, "How stable the map is could not be shown.", rule, STABLE_RULE, STABLE_NOT,
        tests, (), tuple(rests), deciding,
    )  # fmt: skip


def _and(names: list[str]) -> str:
    return " and ".join(names)


def _rounded(values: np.ndarray) -> float | None:
    there = np.isfinite(values)
    return round(float(values[there].mean()), 4) if there.any() else None
