"""Cells and sentences about an answer audit that the page and the terminal share. facts: the JSON of the audit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regard.present.messages.messages import known, render, say

METRICS = (
    "top_1_drop",
    "top_1_share",
    "aopc_comprehensiveness",
    "aopc_sufficiency",
    "deletion_area",
    "insertion_area",
    "soft_comprehensiveness",
    "soft_sufficiency",
    "polarity_violations",
    "lds",
)
"""Metrics in the order of the table."""


def method_words(method: str) -> str:
    """
    >>> method_words("row_knock_out"), method_words("context_cite:masks=8")
    ('row knock-out', 'context_cite:masks=8')
    """
    key = f"answers.method.{method}"
    return say(key) if ":" not in method and known(key) else method


def method_cells(method: Mapping[str, Any]) -> list[str]:
    """Build the cells of one method's row."""
    metrics = method["metrics"]
    return [
        method_words(method["method"]),
        say(f"answers.answer.{method['answer']}"),
        share_words(method["share"]),
        share_words(method["truth"]),
        interval_words(metrics.get("top_1_share")),
        interval_words(metrics.get("lds")),
        "-" if method["passes"] is None else f"{method['passes']:.1f}",
    ]


def share_words(share: Mapping[str, Any] | None) -> str:
    if share is None or not share["n"]:
        return "-"
    return say("answers.page.share", k=share["k"], n=share["n"], low=share["low"], high=share["high"])


def interval_words(estimate: Mapping[str, Any] | None) -> str:
    if estimate is None or estimate["mean"] is None:
        return "-"
    if estimate["low"] is None:
        return f"{estimate['mean']:.2f}"
    return f"{estimate['mean']:.2f} [{estimate['low']:.2f}, {estimate['high']:.2f}]"


def sentences(facts: Mapping[str, Any]) -> list[str]:
    """Sentences on the use of the sources, the progress of the audit, the baseline of LDS, and skipped methods."""
    use = facts["use"]
    lines = [
        say(f"answers.use.{use['answer']}", **{key: use["share"][key] for key in ("k", "n", "low", "high")}),
        say(f"answers.status.{facts['status']}", n=facts["n"], all=facts["available"]),
    ]
    if facts["counting_lds"] is not None:
        lines.append(say("answers.page.counting", mean=facts["counting_lds"]["mean"]))
    lines += [
        say("answers.page.skipped", method=method_words(method["method"]), reason=method["reason"])
        for method in facts["methods"]
        if method["answer"] == "skipped"
    ]
    return lines


def about_words(facts: Mapping[str, Any]) -> str:
    return say(
        "answers.page.about",
        model=facts["model"],
        data=facts["data"],
        n=facts["n"],
        all=facts["available"],
        seed=facts["seed"],
        passes=facts["passes"],
    )


def robustness_rows(facts: Mapping[str, Any]) -> list[list[str]]:
    """Build one row per method: how often its first source stays the same after each change of the prompt."""
    changes = list(dict.fromkeys(row["change"] for row in facts["robustness"]))
    by_pair = {(row["method"], row["change"]): row for row in facts["robustness"]}
    methods = [m["method"] for m in facts["methods"] if any((m["method"], change) in by_pair for change in changes)]
    rows = []
    for method in methods:
        own = [by_pair.get((method, change)) for change in changes]
        rows.append([method_words(method), *(share_words(row["same"] if row else None) for row in own)])
    return rows


def robustness_columns(facts: Mapping[str, Any]) -> list[str]:
    changes = dict.fromkeys(row["change"] for row in facts["robustness"])
    return [say("answers.page.method"), *(say(f"answers.change.{change}") for change in changes)]


def rule_words(facts: Mapping[str, Any]) -> str:
    margins = facts["margins"]
    return say("answers.page.rule", **{key: margins[key] for key in ("half", "delta", "good", "level")})


def headline_words(facts: Mapping[str, Any]) -> str:
    return render(facts["headline"])
