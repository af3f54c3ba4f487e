"""Explanation drift between an example and a changed copy, on the words that both contain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from regard.desk.changes import Replaced
from regard.desk.unit_alignment import unit_origins
from regard.errors import Unsupported, phrase
from regard.experiments._finding import finding
from regard.measures.agreement import ragged, spearman
from regard.measures.centre import centre_shift, middles
from regard.measures.divergence import jsd
from regard.measures.ranking import top_k
from regard.protocols import Case
from regard.records import Attacked, Bools, Floats, Ints, Json, Perturbed, Relevance, Score, Spec, Units
from regard.registry import entry

LN2 = float(np.log(2.0))
TOP = 5
"""Number of top words to compare; in short texts, a third of them."""
LEAST_CHANGE = 0.02
"""Minimum denominator: a smaller change of the answer (total variation) counts as this much."""
MANY_PASSES = ("captum", "knock_out", "value_zeroing")
"""Explainers that need many passes although their parameters do not show it."""
QUANTITIES: Mapping[str, Literal["higher", "lower", "none"]] = {
    "explanation_rank": "higher",
    "explanation_top_k": "higher",
    "explanation_jsd": "lower",
    "explanation_centre": "lower",
    "explanation_unaligned": "none",
}


@dataclass(frozen=True, slots=True, eq=False)
class Aligned:
    """Relevance per word of the original that the copy still contains: before and after the change.

    unaligned: the share of the relevance that lies on words which the other text does not have. places: (words, axes)
    their positions, None if positions mean nothing (columns of a table).
    """

    before: Floats
    after: Floats
    unaligned: float
    places: Floats | None


def aligned(before: Floats, after: Floats, units: Units, origins: Ints) -> Aligned:
    """Align before (units,) of the original with after (other units,) of its copy by `Case.origins`.

    Sums sub-words to words; words without an origin, and units of no word, stay unaligned.
    """
    groups = units.groups
    count = int(groups.max(initial=-1)) + 1
    traceable = (origins >= 0) & (np.append(groups, -1)[origins] >= 0)
    into = groups[origins[traceable]]
    in_words = units.free & (groups >= 0)
    x = np.bincount(groups[in_words], weights=before[in_words], minlength=count).astype(np.float64)
    y = np.bincount(into, weights=after[traceable], minlength=count).astype(np.float64)
    covered = np.bincount(into, minlength=count) > 0
    outside = np.abs(before[units.free & ~in_words]).sum()
    lost = _share(np.abs(x[~covered]).sum() + outside, np.abs(x).sum() + outside)
    new = _share(np.abs(after[~traceable]).sum(), np.abs(after).sum())
    return Aligned(x[covered], y[covered], (lost + new) / 2, _places(units, count, covered))


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole > 0 else 0.0


def _places(units: Units, count: int, there: Bools) -> Floats | None:
    if units.place_kind == "column":
        return None
    if units.place_kind == "span":  # words by their number: a long word is not far from the next
        return middles(np.arange(count, dtype=np.float64)[:, None])[there]
    first = np.array([int(np.flatnonzero(units.groups == g)[0]) for g in range(count)], np.int64)
    return middles(units.places[first])[there] if count else None


def moved(pairs: Sequence[Aligned]) -> dict[str, Floats]:
    """Return quantity -> (pairs,) values; NaN without anything to compare.

    explanation_rank: Spearman's rho. explanation_top_k: the share of the top words that stay on top. explanation_jsd:
    Jensen-Shannon divergence of the normalized magnitudes, 0..1. explanation_centre: shift of the centre of mass, 0..1.
    explanation_unaligned: share of relevance without a counterpart, 0..1.
    """
    befores, afters = [p.before for p in pairs], [p.after for p in pairs]
    return {
        "explanation_rank": ragged(spearman, befores, afters),
        "explanation_top_k": np.array([_same_top(p) for p in pairs], np.float64),
        "explanation_jsd": np.array([_apart(p) for p in pairs], np.float64),
        "explanation_centre": np.array(
            [np.nan if p.places is None else centre_shift(p.before, p.after, p.places) for p in pairs], np.float64
        ),
        "explanation_unaligned": np.array([p.unaligned for p in pairs], np.float64),
    }


def _same_top(pair: Aligned) -> float:
    n = len(pair.before)
    if n < 2:
        return float("nan")
    k = max(1, min(TOP, n // 3))
    return float((top_k(pair.before, k) & top_k(pair.after, k)).sum() / k)


def _apart(pair: Aligned) -> float:
    p, q = np.abs(pair.before), np.abs(pair.after)
    if p.sum() <= 0 or q.sum() <= 0:
        return float("nan")
    return float(jsd(p / p.sum(), q / q.sum())) / LN2


def drift(
    before: Relevance, after: Relevance, units: Sequence[Units], origins: Sequence[Ints], preserved: Bools
) -> dict[str, Floats]:
    """Return `moved` for every example; NaN if the prediction flipped, since the explanation should then change too."""
    pairs = [aligned(before[i], after[i], units[i], origins[i]) for i in range(len(units))]
    return {name: np.where(preserved, values, np.nan) for name, values in moved(pairs).items()}


def attacked_drift(
    case: Case, results: Sequence[Attacked], explainers: Sequence[str], where: Mapping[str, Json]
) -> list[Score]:
    """Return the explanation drift for attacks that changed the input but not the prediction."""
    same = [i for i, r in enumerate(results) if r.example is not None and r.after == r.before]
    if not same:
        return []
    part, part_results = case.subset(same), [results[i] for i in same]
    # under other names, so that an explainer that draws draws anew
    inputs = [replace(r.example, id=f"{r.id}~{r.attack}") for r in part_results if r.example is not None]
    after = part.variant(Replaced(inputs))
    origins = []
    for k, r in enumerate(part_results):
        words = Perturbed(inputs[k], None if r.origin is None else np.array(r.origin))
        origins.append(unit_origins(part.units[k], after.units[k], part.examples[k], words))
    same_prediction = np.array(
        [np.argmax(a) == np.argmax(b) for a, b in zip(_rows(part), _rows(after), strict=True)], np.bool_
    )
    scores = []
    for method in explainers:
        try:
            values = drift(part.relevance(method), after.relevance(method), part.units, origins, same_prediction)
        except Unsupported:  # the audit itself says why
            continue
        scores += [
            finding(q, part.ids, values[q], dict(where), method=method, better=better)
            for q, better in QUANTITIES.items()
        ]
    return scores


def one_pass_only(explainers: Sequence[str]) -> list[str]:
    """Return the explainers that need one pass per input: no removals, no path of gradients, no draws.

    >>> one_pass_only(["attention", "lrp", "integrated_gradients", "leave_one_out", "lime:samples=8"])
    ['attention', 'lrp']
    """
    return [name for name in explainers if _passes_once(Spec.parse("explainer", name).name)]


def _passes_once(name: str) -> bool:
    if name in MANY_PASSES:
        return False
    about = entry("explainer", name)
    needs = about.facts.get("needs")
    removes = isinstance(needs, list | tuple) and "removal" in needs
    return not removes and not {"steps", "samples"} & {parameter.name for parameter in about.parameters}


def _rows(case: Case) -> Floats:
    rows = case.base().distribution
    if rows is None:
        raise Unsupported(
            phrase("errors.experiments.drift_under_attack"),
            expected=phrase("errors.common.classifier"),
            got=phrase("errors.common.another_task"),
        )
    return rows
