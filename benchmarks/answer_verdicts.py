"""`python -m benchmarks.answer_verdicts [--models 3] [--draws 3]`: are verdicts about citations right?

Audits the planted chat models (`copier`, three rules) on several draws of prompts and counts settled verdicts that are
wrong. Truth: the rule says whether the model uses its sources; whether a method is right is its share of true first
sources on 200 other prompts, against the bar. Writes results/answer_verdicts.json.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.__main__ import commit
from regard.audits.answers.evidence import first_source, open_case
from regard.audits.audit import audit
from regard.datasets.copying_prompts import RULES, Rule, copying_prompts
from regard.judge.citation_trust import GOOD
from regard.measures.intervals import wilson
from regard.models.ask.chat_model import chat_model
from regard.models.open.load import load
from regard.registry import find

RESULTS = Path(__file__).parent / "results" / "answer_verdicts.json"
METHODS = ("row_knock_out", "gradient_contributions", "attention", "random", "last_source")
OTHER_PROMPTS = 200


def true_shares(model: Any, rule: Rule) -> dict[str, float]:
    """Share of prompts in which each method names a true source first, on prompts that no audit sees."""
    prompts = copying_prompts(rule, n=OTHER_PROMPTS, seed=10_000)
    hits = dict.fromkeys(METHODS, 0)
    for prompt in prompts:
        case, _ = open_case(chat_model(model), prompt, seed=0, new_tokens=1)
        for name in METHODS:
            hits[name] += first_source(find("citer", name)(case)[0]) in (prompt.truth or ())
    return {name: count / len(prompts) for name, count in hits.items()}


def judged(model: Any, rule: Rule, seed: int, shares: dict[str, float]) -> dict[str, Any]:
    """Audit one model on one draw of prompts; list its settled verdicts and those that are wrong."""
    with tempfile.TemporaryDirectory() as folder:
        result = audit(
            model,
            copying_prompts(rule, n=60, seed=seed),
            task="answer",
            out=Path(folder) / "run",
            budget="none",
            profile="quick",
            explainers=METHODS,
        )
    verdicts = {"uses_sources": result.trust.use.answer, **{m.method: m.answer for m in result.trust.methods}}
    truth = {"uses_sources": "no" if rule == "memory" else "yes"}
    truth |= {name: "yes" if share >= GOOD else "no" for name, share in shares.items()}
    settled = {name: answer for name, answer in verdicts.items() if answer in ("yes", "no")}
    wrong = [name for name, answer in settled.items() if answer != truth.get(name)]
    return {"rule": rule, "draw": seed, "n": result.n, "verdicts": verdicts, "settled": len(settled), "wrong": wrong}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--models", type=int, default=3, help="seeds of the trained models")
    parser.add_argument("--draws", type=int, default=3, help="draws of prompts for each model")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    audits: list[dict[str, Any]] = []
    shares: dict[str, dict[str, float]] = {}
    for seed in range(options.models):
        for rule in RULES:
            model = load(f"copier:rule={rule},seed={seed}")
            own = {} if rule == "memory" else true_shares(model, rule)
            shares[f"{rule} {seed}"] = own
            audits += [{"model": seed, **judged(model, rule, 100 + draw, own)} for draw in range(options.draws)]
            print(rule, seed, own, [row["wrong"] for row in audits[-options.draws :]], flush=True)
    settled, wrong = sum(row["settled"] for row in audits), sum(len(row["wrong"]) for row in audits)
    record = {
        "command": f"python -m benchmarks.answer_verdicts {' '.join(sys.argv[1:])}".strip(),
        "commit": commit(),
        "settled": settled,
        "wrong": wrong,
        "wrong_at_most": round(float(wilson(wrong, settled)[1]), 4),
        "true_shares": shares,
        "audits": audits,
    }
    options.out.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    print(f"{wrong} of {settled} settled verdicts wrong")
    return 0


if __name__ == "__main__":
    sys.exit(main())
