"""Activation patching of the attention output between examples."""

from __future__ import annotations

import numpy as np

from regard.desk.questions import patched
from regard.errors import Unsupported, phrase
from regard.experiments._map import attention_scores, maps, setting
from regard.protocols import Case, Findings
from regard.registry import EVERY, InProfile, experiment


@experiment(
    question="Does the prediction follow when this attention's output is patched in from an example of another class?",
    needs=("attention",),
    cite="interchange interventions: Geiger et al. 2021; Vig et al. 2020",
    formula="share of donors of another predicted class whose class is decided when their attention output is put in",
    cost="`donors` and one more forwards, and two per companion",
    misleads="it shows that the prediction depends on this attention's output, not that the weights point at a reason",
    gives=(
        "route",
        "route_moved",
    ),
    profile=(InProfile(EVERY, 4),),
)
def route(case: Case, *, donors: int = 2, layers: str | int = "last", heads: str | int = "mean") -> Findings:
    """Share of predictions that follow a donor of another class when its attention output is patched in.

    Returns, per example: `route`, the share of donors (random companions with another predicted class) whose class the
    patched model predicts; NaN without such a donor. Patches only the rows that the objective reads, of the selected
    heads; everything that bypasses this attention stays the example's own. `route_moved`: the mean total variation
    between the predictions. `route_null`: the share of flips when patching from one donor of the same class, the effect
    of patching by itself.
    """
    base, others = case.base(), case.companions
    donor_distribution = others.base().distribution if others.ids else np.zeros((0, 2))
    if base.distribution is None or donor_distribution is None:
        raise Unsupported(
            "route", expected=phrase("errors.common.classifier"), got=phrase("errors.common.another_task")
        )
    decided, donor_classes = base.distribution.argmax(-1), donor_distribution.argmax(-1)
    donor_lists: list[list[int]] = []
    alike: list[list[int]] = []
    for i, name in enumerate(case.ids):
        known_ones = [d for d in range(len(donor_classes)) if others.ids[d] != name]
        fitting = [d for d in known_ones if donor_classes[d] != decided[i]]
        donor_lists.append([fitting[int(k)] for k in case.rng(i, "route").permutation(len(fitting))[:donors]])
        same = [d for d in known_ones if donor_classes[d] == decided[i]]
        alike.append([same[int(k)] for k in case.rng(i, "route", "same").permutation(len(same))[:1]])
    donor_ids = sorted({d for some in (*donor_lists, *alike) for d in some})
    reads = dict(zip(donor_ids, (m.reads for m in maps(others.subset(donor_ids), layers, heads, "route")), strict=True))
    followed, change, null = np.full((3, len(case.ids)), np.nan)
    for i, m in enumerate(maps(case, layers, heads, "route")):
        donated = [*donor_lists[i], *alike[i]]
        if not donated:
            continue
        patched_distribution = patched(case, i, m.reads, [(d, reads[d]) for d in donated]).distribution
        assert patched_distribution is not None
        patched_rows = patched_distribution[: len(donor_lists[i])]
        if donor_lists[i]:
            followed[i] = np.mean(patched_rows.argmax(-1) == donor_classes[donor_lists[i]])
            change[i] = np.mean(0.5 * np.abs(patched_rows - base.distribution[i]).sum(-1))
        if alike[i]:
            null[i] = np.mean(patched_distribution[len(patched_rows) :].argmax(-1) != decided[i])
    columns = {"route": followed, "route_moved": change, "route_null": null}
    return attention_scores(case, columns, setting(layers, heads), about={"route_null": {"role": "null"}})
