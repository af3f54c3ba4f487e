"""Mean, interval and n of every quantity that the experiments of a run measured, over all and by predicted class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from regard.measures.summarise import Role, summarise
from regard.records import Bools, Score, Summary
from regard.store.run import Run

SHOWN_ELSEWHERE = "witness"
"""Findings that hold changed examples for display in the report."""
PARTS: Mapping[str, Role] = {"baseline": "baseline", "ceiling": "ceiling", "null": "null"}
FEWEST = 2
"""Classes with fewer examples have no row of their own."""


def finding_summaries(run: Run, *, experiment: str = "") -> list[Summary]:
    """Summarize every finding over all examples, then per predicted class (`where["class"]`)."""
    rows = run.examples()
    classes = {str(r["id"]): str(r["predicted"]) for r in rows if r["predicted"] is not None}
    clusters = {str(r["id"]): str(r.get("cluster") or r["id"]) for r in rows}
    seed = int(run.manifest["seed"])
    summaries = []
    for score in run.findings():
        if score.metric == SHOWN_ELSEWHERE or (experiment and score.where.get("experiment") != experiment):
            continue
        summaries.append(_summary(score, clusters, seed))
        names = sorted({classes[name] for name in score.ids if name in classes})
        for name in names if len(names) > 1 else ():
            inside = np.array([classes.get(i) == name for i in score.ids], np.bool_)
            if inside.sum() >= FEWEST:
                summaries.append(_summary(_only(score, inside, name), clusters, seed))
    return summaries


def _summary(score: Score, clusters: Mapping[str, str], seed: int) -> Summary:
    own = [clusters.get(name, name) for name in score.ids]  # what is no example (a seed) stands for itself
    role = PARTS.get(str(score.where.get("role")), "method")
    return summarise(score, own, seed=seed, role=role)


def _only(score: Score, inside: Bools, name: str) -> Score:
    return replace(
        score,
        ids=tuple(i for i, yes in zip(score.ids, inside, strict=True) if yes),
        values=score.values[inside],
        where={**score.where, "class": name},
        curves={k: np.asarray(v)[inside] for k, v in score.curves.items() if len(v) == len(score.ids)},
    )
