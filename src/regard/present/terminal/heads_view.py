"""Survey of heads as tables and sentences for a terminal. Takes its JSON form."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from regard.present.messages.messages import columns, count, id_words, say
from regard.present.terminal.terminal import plain_table

MOST = 40


def legend(survey: Mapping[str, Any]) -> list[str]:
    """Explain the columns."""
    tested = sum(1 for s in survey["scores"] if _number(s["p"]))
    return [
        say("term.heads.asked_role", asked=tested),
        *(say(f"term.heads.{name}") for name in ("conf", "score", "spread", "slope")),
    ]


Row = Mapping[str, Any]


def heads_table(survey: Mapping[str, Any], *, everything: bool) -> tuple[Table, list[Row]]:
    """Return (one row per head in model order, the heads that it does not show).

    Shows every head with a role; of the others (resting heads, heads without a role) those with the largest drop.
    """
    scores = {(s["head"], s["score"]): s for s in survey["scores"]}
    rows = survey["heads"]
    listed = rows if everything or len(rows) <= MOST else _weighty(rows)
    title = say(
        "term.heads.title",
        heads=count(len(rows), "head"),
        model=survey["model"],
        examples=count(survey["n"], "example"),
        data=survey["data"],
        clusters=count(survey["clusters"], "cluster"),
        seed=survey["seed"],
    )
    kinds = len({row["kind"] for row in rows}) > 1  # one kind for all is said by the health table
    names = columns("term.heads.columns")
    words = {names[0], names[1], names[5]}
    names[1:1] = [say("term.heads.kind")] if kinds else []
    cells = [[c for k, c in enumerate(_cells(row, scores)) if kinds or k != 1] for row in listed]
    right = tuple(i for i, name in enumerate(names) if name not in words and not (kinds and i == 1))
    listed_names = {row["name"] for row in listed}
    return plain_table(names, cells, title=title, right=right), [row for row in rows if row["name"] not in listed_names]


def _weighty(rows: Sequence[Row]) -> list[Row]:
    """All heads with a role, and others by their drop up to `MOST`, in model order."""

    def weight(i: int) -> tuple[bool, bool, float, int]:
        role, drop = rows[i]["role"], rows[i]["drop"]
        return not _does_something(rows[i]), not role["name"], -abs(drop["estimate"]) if drop else 0.0, i

    busy = sum(map(_does_something, rows))
    return [rows[i] for i in sorted(sorted(range(len(rows)), key=weight)[: max(MOST, busy)])]


def _does_something(row: Row) -> bool:
    """Return whether a head has a role beyond resting attention."""
    return bool(row["role"]["name"]) and not row["role"].get("resting", False)


def roles_told(survey: Mapping[str, Any], hidden: Sequence[Row]) -> list[str]:
    """Count the heads by role, and name those that the table omits; the counts are those of heads.csv."""
    heads = survey["heads"]
    counts = Counter(row["role"]["name"] for row in heads)
    roleless = counts.pop("", 0)
    roles = ", ".join(say("term.heads.role_count", role=role, n=n) for role, n in counts.most_common())
    sentences = [
        say("term.heads.roles", n=len(heads) - roleless, of=len(heads), roles=roles, roleless=roleless)
        if roles
        else say("term.heads.no_roles", of=len(heads))
    ]
    if hidden:
        resting = sum(1 for row in hidden if row["role"]["name"])
        sentences.append(say("term.heads.left", left=len(hidden), resting=resting, roleless=len(hidden) - resting))
    return sentences


def _cells(row: Mapping[str, Any], scores: Mapping[tuple[str, str], Mapping[str, Any]]) -> list[str]:
    role = row["role"]
    best, called = role["score"], ", ".join([role["name"], *role["others"]])
    group = row["group"]

    def plain(name: str) -> str:
        score = scores.get((row["name"], name))
        return _said(score["estimate"]) if score else "–"

    return [
        row["name"],
        row["kind"],
        called or "–",
        _said(role["confidence"]) if best else "–",
        _interval(best) if best else "–",
        _said(best["baseline"]) if best else "–",
        row["spread"] or "–",
        plain("entropy"),
        plain("distance"),
        plain("sink"),
        _said(row["slope"]["estimate"]) if row["slope"] else "–",
        _interval(row["drop"]) if row["drop"] else "–",
        "–" if group is None else f"#{group + 1}",
    ]


def groups_told(survey: Mapping[str, Any], *, most: int = 8) -> list[str]:
    """Near-identical heads, in words."""
    groups = survey["groups"]
    if not groups:
        return [say("term.heads.no_groups")]
    sentences = []
    for i, g in enumerate(groups[:most]):
        sentences.append(
            say(
                "term.heads.group",
                i=i + 1,
                heads=", ".join(g["heads"]),
                apart=f"{g['apart']:.3f}",
                n=g["n"],
                typical=f"{g['typical']:.2f}",
            )
        )
    if len(groups) > most:
        sentences.append(say("term.heads.more_groups", more=len(groups) - most))
    return sentences


def curve_table(survey: Mapping[str, Any]) -> Table | None:
    """Build the pruning curve as a table; None if it was not measured."""
    points = survey["curve"]
    if not points:
        return None
    measures = list(dict.fromkeys(p["measure"] for p in points))
    orders = list(dict.fromkeys(p["order"] for p in points))
    at = {(p["order"], p["measure"], p["removed"]): p for p in points}
    removed = sorted({p["removed"] for p in points})
    words = {name: id_words("heads.curve", name) for name in (*measures, *orders)}
    titles = [say("heads.curve.column", measure=words[m], order=words[o]) for m in measures for o in orders]
    head = [say("term.heads.removed"), *titles]
    rows = [
        [
            f"{r} ({at[orders[0], measures[0], r]['share']:.0%})",
            *(_interval(at[o, m, r]) for m in measures for o in orders),
        ]
        for r in removed
    ]
    title = say("term.heads.curve", n=points[0]["n"])
    return plain_table(head, rows, title=title, right=tuple(range(1, len(head))))


def retrieval_told(survey: Mapping[str, Any]) -> list[str]:
    """State the loss without the heads that attend to copied tokens; empty if it was not measured."""
    check = survey.get("retrieval")
    if check is None:
        return []
    best = ", ".join(
        say("term.heads.retrieval_head", head=head, score=f"{score:.2f}")
        for head, score in zip(check["heads"], check["scores"], strict=True)
    )
    confirmed = _number(check["excess"]["low"]) and check["excess"]["low"] > 0
    return [
        say("term.heads.retrieval_best", heads=best, base=f"{check['baseline']:.2f}"),
        say(
            "term.heads.retrieval_drop",
            k=len(check["heads"]),
            of=check["of"],
            top=_interval(check["drop_top"]),
            random=_interval(check["drop_random"]),
            whole=_said(check["whole"]["estimate"]),
            n=check["whole"]["n"],
        ),
        say(f"term.heads.retrieval_{'confirmed' if confirmed else 'open'}", excess=_interval(check["excess"])),
    ]


def health_table(survey: Mapping[str, Any]) -> Table:
    rows = [
        [
            s["site"],
            s["kind"],
            _said(s["breadth"]),
            _said(s["sink"]),
            _said(s["conicity"]),
            _said(s["conicity_of_random"]),
            say("term.heads.of", a=_said(s["null_dimension"]), b=_said(s["keys"])),
            _said(s["unseen"]),
        ]
        for s in survey["health"]["sites"]
    ]
    head = columns("term.heads.health_columns")
    return plain_table(head, rows, title=say("term.heads.health"), right=tuple(range(2, 8)))


def pruned_table(pruned: Mapping[str, Any]) -> Table:
    """Table of the model before and after pruning."""
    rows = [
        [k["measure"], _said(k["before"]), _said(k["after"]), _interval({**k, "estimate": k["change"]}), str(k["n"])]
        for k in pruned["audit"]
    ]
    for name in ("parameters", "not_zero", "bytes"):
        before, after = pruned["before"][name], pruned["after"][name]
        rows.append([say(f"term.heads.{name}"), f"{before:,}", f"{after:,}", f"{after - before:+,}", "–"])
    return plain_table(columns("term.heads.pruned_columns"), rows, right=(1, 2, 3, 4))


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
