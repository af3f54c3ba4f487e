"""`python -m benchmarks.budget_runs [NAME ...] [--budget 5m]`: does an audit of five minutes give a usable headline?

Audits every named model within the budget. Bar: the reading is settled, or the share that attention captures has an
interval narrower than .25; where no method has an effect to share, that effect has one. `long_minilm`: a MiniLM
fine-tuned on long reviews. `bert_base`: time and memory at BERT-base size, random weights.
`samples`, `samples:chinese`: the headline methods run once on a whole data set (811 or 2,000 texts), which is then cut
by lot into ten disjoint samples; bar: of every headline question that the whole settles at least seven samples settle
it, and no two samples contradict each other. Updates the rows of results/budget_runs.json that were run (command,
commit, budget). A missed bar makes the exit code 1. A budget in passes does not depend on the load of the machine.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.__main__ import commit
from benchmarks.long_texts import bert_base, minilm_on_reviews
from regard.audits.audit import audit
from regard.audits.default_methods import HEADLINE as HEADLINE_METHODS
from regard.audits.default_methods import default_methods
from regard.audits.rounds import PILOT, planned_looks
from regard.judge.evidence import evidence_of
from regard.judge.judge import judge
from regard.judge.verdicts import HEADLINE, verdicts
from regard.measures.keyed_random import keyed_rng
from regard.records import Graded, Judgement, Spec
from regard.store.run import Run

RESULTS = Path(__file__).parent / "results" / "budget_runs.json"
MODELS = {
    "bilstm": ("bilstm", None),
    "minilm": ("minilm", None),
    "digits": ("digits", None),
    "cancer": ("cancer", None),
    "power": ("power", None),
    "chinese": ("chinese", None),
    "three_classes": ("chinese:classes=3", "chinese_reviews:classes=3,n=2000"),
}
"""Name -> model and data (None: those of the model)."""
LONG = {"long_minilm": minilm_on_reviews, "bert_base": bert_base}
"""Name -> builds its model and data."""
SAMPLES = {"samples": "bilstm", "samples:chinese": "chinese"}
"""Name -> the model whose data is cut into samples."""
COUNT, FEWEST = 10, 7
WIDEST = 0.25
OPEN = "uninformative"
CONTRADICTING = {"holds", "fails"}


def answers(judgement: Judgement) -> dict[str, str]:
    """Map each headline question with evidence to its answer."""
    return {v.question: v.answer for v in judgement.verdicts if v.question in HEADLINE and v.contrasts}


def facts(judgement: Judgement) -> dict[str, Any]:
    graded = judgement.graded
    parts: dict[str, Any] = {"share": [], "effect": []}
    if graded is not None:
        parts = {"share": (graded.share, graded.low, graded.high), "effect": graded.effect, "show": graded.show}
    intervals = {k: v if isinstance(v, str) else [_rounded(x) for x in v] for k, v in parts.items()}
    return {"reading": judgement.reading, "answers": answers(judgement), **intervals, "n": judgement.n}


def width_of(graded: Graded | None) -> float:
    """Width of the share's interval, or of the effect's where the effect is too small to share."""
    if graded is None:
        return math.inf
    low, high = (graded.low, graded.high) if math.isfinite(graded.share) else graded.effect[1:]
    return high - low if math.isfinite(high - low) else math.inf


def measured(name: str, budget: str, folder: Path) -> dict[str, Any]:
    """Run one audit within the budget."""
    model, data = LONG[name]() if name in LONG else MODELS.get(name, (name, None))
    started, cpu = time.monotonic(), time.process_time()
    run = audit(model, data, out=folder, budget=budget)
    judgement = verdicts(run)[0]
    schedule = run.manifest["schedule"]
    settled = judgement.reading != "undecided"
    return {
        "name": name,
        **facts(judgement),
        "settled": settled,
        "met": settled or width_of(judgement.graded) < WIDEST,
        "examples": schedule["actual"]["examples"],
        "available": schedule["available"],
        "passes": schedule["actual"]["passes"],
        "passes_per_example": schedule["passes_per_example"],
        "stopped": schedule["stopped"],
        "seconds": round(time.monotonic() - started),
        "cpu_seconds": round(time.process_time() - cpu),
        "peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
    }


def sampled(name: str, folder: Path) -> dict[str, Any]:
    """Judge the whole data set and ten disjoint samples of it, as an audit does whose budget covers all of each."""
    methods = {kind: default_methods(kind, HEADLINE_METHODS) for kind in ("explainer", "experiment")}
    run = audit(
        SAMPLES[name],
        out=folder,
        explainers=methods["explainer"],
        metrics=["comprehensiveness", "sufficiency"],
        experiments=methods["experiment"],
        keep=0,
        limit=2000,
        budget="none",
    )
    rows = [e for e in run.examples() if isinstance(e["target"], int) and e["units"] is not None]
    whole = answers(judged(run, rows))
    parts = [judged(run, sample) for sample in disjoint(rows)]
    settled = {q: a for q, a in whole.items() if a != OPEN}
    counts = {q: sum(answers(part).get(q, OPEN) != OPEN for part in parts) for q in settled}
    contradicted = [q for q in whole if {answers(part).get(q) for part in parts} >= CONTRADICTING]
    return {
        "name": name,
        "model": SAMPLES[name],
        "whole": {"n": len(rows), "answers": whole},
        "samples": [facts(part) for part in parts],
        "settled": counts,
        "contradicted": contradicted,
        "met": not contradicted and all(count >= FEWEST for count in counts.values()),
    }


def disjoint(rows: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """Draw ten random samples. In the round order classes alternate: every tenth of it would hold one class."""
    order = keyed_rng(0, "samples", len(rows)).permutation(len(rows))
    return [[rows[int(i)] for i in sorted(order[start::COUNT])] for start in range(COUNT)]


def judged(run: Run, rows: Sequence[Mapping[str, Any]]) -> Judgement:
    """Judge some examples of a run at the last look that an audit of them plans."""
    manifest = run.manifest
    looks = planned_looks(min(PILOT, len(rows)), len(rows))
    specs = [Spec.from_json(spec) for spec in manifest["settings"]["explainers"]]
    evidence = evidence_of(
        rows,
        run.findings(),
        defects=(manifest.get("preconditions") or {}).get("defects", []),
        labels=manifest["model"].get("labels") or [],
        scores=run.scores(),
        own={spec.name: str(spec.params["operator"]) for spec in specs if "operator" in spec.params},
        plain={"random"},
        schedule={"looks": looks, "available": len(rows)},
    )
    return judge(evidence[0])


def _rounded(x: float) -> float | None:
    return round(x, 3) if math.isfinite(x) else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"{', '.join([*MODELS, *LONG, *SAMPLES])}; default: all")
    parser.add_argument("--budget", default="5m")
    chosen = parser.parse_args()
    stored = json.loads(RESULTS.read_text("utf-8"))["rows"] if RESULTS.exists() else []
    rows = {row["name"]: row for row in stored}
    missed = []
    for name in chosen.names or [*MODELS, *LONG, *SAMPLES]:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "run"
            row = sampled(name, folder) if name in SAMPLES else measured(name, chosen.budget, folder)
        rows[name] = {**row, "commit": commit(), **({} if name in SAMPLES else {"budget": chosen.budget})}
        print(json.dumps(rows[name]), flush=True)
        missed += [] if row["met"] else [name]
        lines = ",\n  ".join(json.dumps(row) for row in rows.values())
        head = json.dumps({"command": "python -m benchmarks.budget_runs"})[:-1]
        RESULTS.write_text(f'{head},\n "rows": [\n  {lines}\n ]\n}}\n', "utf-8")
    print("every bar met" if not missed else f"missed: {', '.join(missed)}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
