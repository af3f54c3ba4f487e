"""Single heads: is one of them a better guide than the audited attention?"""

from __future__ import annotations

from regard.audits.conclusions.head_gains import AUDITED
from regard.present import counts
from regard.present.messages.messages import say
from regard.present.report.charts import Dot, interval_chart
from regard.present.report.markup import Html, join, small, table, tag
from regard.present.run_reader import Material

MOST = 16


def heads(material: Material) -> Html | None:
    """Build the table of heads, best first: loss without the first unit of each, beyond that of a random one."""
    every = material.conclusions.head_gains
    if not every:
        return None
    audited = [g for g in every if g.name == AUDITED]
    ordered = [g for g in every if g.name != AUDITED]
    gains = [*audited, *ordered[:MOST]]
    names = {g.name: say("heads.audited") if g.name == AUDITED else g.name for g in gains}
    dots = [
        Dot(
            names[g.name],
            1 if g.name == AUDITED else 4,
            g.gain.estimate,
            g.gain.low,
            g.gain.high,
            hollow=g.name == AUDITED,
        )
        for g in gains
    ]
    sizes = [(g.n, g.clusters) for g in gains]
    common = counts.largest(sizes)
    caption = say(
        "heads.caption",
        n=counts.in_caption(sizes),
        seed=material.seed,
        level=f"{gains[0].gain.level:.1%}",
        heads=len(ordered),
        most=len(ordered[:MOST]),
    )
    rows = [
        [
            names[g.name],
            tag(
                "td",
                {"class": "n"},
                f"{g.gain.estimate:.3f}",
                small(f"[{g.gain.low:.3f}, {g.gain.high:.3f}]"),
                small(counts.own((g.n, g.clusters), common)),
            ),
        ]
        for g in gains
    ]
    base = audited[0].gain.estimate if audited else None
    numbers = table([say("heads.head"), say("heads.gain")], rows, caption=caption, numeric=True)
    return join(
        tag("p", None, say("heads.lead")),
        tag("figure", {"class": "half"}, interval_chart(dots, name=say("heads.gain"), reference=base)),
        tag("p", {"class": "soft"}, caption),
        tag("details", None, tag("summary", None, say("page.numbers")), numbers),
    )
