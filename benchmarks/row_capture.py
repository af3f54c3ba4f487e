"""What a capture of rows costs on SmolLM2 at full depth: CPU time and peak memory against the plain pass.

Every case is a process of its own, because peaks carry the history of an allocator. `python -m benchmarks.row_capture`
writes results/row_capture.json; the longest case takes minutes, so `make bench` runs the short ones only.
"""

from __future__ import annotations

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
GENERATE = (1024, 32)
"""Tokens of the prompt and new tokens."""
REPEATS = {1024: 3, 4096: 1, 8192: 1}
HERE = Path(__file__).parent


def measure(case: str, captured: bool) -> dict[str, Any]:
    """Run one case in this process: CPU seconds of the fastest repeat, peak memory, and held memory."""
    import resource
    import time

    import torch
    from transformers import AutoModelForCausalLM

    from regard.sources.smollm2 import smollm2
    from regard.tap.row_capture import capture_rows

    torch.set_num_threads(1)
    kind, _, size = case.partition(":")
    tokens = int(size)
    model = AutoModelForCausalLM.from_pretrained(smollm2()).eval()
    ids = torch.randint(100, 40000, (1, tokens), generator=torch.Generator().manual_seed(0))
    options: dict[str, Any] = {"max_new_tokens": GENERATE[1], "do_sample": False, "eos_token_id": None}
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
                "checked": taps.checked,
            }
    return result


def compared(case: str) -> dict[str, Any]:
    """Measure a case with and without capture, one process each."""
    sides: dict[str, Any] = {}
    for side in ("plain", "rows"):
        command = [sys.executable, "-m", "benchmarks.row_capture", case, side]
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
    detail = {"held MB": result["rows"]["held_mb"]}
    return [
        Line(f"row capture / plain, CPU time (SmolLM2, {case})", result["time_ratio"], BAR, "<=", detail),
        Line(f"row capture / plain, peak memory (SmolLM2, {case})", result["peak_ratio"], BAR, "<="),
        Line(f"row capture, outputs equal (SmolLM2, {case})", float(result["same_output"]), 1.0, ">="),
    ]


def run() -> list[Line]:
    """The cases of 1,024 tokens."""
    return [line for case in ("forward:1024", f"generate:{GENERATE[0]}") for line in lines_of(compared(case))]


def main() -> int:
    cases = [*(f"forward:{tokens}" for tokens in FORWARD), f"generate:{GENERATE[0]}"]
    results = []
    for case in cases:
        results.append(compared(case))
        print(json.dumps(results[-1]), flush=True)
    machine = f"{platform.machine()}, Python {platform.python_version()}, 1 thread, CPU time, one process per case"
    record = {"command": "python -m benchmarks.row_capture", "machine": machine, "rows": ROWS, "results": results}
    (HERE / "results" / "row_capture.json").write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    missed = [line for result in results for line in lines_of(result) if not line.met]
    print("all bars met" if not missed else "; ".join(line.shown() for line in missed))
    return 1 if missed else 0


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(measure(sys.argv[1], sys.argv[2] == "rows")))
    else:
        sys.exit(main())
