"""Explanations under noise: how far each method's relevance moves where the prediction stays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from regard.measures.paired import paired_difference
from regard.present import counts
from regard.present.messages.messages import say
from regard.present.palette import series_index
from regard.present.report.charts import Dot, interval_chart
from regard.present.report.markup import Html, join, small, table, tag
from regard.present.report.robustness.columns import (
    NOT_MEASURED,
    Measured,
    by_example,
    cell,
    different,
    in_words,
    largest_n,
    mean_of,
    n_in_caption,
    noises,
    of_mean,
    picked,
    seed,
    severities,
)
from regard.present.run_reader import Material
from regard.records import Score, Spec
from regard.registry import entry, names

MOVED = ("explanation_rank", "explanation_top_k", "explanation_jsd", "explanation_centre", "explanation_unaligned")
FEWEST = 10
"""Independent examples below which no method is called the most stable; resampling fewer pretends to know."""
AGAINST = ("explanation_per_change", "explanation_excess")


def explanations(material: Material) -> Html | None:
    """Which explanation is the most stable, in a sentence; then every method with every measure."""
    rank = [s for s in picked(material, "explanation_rank", attack=None) if "noise" in s.where]
    if not rank:
        attacked = list(dict.fromkeys(s.method for s in picked(material, "explanation_rank")))
        beside = _under_attack(material, attacked)
        return join(tag("h3", None, say("robustness.explanations")), beside) if beside else None
    methods = list(dict.fromkeys(s.method for s in rank))
    dots, sizes = list[Dot](), list[int]()
    for method in methods:
        found = mean_of(material, [s for s in rank if s.method == method])
        colour = series_index(method, methods)
        ends = found.interval.low, found.interval.high
        dots.append(Dot(method, colour, found.estimate, *ends, hollow=is_baseline(method)))
        sizes.append(found.n)
    kept = of_mean(material, picked(material, "prediction_kept"))
    chart = interval_chart(dots, name=say("robustness.explanation_rank"), reference=0.0)
    n = say("results.n_is", n=counts.between(sizes))
    words = tag(
        "div",
        None,
        tag("p", None, _sentence(material, rank, methods)),
        tag("p", {"class": "soft"}, say("robustness.kept", kept=in_words(kept), n=kept.n)),
    )
    return join(
        tag("h3", None, say("robustness.explanations")),
        tag("div", {"class": "cards"}, tag("figure", None, chart, tag("figcaption", None, n)), words),
        _moved(material, methods, rank),
        _set_against(material, methods),
        _under_attack(material, methods),
        tag("p", {"class": "note"}, say("robustness.stable_is_not_faithful")),
    )


def is_baseline(method: str) -> bool:
    name = Spec.parse("explainer", method).name
    return name in names("explainer") and entry("explainer", name).facts.get("role") == "baseline"


def _sentence(material: Material, rank: list[Score], methods: list[str]) -> str:
    real = [m for m in methods if not is_baseline(m)]
    columns = {m: by_example([s for s in rank if s.method == m]) for m in real}
    means = {m: float(np.nanmean(v)) if np.isfinite(v).any() else -np.inf for m, (_, v) in columns.items()}
    order = sorted(real, key=lambda m: -means[m])
    if not order or not np.isfinite(means[order[0]]):
        return say("robustness.no_stable")
    first = order[0]
    best = mean_of(material, [s for s in rank if s.method == first])
    if len(order) < 2:
        return say("robustness.one_method", first=first, value=in_words(best, percent=False), n=best.n)
    second = order[1]
    mine, theirs = (dict(zip(*columns[m], strict=True)) for m in (first, second))
    ids = [name for name in mine if name in theirs]
    found, _ = paired_difference(
        [mine[i] for i in ids], [theirs[i] for i in ids], [material.cluster(i) for i in ids], seed=seed(material)
    )
    both = [i for i in ids if np.isfinite(mine[i] - theirs[i])]
    draws = len({material.cluster(i) for i in both})
    if draws < FEWEST:
        return say("robustness.stable_few", first=first, value=in_words(best, draws, percent=False), n=draws)
    key = "robustness.most_stable" if found.low > 0 else "robustness.stable_tie"
    n = len(both)
    return say(
        key, first=first, value=in_words(best, n, percent=False), second=second,
        difference=in_words(Measured(found, n), percent=False), n=n,
    )  # fmt: skip


def _moved(material: Material, methods: list[str], rank: list[Score]) -> Html:
    found = {method: _means(material, method, MOVED) for method in methods}
    head = [say("results.method"), *(say(f"robustness.{m}") for m in MOVED)]
    caption = say(
        "robustness.explanation_caption", noises=", ".join(noises(rank)),
        severities=", ".join(map(str, severities(rank))), seed=seed(material), n=_n(found),
    )  # fmt: skip
    return table(head, _rows(found), caption=caption, numeric=True, shaded=_shaded(methods))


def _set_against(material: Material, methods: list[str]) -> Html:
    """Drift set against what should move it and what should not: the answer, the seed; and what it is worth."""
    found = {}
    for method in methods:
        seeded = of_mean(material, picked(material, "explanation_seed_rank", method=method))
        found[method] = [*_means(material, method, AGAINST), seeded, *_faithful(material, method)]
    keys = (*AGAINST, "explanation_seed_rank", "faithful_clean", "faithful_noisy")
    head = [say("results.method"), *(say(f"robustness.{k}") for k in keys)]
    caption = say("robustness.against_caption", n=_n(found))
    return table(head, _rows(found), caption=caption, numeric=True, shaded=_shaded(methods))


def _n(found: Mapping[str, Sequence[Measured]]) -> str:
    return n_in_caption(one for some in found.values() for one in some)


def _rows(found: Mapping[str, Sequence[Measured]]) -> list[list[Html | str]]:
    usual = largest_n(one for some in found.values() for one in some)
    return [[method, *(cell(one, usual) for one in some)] for method, some in found.items()]


def _under_attack(material: Material, methods: list[str]) -> Html | None:
    """Rank correlation where an attack changed the input but not the answer."""
    scores = [s for s in picked(material, "explanation_rank") if "attack" in s.where]
    attacks = [str(a) for a in different(scores, "attack")]
    if not attacks:
        return None
    found = {
        method: [
            mean_of(material, [s for s in scores if s.method == method and s.where["attack"] == a]) for a in attacks
        ]
        for method in methods
    }
    sizes = [largest_n(some[i] for some in found.values()) for i in range(len(attacks))]
    rows = [[method, *(cell(one, n) for one, n in zip(some, sizes, strict=True))] for method, some in found.items()]
    head = [
        say("results.method"),
        *(join(a, small(say("results.n_is", n=n))) for a, n in zip(attacks, sizes, strict=True)),
    ]
    caption = say("robustness.under_attack_caption")
    if picked(material, "explanation_attack_success"):
        caption += " " + say("robustness.aimed_caption")
    return table(head, rows, caption=caption, numeric=True, shaded=_shaded(methods))


def _means(material: Material, method: str, metrics: tuple[str, ...]) -> list[Measured]:
    return [mean_of(material, picked(material, m, method=method, attack=None)) for m in metrics]


def _shaded(methods: list[str]) -> set[int]:
    return {i for i, m in enumerate(methods) if is_baseline(m)}


def _faithful(material: Material, method: str) -> tuple[Measured, Measured]:
    """Comprehensiveness of the same examples, clean and under noise, by the same operator."""
    noisy = [s for s in picked(material, "comprehensiveness", method=method) if "noise" in s.where]
    if not noisy:
        return NOT_MEASURED, NOT_MEASURED
    operator = noisy[0].where.get("operator")
    for score in material.scores:
        if (score.metric, score.method, score.where.get("operator")) == ("comprehensiveness", method, operator):
            there = _defined([score]) & _defined(noisy)
            return mean_of(material, [_only(score, there)]), mean_of(material, [_only(s, there) for s in noisy])
    return NOT_MEASURED, mean_of(material, noisy)


def _defined(scores: Sequence[Score]) -> set[str]:
    return {name for s in scores for name, value in zip(s.ids, s.values, strict=True) if not np.isnan(value)}


def _only(score: Score, ids: set[str]) -> Score:
    inside = [i for i, name in enumerate(score.ids) if name in ids]
    return Score(score.metric, score.method, tuple(score.ids[i] for i in inside), score.values[inside], score.better)
