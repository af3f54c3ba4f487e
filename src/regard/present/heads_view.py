"""What a survey of heads found, as tables and sentences for a terminal. Takes its JSON form."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from regard.present.terminal import plain_table
from regard.present.wording import count

HEADS_CAVEAT = (
    "A role says where a head looks on these data, not what the model does with it: compare the drop. A head without a "
    "role does something that no score here asks about, or nothing in particular."
)
MOST = 40


def legend(survey: Mapping[str, Any]) -> list[str]:
    """What the columns mean."""
    asked = sum(1 for s in survey["scores"] if _number(s["p"]))
    told = [
        (
            "role: given only if the score beats its baseline with p < 0.05 after Holm's correction for all "
            f"{asked} questions asked, and lies at least 0.3 of the way from the baseline to 1 (lower end of its "
            "interval). The first is what conf., score and base are about; then come weaker ones, and where the head "
            "rests (sink, special tokens)."
        ),
        "conf. (confidence): share of 1000 resamples of the examples in which this head gets this role.",
        (
            "score: attention mass on the keys that the role is about, mean over examples, with a 95 % interval that "
            "resamples whole clusters; base (baseline): what the same rows have there when their weights are shuffled, "
            "or a head that always looks at one place, whichever is more."
        ),
        (
            "entropy in nats; broad / focused: all of its interval above 80 % or below 40 % of the largest possible "
            "entropy; distance in positions; sink: mass on the first position."
        ),
        (
            "slope: |d objective / d gate of the head| (Michel et al. 2019); drop: what the objective loses when the "
            "head is switched off (negative: it gains). A slope of 0 with a large drop is a saturated head."
        ),
    ]
    return told


def heads_table(survey: Mapping[str, Any], *, everything: bool) -> tuple[Table, int]:
    """(one row per head, how many were left out): heads with a role or a large drop first to stay, in model order."""
    scores = {(s["head"], s["score"]): s for s in survey["scores"]}
    rows = survey["heads"]
    kept = rows if everything or len(rows) <= MOST else _weighty(rows)
    title = (
        f"{count(len(rows), 'head')} of {survey['model']} on {count(survey['n'], 'example')} of {survey['data']} "
        f"({count(survey['clusters'], 'cluster')}, seed {survey['seed']})"
    )
    kinds = len({row["kind"] for row in rows}) > 1  # one kind for all is said by the health table
    names = ["head", "role", "conf.", "score [95 %]", "base", "spread", "entropy", "dist.", "sink", "slope"]
    names += ["drop [95 %]", "like"]
    names[1:1] = ["kind"] if kinds else []
    cells = [[c for k, c in enumerate(_cells(row, scores)) if kinds or k != 1] for row in kept]
    words = {"head", "kind", "role", "spread"}
    right = tuple(i for i, name in enumerate(names) if name not in words)
    return plain_table(names, cells, title=title, right=right), len(rows) - len(kept)


def _weighty(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    def weight(row: Mapping[str, Any]) -> tuple[bool, float]:
        drop = row["drop"]
        return bool(row["role"]["name"]), abs(drop["estimate"]) if drop else 0.0

    chosen = sorted(range(len(rows)), key=lambda i: (*(-float(x) for x in weight(rows[i])), i))[:MOST]
    return [rows[i] for i in sorted(chosen)]


def _cells(row: Mapping[str, Any], scores: Mapping[tuple[str, str], Mapping[str, Any]]) -> list[str]:
    role = row["role"]
    best, called = role["score"], ", ".join([role["name"], *role["others"]])
    group = row["group"]

    def plain(name: str) -> str:
        found = scores.get((row["name"], name))
        return _said(found["estimate"]) if found else "–"

    return [
        row["name"], row["kind"], called or "–", _said(role["confidence"]) if best else "–",
        _interval(best) if best else "–", _said(best["baseline"]) if best else "–", row["spread"] or "–",
        plain("entropy"), plain("distance"), plain("sink"), _said(row["slope"]["estimate"]) if row["slope"] else "–",
        _interval(row["drop"]) if row["drop"] else "–", "–" if group is None else f"#{group + 1}",
    ]  # fmt: skip


def groups_told(survey: Mapping[str, Any], *, most: int = 8) -> list[str]:
    """Near-identical heads, in words."""
    groups = survey["groups"]
    if not groups:
        return ["No two heads have near-identical maps."]
    told = []
    for i, g in enumerate(groups[:most]):
        told.append(
            f"#{i + 1}: {', '.join(g['heads'])}: maps at most {g['apart']:.3f} nats apart (Jensen-Shannon, "
            f"n = {g['n']}); two heads of this model typically {g['typical']:.2f}."
        )
    if len(groups) > most:
        told.append(f"and {len(groups) - most} more groups (--json)")
    return told


def curve_table(survey: Mapping[str, Any]) -> Table | None:
    """What is left as heads go; None where it was not measured."""
    points = survey["curve"]
    if not points:
        return None
    measures = list(dict.fromkeys(p["measure"] for p in points))
    orders = list(dict.fromkeys(p["order"] for p in points))
    at = {(p["order"], p["measure"], p["removed"]): p for p in points}
    removed = sorted({p["removed"] for p in points})
    head = ["removed", *(f"{m}, {o}" for m in measures for o in orders)]
    rows = [
        [
            f"{r} ({at[orders[0], measures[0], r]['share']:.0%})",
            *(_interval(at[o, m, r]) for m in measures for o in orders),
        ]
        for r in removed
    ]
    title = f"pruning curve, n = {points[0]['n']} (ranked on other examples; random: mean of 3 orders)"
    return plain_table(head, rows, title=title, right=tuple(range(1, len(head))))


def health_table(survey: Mapping[str, Any]) -> Table:
    rows = [
        [s["site"], s["kind"], _said(s["breadth"]), _said(s["sink"]), _said(s["conicity"]),
         _said(s["conicity_of_random"]), f"{_said(s['null_dimension'])} of {_said(s['keys'])}", _said(s["unseen"])]
        for s in survey["health"]["sites"]
    ]  # fmt: skip
    head = ("site", "kind", "breadth", "sink", "conicity", "random", "null space", "unseen")
    return plain_table(head, rows, title="health of attention", right=tuple(range(2, 8)))


HEALTH_LEGEND = (
    "breadth: entropy as a share of the largest. conicity: mean cosine between the states that attention reads and "
    "their mean (random: what so many random directions have); near 1, any weights give the same mixture. null space: "
    "directions, of all keys, in which weights may move without changing the output; unseen: share of the weights' "
    "length that lies there (Brunner et al. 2020)."
)


def pruned_table(pruned: Mapping[str, Any]) -> Table:
    """Before and after."""
    rows = [
        [k["measure"], _said(k["before"]), _said(k["after"]), _interval({**k, "estimate": k["change"]}), str(k["n"])]
        for k in pruned["audit"]
    ]
    for name, what in (("parameters", "parameters"), ("not_zero", "of them not zero"), ("bytes", "bytes of weights")):
        before, after = pruned["before"][name], pruned["after"][name]
        rows.append([what, f"{before:,}", f"{after:,}", f"{after - before:+,}", "–"])
    return plain_table(("", "before", "after", "change [95 %]", "n"), rows, right=(1, 2, 3, 4))


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


def _said(value: Any) -> str:
    if not _number(value):
        return "–"
    return f"{value:.2f}" if abs(value) < 100 else f"{value:.0f}"


def _interval(found: Mapping[str, Any]) -> str:
    if not _number(found["low"]):
        return _said(found["estimate"])
    return f"{_said(found['estimate'])} [{_said(found['low'])} {_said(found['high'])}]"
