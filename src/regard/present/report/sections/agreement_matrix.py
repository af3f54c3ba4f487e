"""Do the methods rank the same units first? Kendall's tau between every two of them."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from regard.measures.agreement import kendall, null_sd, ragged
from regard.measures.intervals import ClusterSums, Interval, bootstrap
from regard.present import counts
from regard.present.messages.messages import say
from regard.present.palette import level, side
from regard.present.report.markup import Html, join, small, table, tag
from regard.present.results_table import of_a_part, other_method
from regard.present.run_reader import Material
from regard.records import Floats


def agreement_matrix(material: Material) -> Html | None:
    """Methods by methods: mean tau with its interval, and what chance and the ceiling would give."""
    names = material.methods
    if len(names) < 2:
        return None
    strength = {name: _magnitudes(material, name) for name in names}
    cells: dict[tuple[str, str], Interval] = {}
    sizes: dict[tuple[str, str], counts.Size] = {}
    for a, b in combinations(names, 2):
        both = [i for i in strength[a] if i in strength[b]]
        tau = ragged(kendall, [strength[a][i] for i in both], [strength[b][i] for i in both])
        sums = ClusterSums.of(tau, [material.cluster(i) for i in both])
        sizes[a, b] = sizes[b, a] = sums.n, len(sums.names)
        cells[a, b] = cells[b, a] = bootstrap(sums, seed=int(material.manifest.get("seed", 0)))
    common = counts.largest(sizes.values())
    rows = [[a, *(_cell(cells.get((a, b)), sizes.get((a, b), common), common) for b in names)] for a in names]
    caption = say(
        "agreement_matrix.caption", n=counts.in_caption(sizes.values()), seed=material.manifest.get("seed", 0)
    )
    return join(table(["", *names], rows, caption=caption, numeric=True), _frame(material))


def _magnitudes(material: Material, method: str) -> dict[str, Floats]:
    """Example id -> the magnitudes of the units that may be removed."""
    relevance = material.relevances[method]
    found = {}
    for name, values in zip(relevance.ids, relevance, strict=True):
        if name in material.by_id:
            found[name] = np.abs(values[~np.asarray(material.by_id[name]["units"]["special"], np.bool_)])
    return found


def _cell(tau: Interval | None, size: counts.Size, common: counts.Size) -> Html:
    if tau is None:
        return tag("td", {"class": "n soft"}, "·")
    if not math.isfinite(tau.estimate):
        return tag("td", {"class": "n"}, say("unknown"), tag("small", None, say("results.undefined")))
    interval = f"[{tau.low:.2f}, {tau.high:.2f}]" if math.isfinite(tau.low) else say("results.no_interval")
    css = f"n {side(tau.estimate, signed=True)}{level(tau.estimate, 1.0) // 2}"
    own = counts.own(size, common)
    note = small(own)
    return tag("td", {"class": css}, f"{tau.estimate:.2f}", tag("small", None, interval), note)


def _frame(material: Material) -> Html:
    """Chance and ceiling, the two marks between which an agreement is to be read."""
    lengths = [len(e["units"]["special"]) - sum(map(bool, e["units"]["special"])) for e in material.examples]
    spread = float(np.nanmean([s for s in null_sd(lengths) if math.isfinite(s)] or [math.nan]))
    parts = [say("agreement_matrix.chance", spread=f"{spread:.2f}")]
    for s in material.summaries:
        other = other_method(s.where)
        if s.role == "ceiling" and other and not of_a_part(s.where) and math.isfinite(s.estimate):
            ends = {"estimate": f"{s.estimate:.2f}", "low": f"{s.low:.2f}", "high": f"{s.high:.2f}"}
            parts.append(say("agreement_matrix.ceiling", method=s.method, other=other, **ends))
    return tag("ul", None, [tag("li", None, p) for p in parts])
