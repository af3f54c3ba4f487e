"""What the experiments of a run found: mean, interval and n of every quantity, by predicted class, with its part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from regard.measures.summarise import Role, summarise
from regard.present.messages.messages import columns, say
from regard.present.retelling import retold
from regard.present.terminal.terminal import plain_table
from regard.records import Json, Score, Summary
from regard.registry import entry
from regard.store.run import Run

SILENT = (
    "experiment", "role", "attention", "sites", "class", "constraints", "noises", "severities", "attacks", "explainers"
)  # fmt: skip
SHOWN_ELSEWHERE = "witness"
"""Changed examples that an experiment kept to be looked at: the report shows them."""
PARTS: Mapping[str, Role] = {"baseline": "baseline", "ceiling": "ceiling", "null": "null"}
FEWEST = 2
"""Classes with fewer examples have no row of their own."""


def found_by(run: Run, *, experiment: str = "", seed: int | None = None) -> list[Summary]:
    """A summary of every finding over all examples and one per predicted class (`where["class"]`)."""
    rows = run.examples()
    classes = {str(r["id"]): str(r["predicted"]) for r in rows if r["predicted"] is not None}
    clusters = {str(r["id"]): str(r.get("cluster") or r["id"]) for r in rows}
    seed = int(run.manifest["seed"]) if seed is None else seed
    found = []
    for score in run.findings():
        if score.metric == SHOWN_ELSEWHERE or (experiment and score.where.get("experiment") != experiment):
            continue
        found.append(_summary(score, clusters, seed))
        names = sorted({classes[name] for name in score.ids if name in classes})
        for name in names if len(names) > 1 else ():
            inside = np.array([classes.get(i) == name for i in score.ids], np.bool_)
            if inside.sum() >= FEWEST:
                found.append(_summary(_only(score, inside, name), clusters, seed))
    return found


def _summary(score: Score, clusters: Mapping[str, str], seed: int) -> Summary:
    own = [clusters.get(name, name) for name in score.ids]  # what is no example (a seed) stands for itself
    role = PARTS.get(str(score.where.get("role")), "method")
    return summarise(score, own, seed=seed, draws=1000, role=role)


def _only(score: Score, inside: np.ndarray[Any, np.dtype[np.bool_]], name: str) -> Score:
    ids = tuple(i for i, yes in zip(score.ids, inside, strict=True) if yes)
    curves = {k: np.asarray(v)[inside] for k, v in score.curves.items() if len(v) == len(score.ids)}
    return Score(
        score.metric, score.method, ids, score.values[inside], score.better, {**score.where, "class": name}, curves,
        score.grid,
    )  # fmt: skip


def findings_view(summaries: Sequence[Summary]) -> RenderableType:
    """One table for each experiment, under its question."""
    groups: dict[str, list[Summary]] = {}
    for summary in summaries:
        groups.setdefault(str(summary.where.get("experiment", "")), []).append(summary)
    parts: list[RenderableType] = []
    for name, mine in groups.items():
        facts = entry("experiment", name).facts
        parts += [Text(f"\n{name}: {retold(str(facts.get('question', '')))}", style="bold")]
        rows = [_row(s) for s in mine]
        parts.append(plain_table(columns("term.experiments.columns"), rows, right=(5, 6, 7, 8)))
        if facts.get("misleads"):
            parts.append(Text(say("term.experiments.misleads", text=retold(str(facts["misleads"]))), style="dim"))
    seeds = ", ".join(sorted({str(s.seed) for s in summaries}))
    parts.append(Text("\n" + say("term.experiments.foot", seeds=seeds), style="dim"))
    return Group(*parts)


def _row(s: Summary) -> tuple[str, ...]:
    part, about = "" if s.role == "method" else say(f"term.experiments.{s.role}"), str(s.where.get("class", say("all")))
    numbers = f"{s.estimate:.3f}", f"[{s.low:.3f}, {s.high:.3f}]", str(s.n), str(s.undefined or "")
    return s.metric, s.method, _setting(s.where), about, part, *numbers


def _setting(where: Mapping[str, Json]) -> str:
    """What distinguishes the row: not which attention it is about, unless that is not the usual one."""
    usual = {"layers": "last", "heads": "mean"}
    shown = {k: v for k, v in where.items() if k not in SILENT and usual.get(k) != v}
    return ", ".join(f"{k} {round(v, 3) if isinstance(v, float) else v}" for k, v in shown.items())
