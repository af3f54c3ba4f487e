"""`python -m benchmarks.explainer_comparison [MODEL ...]`: `lrp` beside four other explainers on the built-in models.

For every model and method: comprehensiveness, sufficiency, agreement with leave-one-out (Kendall's tau, signed) and the
CPU time of explaining one example alone, each with a bootstrap interval over the examples; and for `lrp` the share of
the objective that reaches the units and the shares that biases, positions, softmax and baseline absorb. Where a method
does not run on a model, the reason is listed. Random ranks are the floor. Adds to results/explainer_comparison.json;
`--table` prints it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.__main__ import commit
from regard.datasets.copying_prompts import copying_prompts
from regard.datasets.read import read
from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.errors import RegardError
from regard.measures.intervals import ClusterSums, bootstrap
from regard.metrics.agreement import agreement
from regard.metrics.comprehensiveness import comprehensiveness
from regard.metrics.sufficiency import sufficiency
from regard.models.open.load import load
from regard.models.sound_segments import in_segments
from regard.models.writing_steps import steps_if_writer
from regard.protocols import Model
from regard.records import Example, Relevance

RESULT = Path(__file__).parent / "results" / "explainer_comparison.json"
COPYING = "copying"
"""Prompts with passages whose answer is copied from one of them; its first token is explained."""
DATA = {
    "bilstm": "reviews",
    "minilm": "reviews",
    "chinese": "chinese_reviews",
    "digits": "digits",
    "cancer": "cancer",
    "power": "power",
    "dinov2": "fashion_mnist",
    "copier": COPYING,
    "smollm2": COPYING,
    "gemma3": COPYING,
    "listener": "planted_sounds",
    "whisper:context=5": "spoken",
    "marian": "phrases",
}
METHODS = ("lrp", "integrated_gradients", "leave_one_out", "generic_relevance", "alti", "random")
EXAMPLES = 32


def compare(name: str, count: int) -> dict[str, Any]:
    """Run every method on the first examples of a model's data."""
    model = in_segments(steps_if_writer(load(name, device="cpu")))
    examples = examples_of(name, model, count)
    rows: dict[str, Any] = {}
    judge = DeskCase(Desk(model), examples)
    truth = judge.relevance("leave_one_out")
    for method in METHODS:
        try:
            DeskCase(Desk(model), examples[:2]).relevance(method)  # proofs and plans are made once per model
            relevance = DeskCase(Desk(model), examples).relevance(method)
            spent = [milliseconds(model, example, method) for example in examples]
        except RegardError as refusal:
            rows[method] = {"refused": str(refusal)}
            continue
        rows[method] = {
            "cpu_ms": interval(spent),
            "comprehensiveness": interval(comprehensiveness(judge, relevance).values),
            "sufficiency": interval(sufficiency(judge, relevance).values),
            "agreement": interval(agreement(judge, relevance, sign="keep").values),
        } | ({"shares": shares(relevance)} if method == "lrp" else {})
        print(name, method, json.dumps(rows[method]), flush=True)
    return {"n": len(truth.ids), "operator": judge.operators[0], "methods": rows}


def milliseconds(model: Model, example: Example, method: str) -> float:
    """Return the CPU time of explaining one example alone, after its prediction."""
    case = DeskCase(Desk(model), [example])
    case.base()
    start = time.process_time()
    case.relevance(method)
    return 1000 * (time.process_time() - start)


def examples_of(name: str, model: Model, count: int) -> list[Example]:
    """Return the first examples of a model's data, without labels; of a model that writes, one step of each."""
    if DATA[name] != COPYING:
        windows = (model.windows(Example(e.id, e.inputs)) for e in read(DATA[name], limit=4 * count))
        return [parts[0] for parts in islice((parts for parts in windows if parts), count)]
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(import_module(f"regard.sources.{name}").__dict__[name]())

    def prompt(messages: list[dict[str, str]]) -> str:
        if tokenizer.chat_template is None:
            return "".join(f"{message['content']}\n" for message in messages)
        return str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))

    texts = {one.id: prompt([*one.messages]) + one.prefix for one in copying_prompts("asked", n=count)}
    return [Example(key, {"text": text}) for key, text in texts.items()]


def interval(values: Any) -> list[float] | None:
    """Return the mean and the ends of its 95 % interval; None without values."""
    known = np.asarray(values, np.float64)
    known = known[np.isfinite(known)]
    if len(known) < 2:
        return None
    band = bootstrap(ClusterSums.of(known, [str(i) for i in range(len(known))]))
    return [round(x, 4) for x in (float(known.mean()), band.low, band.high)]


def shares(relevance: Relevance) -> dict[str, float]:
    """Return medians over the examples: the share of |objective| that reaches the units, and that of each account."""
    value = np.abs(relevance.extras["value"])
    parts = {"units": np.array([row.sum() for row in relevance])}
    parts |= {k: v for k, v in relevance.extras.items() if k.startswith("absorbed_") or k == "special"}
    signed = np.sign(relevance.extras["value"]) / np.where(value > 0, value, np.nan)
    return {name: round(float(np.nanmedian(part * signed)), 4) for name, part in parts.items()}


def table(models: dict[str, Any]) -> str:
    """Return the stored results as a Markdown table."""
    head = "| model (n) | method | comprehensiveness | sufficiency | agreement with leave-one-out | ms |"
    lines = [head, "|---|---|---|---|---|---|"]
    for name, result in models.items():
        for method, row in result["methods"].items():
            if "refused" in row:
                lines.append(f"| {name} ({result['n']}) | {method} | refused: {row['refused']} | | | |")
                continue
            cells = [_cell(row[key]) for key in ("comprehensiveness", "sufficiency", "agreement")]
            cost = "{:.1f} [{:.1f}, {:.1f}]".format(*row["cpu_ms"])
            lines.append(f"| {name} ({result['n']}) | {method} | {' | '.join(cells)} | {cost} |")
    return "\n".join(lines)


def separated(models: dict[str, Any]) -> str:
    """Return as a Markdown table which methods' intervals lie wholly on one side of that of `lrp`."""
    columns = {"comprehensiveness": 1, "sufficiency": -1, "agreement": 1}  # 1: higher is better
    lines = ["| model (n) | comprehensiveness | sufficiency | agreement with leave-one-out |", "|---|---|---|---|"]
    for name, result in models.items():
        lrp, cells = result["methods"]["lrp"], list[str]()
        for column, sign in columns.items() if "refused" not in lrp else ():
            bands = {method: row.get(column) for method, row in result["methods"].items() if method != "lrp"}
            words = {"better": list[str](), "worse": list[str]()}
            for method, band in bands.items():
                if band and method != "random" and not (band[1] <= lrp[column][2] and band[2] >= lrp[column][1]):
                    words["better" if sign * (band[0] - lrp[column][0]) > 0 else "worse"].append(method)
            parts = [f"{side} than lrp: {', '.join(methods)}" for side, methods in words.items() if methods]
            cells.append("; ".join(parts) or "ranks nothing")
        lines.append(f"| {name} ({result['n']}) | {' | '.join(cells or ['lrp refused', '', ''])} |")
    return "\n".join(lines)


def _cell(band: list[float] | None) -> str:
    return "-" if band is None else f"{band[0]:.3f} [{band[1]:.3f}, {band[2]:.3f}]"


def main() -> int:
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=[*DATA])
    parser.add_argument("--examples", type=int, default=EXAMPLES)
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    if options.table:
        stored = json.loads(RESULT.read_text("utf-8"))["models"]
        models = {name: stored[name] for name in DATA if name in stored}
        print(table(models), separated(models), sep="\n\n")
        return 0
    record: dict[str, Any] = json.loads(RESULT.read_text("utf-8")) if RESULT.exists() else {"models": {}}
    for name in options.models:
        record["models"][name] = {**compare(name, options.examples), "commit": commit()}
        RESULT.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
