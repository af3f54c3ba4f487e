"""Blocks of one long attention layer: CPU seconds against the bars of an atlas, with random queries and keys."""

from __future__ import annotations

import time

import torch

from benchmarks.lines import Line, peak_memory_mb
from regard.records import Site
from regard.tap.whole_attention import WholeAttention

HEADS, KEY_HEADS, FEATURES = 9, 3, 64
"""As in SmolLM2."""


def layer(positions: int) -> WholeAttention:
    stream = torch.Generator().manual_seed(0)
    query, key = (torch.randn(heads, positions, FEATURES, generator=stream) for heads in (HEADS, KEY_HEADS))
    return WholeAttention(Site("layer", 0, "causal", 0, HEADS), query, key, scale=FEATURES**-0.5)


def seconds(one: WholeAttention, block: int, every: int) -> float:
    began = time.process_time()
    one.blocks(block, every=every)
    return time.process_time() - began


def run() -> list[Line]:
    """8,192 positions exactly; 32,768 positions exactly and sampled. The ratio is CPU time / bar."""
    torch.set_num_threads(1)
    lines = []
    for positions, block, every, bar in ((8192, 64, 1, 3.0), (32768, 256, 8, 60.0), (32768, 256, 1, 60.0)):
        one = layer(positions)
        before = peak_memory_mb()
        spent = seconds(one, block, every)
        detail: dict[str, float | str] = {"CPU s": round(spent, 2), "extra MB": round(peak_memory_mb() - before, 1)}
        what = f"blocks of {positions} positions, {HEADS} heads, one row of {every} / bar of {bar:.0f} s"
        lines.append(Line(what, spent / bar, 1.0, "<=", detail))
    return lines


if __name__ == "__main__":
    for line in run():
        print(line.shown())
