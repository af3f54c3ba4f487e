"""Result of an answer audit as one static HTML page without scripts; every text is escaped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regard.present.answer_audit_words import (
    METRICS,
    about_words,
    headline_words,
    interval_words,
    method_cells,
    method_words,
    robustness_columns,
    robustness_rows,
    rule_words,
    sentences,
)
from regard.present.messages.messages import columns, render, say
from regard.present.report.markup import Html, page, table, tag

STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}table{border-collapse:collapse}
th,td{padding:.25rem .6rem;border-bottom:1px solid #ddd;text-align:left;vertical-align:top}
td{font-variant-numeric:tabular-nums}.scroll{overflow-x:auto}figure{margin:0}small{color:#555}
.headline{font-size:1.15rem;border-left:4px solid #0072b2;padding-left:.8rem}.yes{color:#00694b}.no{color:#a83200}
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def answer_audit_page(facts: Mapping[str, Any]) -> str:
    """Return the page for the JSON of an answer audit, in the current language."""
    title = say("answers.page.title")
    return page(
        title,
        STYLE,
        POLICY,
        tag("p", {"class": "headline"}, tag("strong", None, headline_words(facts))),
        tag("p", None, about_words(facts)),
        [tag("p", None, sentence) for sentence in sentences(facts)],
        _methods(facts),
        tag("p", None, tag("small", None, rule_words(facts))),
        tag("p", None, tag("strong", None, say("answers.page.caveat"))),
        tag("h2", None, say("answers.page.metrics")),
        _metrics(facts),
        *_robustness(facts),
        *_examples(facts),
        *_problems(facts),
    )


def _methods(facts: Mapping[str, Any]) -> Html:
    rows = []
    for method in facts["methods"]:
        name, answer, *cells = method_cells(method)
        rows.append([name, tag("td", {"class": method["answer"]}, answer), *cells])
    return table(columns("answers.page.columns"), rows, caption=say("answers.page.intervals"))


def _metrics(facts: Mapping[str, Any]) -> Html:
    methods = [method for method in facts["methods"] if method["metrics"]]
    present = [metric for metric in METRICS if any(metric in method["metrics"] for method in methods)]
    rows = [
        [say(f"answers.metric.{metric}"), *(interval_words(method["metrics"].get(metric)) for method in methods)]
        for metric in present
    ]
    head = [say("answers.page.metric"), *(method_words(method["method"]) for method in methods)]
    return table(head, rows, label=say("answers.page.metrics"))


def _robustness(facts: Mapping[str, Any]) -> list[Html]:
    title, rows = say("answers.page.robustness"), robustness_rows(facts)
    return [tag("h2", None, title), table(robustness_columns(facts), rows, label=title)] if rows else []


def _examples(facts: Mapping[str, Any]) -> list[Html]:
    rows = [
        [
            example["prompt"],
            example["answer"],
            example["named"],
            f"{example['named_effect']:.1f}",
            example["best"],
            f"{example['best_effect']:.1f}",
        ]
        for example in facts["examples"]
    ]
    title = say("answers.page.examples")
    return [tag("h2", None, title), table(columns("answers.page.example_columns"), rows, label=title)] if rows else []


def _problems(facts: Mapping[str, Any]) -> list[Html]:
    rows = [[name, render(reason)] for name, reason in facts["problems"].items()]
    title = say("answers.page.problems")
    return [tag("h2", None, title), table(columns("answers.page.problem_columns"), rows, label=title)] if rows else []
