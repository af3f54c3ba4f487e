"""The cost of a capture of rows on SmolLM2 at full depth: CPU time and peak memory against the plain pass.

Every case is a process of its own, because peaks carry the history of an allocator. `python -m benchmarks.row_capture`
writes results/row_capture.json; the longest case takes minutes, so `make bench` runs the short ones only. `accuracy`
compares the captured rows with eager ones: of the same queries and keys, and of a pass that is eager in every layer.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.lines import Line

BAR = 1.15
ROWS = 33
"""The last rows of a prompt: as many as an answer of 33 tokens has."""
FORWARD = (1024, 4096, 8192)
GENERATE = (1024, 4096, 8192)
NEW_TOKENS = 32
ACCURACY = (1024, 4096, 8192)
"""Tokens of the prompt."""
SEEDS = {1024: (0, 1, 2), 4096: (0, 1), 8192: (0, 1)}
"""Seeds of the random prompts on which captured and eager rows are compared with float64."""
BLOCK = 512
"""Queries of one block of the eager reference."""
ERROR = 1e-5
"""Largest difference between captured and eager weights."""
FARTHER = 1.1
"""Captured rows may be this much farther from the exact ones than eager rows are."""
REPEATS = {1024: 3, 4096: 1, 8192: 1}
CASES = (
    *(f"forward:{tokens}" for tokens in FORWARD),
    *(f"generate:{tokens}" for tokens in GENERATE),
    *(f"accuracy:{tokens}" + (f":{seed}" if seed else "") for tokens in ACCURACY for seed in SEEDS[tokens]),
)
HERE = Path(__file__).parent


def measure(case: str, captured: bool) -> dict[str, Any]:
    """Run one case in this process: CPU seconds of the fastest repeat, peak memory, and held memory."""
    import resource
    import time

    import torch
    from transformers import AutoModelForCausalLM

    from regard.present.messages.messages import render
    from regard.sources.smollm2 import smollm2
    from regard.tap.row_capture import capture_rows

    torch.set_num_threads(1)
    kind, _, size = case.partition(":")
    tokens = int(size)
    model = AutoModelForCausalLM.from_pretrained(smollm2()).eval()
    ids = torch.randint(100, 40000, (1, tokens), generator=torch.Generator().manual_seed(0))
    options: dict[str, Any] = {"max_new_tokens": NEW_TOKENS, "do_sample": False, "eos_token_id": None}
    options |= {"pad_token_id": 0, "attention_mask": torch.ones_like(ids)}

    def call() -> Any:
        return model.generate(ids, **options) if kind == "generate" else model(ids, logits_to_keep=1)

    with torch.inference_mode():
        model(ids[:, :64], logits_to_keep=1)
        seconds, out, taps = [], None, None
        for _ in range(REPEATS[tokens]):
            out = taps = None
            began = time.process_time()
            if captured:
                out, taps = capture_rows(model, call, "new" if kind == "generate" else slice(-ROWS, None))
            else:
                out = call()
            seconds.append(time.process_time() - began)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        result: dict[str, Any] = {"seconds": round(min(seconds), 3), "peak_mb": round(peak, 1)}
        answer = out if kind == "generate" else out.logits
        assert answer is not None
        result["output"] = [float(answer.double().sum()), float(answer.double().abs().max())]
        if taps is not None:
            began = time.process_time()
            for site in taps.sites:
                site.rows(0, site.positions)
            result |= {
                "held_mb": round(taps.held_bytes / 2**20, 2),
                "weights_seconds": round(time.process_time() - began, 3),
                "checked": render(taps.checked),
            }
    return result


def accuracy(tokens: int, seed: int = 0) -> dict[str, Any]:
    """Compare captured rows with eager rows: largest differences, and root mean squares (`rms`) to float64.

    `eager_model`: rows captured in a model that is loaded eager, against the weights which its layers return in the
    same pass. The others are captured in the default model, against three reference passes. `same_inputs`: every layer
    of a plain pass also applies the eager attention of transformers to its last queries. `eager`: every layer is eager,
    `BLOCK` queries at a time, so that no layer holds a square table; layers above read what eager attention wrote, so
    this also shows the difference between the two kernels. `float64`: the same pass in float64, which shows how far
    eager attention itself is from the exact weights. Prompts of further seeds leave `eager_model` out.
    """
    import torch
    from transformers import AttentionInterface, AutoModelForCausalLM
    from transformers.integrations.sdpa_attention import sdpa_attention_forward
    from transformers.masking_utils import AttentionMaskInterface, sdpa_mask
    from transformers.models.llama.modeling_llama import eager_attention_forward

    from regard.sources.smollm2 import smollm2
    from regard.tap.row_capture import capture_rows

    torch.set_num_threads(1)
    ids = torch.randint(100, 40000, (1, tokens), generator=torch.Generator().manual_seed(seed))
    rows: list[Any] = []

    def eager(module: Any, query: Any, key: Any, value: Any, scaling: float, start: int, end: int, keep: bool) -> Any:
        future = torch.arange(end)[None] > torch.arange(start, end)[:, None]
        hidden = torch.zeros(future.shape, dtype=query.dtype).masked_fill(future, torch.finfo(query.dtype).min)
        block = query[:, :, start:end], key[:, :, :end], value[:, :, :end]
        output, weights = eager_attention_forward(module, *block, hidden[None, None], scaling)
        return output, weights if keep else None

    def last_rows(module: Any, query: Any, key: Any, value: Any, mask: Any, scaling: float, **more: Any) -> Any:
        rows.append(eager(module, query, key, value, scaling, tokens - ROWS, tokens, keep=True)[1][0].double().numpy())
        return sdpa_attention_forward(module, query, key, value, mask, scaling=scaling, **more)

    def blocks(module: Any, query: Any, key: Any, value: Any, mask: Any, scaling: float, **_: Any) -> Any:
        starts = range(0, tokens, BLOCK)
        parts = [
            eager(module, query, key, value, scaling, i, min(i + BLOCK, tokens), keep=i == starts[-1]) for i in starts
        ]
        rows.append(parts[-1][1][0, :, -ROWS:].double().numpy())
        return torch.cat([output for output, _ in parts], dim=1), None

    references = {"same_inputs": (last_rows, sdpa_mask, torch.float32)}
    references["eager"] = (blocks, lambda *_, **__: None, torch.float32)
    references["float64"] = (blocks, lambda *_, **__: None, torch.float64)
    runs: dict[str, list[Any]] = {}

    def captured(model: Any) -> list[Any]:
        _, taps = capture_rows(model, lambda: model(ids, logits_to_keep=1), slice(-ROWS, None))
        return [site.rows(0, site.positions).astype("float64") for site in taps.sites]

    def returned_rows(module: Any, inputs: Any, outputs: Any) -> None:
        rows.append(outputs[1][0, :, -ROWS:].double().numpy())

    with torch.inference_mode():
        model: Any
        if not seed:
            model = AutoModelForCausalLM.from_pretrained(smollm2(), attn_implementation="eager").eval()
            for layer in model.model.layers:
                layer.self_attn.register_forward_hook(returned_rows)
            runs["captured_in_eager"] = captured(model)
            runs["eager_model"] = rows[-len(model.model.layers) :]  # a capture may begin with a pass of its own
        model = AutoModelForCausalLM.from_pretrained(smollm2()).eval()
        runs["captured"] = captured(model)
        for name, (attention, mask, kind) in references.items():
            AttentionInterface.register(f"benchmark_{name}", attention)
            AttentionMaskInterface.register(f"benchmark_{name}", mask)
            model.set_attn_implementation(f"benchmark_{name}")
            rows.clear()
            model.to(kind)(ids, logits_to_keep=1)
            runs[name] = list(rows)

    def errors(one: str, other: str) -> list[float]:
        return [float(abs(a - b).max()) for a, b in zip(runs[one], runs[other], strict=True)]

    pairs = (("captured", "same_inputs"), ("captured", "eager"), ("captured", "float64"), ("eager", "float64"))
    largest = {f"{one}_{other}": max(errors(one, other)) for one, other in pairs}
    if not seed:
        largest["eager_model"] = max(errors("captured_in_eager", "eager_model"))
    above = [layer for layer, error in enumerate(errors("captured", "eager")) if error > ERROR]
    rms = {name: _rms(runs[name], runs["float64"]) for name in ("captured", "eager")}
    case = f"accuracy:{tokens}" + (f":{seed}" if seed else "")
    return {"case": case, **largest, "rms_to_float64": rms, "layers_above_the_bar": above}


def _rms(rows: list[Any], exact: list[Any]) -> float:
    """Return the root mean square of the differences of all weights of all layers."""
    squares = sum(float(((a - b) ** 2).sum()) for a, b in zip(rows, exact, strict=True))
    return float((squares / sum(a.size for a in exact)) ** 0.5)


def compared(case: str) -> dict[str, Any]:
    """Measure a case with and without capture, one process each."""
    sides: dict[str, Any] = {}
    for side in ("plain", "rows"):
        command = [sys.executable, "-m", "benchmarks.row_capture", case, "--side", side]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=HERE.parent)
        sides[side] = json.loads(done.stdout.splitlines()[-1])
    plain, rows = sides["plain"], sides["rows"]
    return {
        "case": case,
        **sides,
        "time_ratio": round(rows["seconds"] / plain["seconds"], 3),
        "peak_ratio": round(rows["peak_mb"] / plain["peak_mb"], 3),
        "same_output": rows["output"] == plain["output"],
    }


def lines_of(result: dict[str, Any]) -> list[Line]:
    case = result["case"]
    if "captured_eager" in result:
        names = {"eager_model": "eager model", "captured_same_inputs": "same queries and keys"}
        title = "captured rows against eager rows, largest difference"
        # a plain pass and an eager one round differently without any capture, so their distance is a detail, not a bar
        passes = ("captured_eager", "captured_float64", "eager_float64")
        detail = {name.replace("_", " / ") + ", two passes": result[name] for name in passes}
        lines = [
            Line(f"{title}, {what} (SmolLM2, {case})", result[name], ERROR, "<=", detail)
            for name, what in names.items()
            if name in result
        ]
        if rms := result.get("rms_to_float64"):
            what = f"distance to float64, captured rows / eager rows, root mean square (SmolLM2, {case})"
            lines.append(Line(what, rms["captured"] / rms["eager"], FARTHER, "<=", dict(rms)))
        return lines
    detail = {"held MB": result["rows"]["held_mb"]}
    return [
        Line(f"row capture / plain, CPU time (SmolLM2, {case})", result["time_ratio"], BAR, "<=", detail),
        Line(f"row capture / plain, peak memory (SmolLM2, {case})", result["peak_ratio"], BAR, "<="),
        Line(f"row capture, outputs equal (SmolLM2, {case})", float(result["same_output"]), 1.0, ">="),
    ]


def run() -> list[Line]:
    """Run the cases of 1,024 tokens."""
    return [line for case in ("forward:1024", "generate:1024") for line in lines_of(compared(case))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("cases", nargs="*", help="forward:N, generate:N, accuracy:N[:SEED]; the others stay as stored")
    parser.add_argument("--side", choices=("plain", "rows"), help="measure one side of one case in this process")
    options = parser.parse_args()
    if options.side:
        print(json.dumps(measure(options.cases[0], options.side == "rows")))
        return 0
    path = HERE / "results" / "row_capture.json"
    before = json.loads(path.read_text("utf-8"))["results"] if path.exists() else []
    results = {result["case"]: result for result in before}
    for case in options.cases or CASES:
        kind, _, size = case.partition(":")
        results[case] = accuracy(*map(int, size.split(":"))) if kind == "accuracy" else compared(case)
        print(json.dumps(results[case]), flush=True)
        machine = f"{platform.machine()}, Python {platform.python_version()}, 1 thread, CPU time, one process per case"
        ordered = [results[name] for name in CASES if name in results]
        record = {"command": "python -m benchmarks.row_capture", "machine": machine, "rows": ROWS, "results": ordered}
        path.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    missed = [line for result in results.values() for line in lines_of(result) if not line.met]
    print("all bars met" if not missed else "; ".join(line.shown() for line in missed))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
