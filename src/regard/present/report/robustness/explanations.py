"""Explanations under noise: drift of each method's relevance while the prediction stays the same."""

from __future__ import annotations

from collections.abc import Sequence

from regard.audits.conclusions.explanation_drift import (
    AGAINST,
    MEASURES,
    AttackedExplanations,
    ExplanationDrift,
    MethodDrift,
    MostStable,
)
from regard.audits.conclusions.finding_means import Measured
from regard.present import counts
from regard.present.messages.messages import say
from regard.present.palette import series_index
from regard.present.report.charts import Dot, interval_chart
from regard.present.report.markup import Html, join, small, table, tag
from regard.present.report.robustness.columns import cell, in_words, largest_n, n_in_caption
from regard.present.run_reader import Material

FEWEST = 10
"""Minimum independent examples to call a method the most stable; fewer cannot support the claim."""


def explanations(material: Material) -> Html | None:
    """Name the most stable explanation in a sentence; then list every method with every measure."""
    drift = material.conclusions.explanation_drift
    if drift is None:
        return None
    if not drift.methods:
        return join(tag("h3", None, say("robustness.explanations")), _under_attack(drift.attacked))
    methods = [d.method for d in drift.methods]
    dots = [
        Dot(
            d.method,
            series_index(d.method, methods),
            d.rank.estimate,
            d.rank.interval.low,
            d.rank.interval.high,
            hollow=d.baseline,
        )
        for d in drift.methods
    ]
    chart = interval_chart(dots, name=say("robustness.explanation_rank"), reference=0.0)
    n = say("results.n_is", n=counts.between(d.rank.n for d in drift.methods))
    words = tag(
        "div",
        None,
        tag("p", None, _sentence(drift.stable)),
        tag("p", {"class": "soft"}, say("robustness.kept", kept=in_words(drift.unchanged), n=drift.unchanged.n)),
    )
    return join(
        tag("h3", None, say("robustness.explanations")),
        tag("div", {"class": "cards"}, tag("figure", None, chart, tag("figcaption", None, n)), words),
        _moved(drift, material),
        _set_against(drift.methods),
        _under_attack(drift.attacked),
        tag("p", {"class": "note"}, say("robustness.stable_is_not_faithful")),
    )


def _sentence(stable: MostStable | None) -> str:
    if stable is None:
        return say("robustness.no_stable")
    first, rank, n = stable.method, stable.rank, stable.lead.n
    if not stable.second:
        return say("robustness.one_method", first=first, value=in_words(rank, percent=False), n=rank.n)
    if stable.clusters < FEWEST:
        value = in_words(rank, stable.clusters, percent=False)
        return say("robustness.stable_few", first=first, value=value, n=stable.clusters)
    return say(
        "robustness.most_stable" if stable.lead.interval.low > 0 else "robustness.stable_tie",
        first=first,
        value=in_words(rank, n, percent=False),
        second=stable.second,
        difference=in_words(stable.lead, percent=False),
        n=n,
    )


def _moved(drift: ExplanationDrift, material: Material) -> Html:
    cells = [d.drift for d in drift.methods]
    caption = say(
        "robustness.explanation_caption",
        noises=", ".join(drift.noises),
        severities=", ".join(map(str, drift.severities)),
        seed=material.seed,
        n=_n(cells),
    )
    return _table(drift.methods, MEASURES, cells, caption)


def _set_against(methods: Sequence[MethodDrift]) -> Html:
    """Compare drift with its references, the change of the prediction and of the seed, and state its meaning."""
    keys = (*AGAINST, "explanation_seed_rank", "faithful_clean", "faithful_noisy")
    cells = [d.against for d in methods]
    return _table(methods, keys, cells, say("robustness.against_caption", n=_n(cells)))


def _n(cells: Sequence[Sequence[Measured]]) -> str:
    return n_in_caption(one for row in cells for one in row)


def _table(
    methods: Sequence[MethodDrift], keys: Sequence[str], cells: Sequence[Sequence[Measured]], caption: str
) -> Html:
    usual = largest_n(one for row in cells for one in row)
    rows = [[d.method, *(cell(one, usual) for one in row)] for d, row in zip(methods, cells, strict=True)]
    head = [say("results.method"), *(say(f"robustness.{k}") for k in keys)]
    return table(head, rows, caption=caption, numeric=True, shaded={i for i, d in enumerate(methods) if d.baseline})


def _under_attack(attacked: AttackedExplanations | None) -> Html | None:
    """Rank correlation if an attack changed the input but not the answer."""
    if attacked is None:
        return None
    sizes = [largest_n(column) for column in zip(*attacked.cells, strict=True)]
    rows = [
        [method, *(cell(one, n) for one, n in zip(cells, sizes, strict=True))]
        for method, cells in zip(attacked.methods, attacked.cells, strict=True)
    ]
    columns = zip(attacked.attacks, sizes, strict=True)
    head = [say("results.method"), *(join(attack, small(say("results.n_is", n=n))) for attack, n in columns)]
    caption = say("robustness.under_attack_caption")
    if attacked.aimed:
        caption += " " + say("robustness.aimed_caption")
    shaded = {i for i, baseline in enumerate(attacked.baselines) if baseline}
    return table(head, rows, caption=caption, numeric=True, shaded=shaded)
