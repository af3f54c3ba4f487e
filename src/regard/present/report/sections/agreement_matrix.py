"""Do the methods rank the same units first? Kendall's tau between every two of them."""

from __future__ import annotations

import math

from regard.audits.conclusions.rank_agreement import PairAgreement
from regard.audits.conclusions.settings import of_a_part, other_method
from regard.present import counts
from regard.present.messages.messages import say
from regard.present.palette import level, side
from regard.present.report.markup import Html, join, small, table, tag
from regard.present.run_reader import Material


def agreement_matrix(material: Material) -> Html | None:
    """Methods by methods: mean tau with its interval, chance level and ceiling."""
    agreement, names = material.conclusions.rank_agreement, material.methods
    if agreement is None:
        return None
    pairs = {place: pair for pair in agreement.pairs for place in ((pair.a, pair.b), (pair.b, pair.a))}
    sizes = [(pair.n, pair.clusters) for pair in agreement.pairs]
    common = counts.largest(sizes)
    rows = [[a, *(_cell(pairs.get((a, b)), common) for b in names)] for a in names]
    caption = say("agreement_matrix.caption", n=counts.in_caption(sizes), seed=material.seed)
    return join(table(["", *names], rows, caption=caption, numeric=True), _frame(material, agreement.spread))


def _cell(pair: PairAgreement | None, common: counts.Size) -> Html:
    if pair is None:
        return tag("td", {"class": "n soft"}, "·")
    tau = pair.tau
    if not math.isfinite(tau.estimate):
        return tag("td", {"class": "n"}, say("unknown"), tag("small", None, say("results.undefined")))
    interval = f"[{tau.low:.2f}, {tau.high:.2f}]" if math.isfinite(tau.low) else say("results.no_interval")
    css = f"n {side(tau.estimate, signed=True)}{level(tau.estimate, 1.0) // 2}"
    note = small(counts.own((pair.n, pair.clusters), common))
    return tag("td", {"class": css}, f"{tau.estimate:.2f}", tag("small", None, interval), note)


def _frame(material: Material, spread: float) -> Html:
    """Chance level and ceiling, the two reference points of an agreement."""
    parts = [say("agreement_matrix.chance", spread=f"{spread:.2f}")]
    for s in material.summaries:
        other = other_method(s.where)
        if s.role == "ceiling" and other and not of_a_part(s.where) and math.isfinite(s.estimate):
            ends = {"estimate": f"{s.estimate:.2f}", "low": f"{s.low:.2f}", "high": f"{s.high:.2f}"}
            parts.append(say("agreement_matrix.ceiling", method=s.method, other=other, **ends))
    return tag("ul", None, [tag("li", None, p) for p in parts])
