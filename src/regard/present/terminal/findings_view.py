"""Findings of a run's experiments: mean, interval and n of every quantity, by predicted class, with its part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from regard.present.messages.messages import columns, method_words, say
from regard.present.terminal.terminal import plain_table
from regard.records import Json, Summary
from regard.registry import entry

SILENT = (
    "experiment",
    "role",
    "attention",
    "sites",
    "class",
    "constraints",
    "noises",
    "severities",
    "attacks",
    "explainers",
)


def findings_view(summaries: Sequence[Summary]) -> RenderableType:
    """Build one table for each experiment, under its question."""
    groups: dict[str, list[Summary]] = {}
    for summary in summaries:
        groups.setdefault(str(summary.where.get("experiment", "")), []).append(summary)
    parts: list[RenderableType] = []
    for name, group in groups.items():
        facts = entry("experiment", name).facts
        parts += [
            Text(f"\n{name}: {method_words('question.experiment', name, facts.get('question', ''))}", style="bold")
        ]
        rows = [_row(s) for s in group]
        parts.append(plain_table(columns("term.experiments.columns"), rows, right=(5, 6, 7, 8)))
        if facts.get("misleads"):
            misleads = method_words("misleads.experiment", name, facts["misleads"])
            parts.append(Text(say("term.experiments.misleads", text=misleads), style="dim"))
    seeds = ", ".join(sorted({str(s.seed) for s in summaries}))
    parts.append(Text("\n" + say("term.experiments.foot", seeds=seeds), style="dim"))
    return Group(*parts)


def _row(s: Summary) -> tuple[str, ...]:
    part, about = "" if s.role == "method" else say(f"term.experiments.{s.role}"), str(s.where.get("class", say("all")))
    numbers = f"{s.estimate:.3f}", f"[{s.low:.3f}, {s.high:.3f}]", str(s.n), str(s.undefined or "")
    return s.metric, s.method, _setting(s.where), about, part, *numbers


def _setting(where: Mapping[str, Json]) -> str:
    """Return the settings that distinguish the row; its attention only if it is not the usual one."""
    usual = {"layers": "last", "heads": "mean"}
    settings = {k: v for k, v in where.items() if k not in SILENT and usual.get(k) != v}
    return ", ".join(f"{k} {round(v, 3) if isinstance(v, float) else v}" for k, v in settings.items())
