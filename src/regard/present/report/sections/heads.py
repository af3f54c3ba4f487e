"""Single heads: is one of them a better guide than the attention that was audited?"""

from __future__ import annotations

import numpy as np

from regard.measures.intervals import ClusterSums, bootstrap
from regard.present import counts
from regard.present.messages.messages import say
from regard.present.report.charts import Dot, interval_chart
from regard.present.report.markup import Html, join, small, table, tag
from regard.present.run_reader import Material
from regard.records import Score

MOST = 16
AUDITED = "attention"


def heads(material: Material) -> Html | None:
    """What is lost without the first unit of each head, more than without a random one; the best first."""
    found = {s.method: s for s in material.findings if s.metric == "head_gain" and np.isfinite(s.values).any()}
    if len(found) < 3:  # one head is the attention itself
        return None
    seed = int(material.manifest.get("seed", 0))
    level = 1 - 0.05 / len(found)
    sums = {name: _sums(material, s) for name, s in found.items()}
    gains = {name: bootstrap(own, seed=seed, level=level) for name, own in sums.items()}
    ordered = sorted((n for n in gains if n != AUDITED), key=lambda n: (-gains[n].estimate, n))
    shown = [*([AUDITED] if AUDITED in gains else []), *ordered[:MOST]]
    names = {name: say("heads.audited") if name == AUDITED else name for name in shown}
    dots = [
        Dot(names[n], 1 if n == AUDITED else 4, gains[n].estimate, gains[n].low, gains[n].high, hollow=n == AUDITED)
        for n in shown
    ]
    sizes = {name: (sums[name].n, len(sums[name].names)) for name in shown}
    common = counts.largest(sizes.values())
    caption = say(
        "heads.caption",
        n=counts.in_caption(sizes.values()),
        seed=seed,
        level=f"{level:.1%}",
        heads=len(ordered),
        most=len(ordered[:MOST]),
    )
    rows = [
        [names[n], tag("td", {"class": "n"}, f"{gains[n].estimate:.3f}",
         tag("small", None, f"[{gains[n].low:.3f}, {gains[n].high:.3f}]"), small(counts.own(sizes[n], common)))]
        for n in shown
    ]  # fmt: skip
    base = gains[AUDITED].estimate if AUDITED in gains else None
    numbers = table([say("heads.head"), say("heads.gain")], rows, caption=caption, numeric=True)
    return join(
        tag("p", None, say("heads.lead")),
        tag("figure", {"class": "half"}, interval_chart(dots, name=say("heads.gain"), reference=base)),
        tag("p", {"class": "soft"}, caption),
        tag("details", None, tag("summary", None, say("page.numbers")), numbers),
    )


def _sums(material: Material, score: Score) -> ClusterSums:
    return ClusterSums.of(score.values, [material.cluster(name) for name in score.ids])
