"""The example on a report's first page: the one on which two methods agree as much as on a typical example."""

from __future__ import annotations

import numpy as np

from regard.audits.conclusions.run_facts import RunFacts
from regard.measures.agreement import kendall

READABLE = (6, 30)
"""Range of units of an example that a reader takes in at a glance."""


def typical_example(facts: RunFacts, first: str, second: str) -> str | None:
    """Return the example of median agreement (Kendall's tau) between two methods, among readable ones where possible.

    None where the methods share no example. The id breaks ties, so the choice is reproducible.
    """
    agreements: dict[str, tuple[float, int]] = {}
    for example in facts.examples:
        pair = [facts.relevance_of(method, example["id"]) for method in (first, second)]
        free = ~np.asarray(example["units"]["special"], np.bool_)
        if pair[0] is None or pair[1] is None or free.sum() < 2:
            continue
        tau = float(kendall(pair[0][free], pair[1][free]))
        if np.isfinite(tau):
            agreements[example["id"]] = tau, int(free.sum())
    fewest, most = READABLE
    readable = {name: tau for name, (tau, n) in agreements.items() if fewest <= n <= most}
    candidates = readable or {name: tau for name, (tau, _) in agreements.items()}
    ranked = sorted(candidates, key=lambda name: (candidates[name], name))
    return ranked[(len(ranked) - 1) // 2] if ranked else None
