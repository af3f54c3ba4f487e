"""Everything in a run that must not depend on how it came about; only seconds and dates are left out."""

from __future__ import annotations

from typing import Any

import numpy as np

from regard.store.run import Run, summary_to_json


def content(run: Run) -> dict[str, Any]:
    """Plain values, comparable with ==."""
    scores = {(s.metric, s.method, str(sorted(s.where.items()))): s for s in run.scores()}
    return {
        "status": run.manifest["status"],
        "examples": run.examples(),
        "relevance": {
            m: (r.ids, r.offsets.tolist(), r.values.tolist(), {k: v.tolist() for k, v in r.extras.items()})
            for m in run.methods()
            for r in [run.relevance(m)]
        },
        "scores": {
            key: (s.ids, _plain(s.values), {k: _plain(v) for k, v in s.curves.items()}, s.grid)
            for key, s in scores.items()
        },
        "summaries": [summary_to_json(s) for s in run.summaries()],
        "problems": sorted((p["id"], p["stage"], p["message"]) for p in run.problems()),
        "costs": {(c["kind"], c["method"]): (c["forwards"], c["backwards"], c["requests"]) for c in run.costs()},
        "kept": {name: [a.weights.tolist() for a in run.capture(name)] for name in run.kept()},
        "skipped": run.skipped,
    }


def same(one: Run, other: Run, *, atol: float = 1e-6) -> None:
    """The same numbers to a millionth, and otherwise the same."""
    a, b = content(one), content(other)
    for part in ("status", "problems", "costs", "skipped"):
        assert a[part] == b[part], part
    assert one.methods() == other.methods()
    for method in one.methods():
        assert one.relevance(method).ids == other.relevance(method).ids
        np.testing.assert_allclose(one.relevance(method).values, other.relevance(method).values, atol=atol)
    assert a["scores"].keys() == b["scores"].keys()
    for mine, theirs in zip(one.scores(), other.scores(), strict=True):
        assert (mine.metric, mine.method, mine.ids) == (theirs.metric, theirs.method, theirs.ids)
        np.testing.assert_allclose(mine.values, theirs.values, atol=atol)
    for mine, theirs in zip(one.summaries(), other.summaries(), strict=True):
        assert (mine.metric, mine.method, mine.n, mine.role) == (theirs.metric, theirs.method, theirs.n, theirs.role)
        np.testing.assert_allclose([mine.estimate, mine.low], [theirs.estimate, theirs.low], atol=1e-5)
    assert one.kept() == other.kept()


def _plain(values: Any) -> list[Any]:
    """Lists in which an undefined value equals another."""
    return [None if np.isnan(v) else float(v) for v in np.ravel(np.asarray(values))]
